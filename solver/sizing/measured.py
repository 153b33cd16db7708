"""A user's own measurements: they correct the estimates of their own deployment, and of no other.

A deployment is model × GPU × engine × precision. What an estimate is off by is taken as a constant
of its deployment plus a smooth function of the operating point:

    ln(measured ÷ estimated) = c + s(x) + ε     c ~ N(0, τ²),  ε ~ N(0, σ²)
    s ~ Gaussian process,  cov(s(x), s(x')) = ς²·exp(−|x − x'|²/2)

with x the logarithms of concurrency, input, output and group size, each over its own length. The
correction at a point is the mean of c + s(x) given the user's points (kriging; Rasmussen and
Williams, Gaussian Processes for Machine Learning, 2006, chapter 2): with few points or far from
them it shrinks towards none, and the deviation that remains is the band. τ, ς, σ and the lengths
are the spread of held-out public measurements of their class (empirical Bayes), which
tools/accuracy/judge_own_points.py fits and judges.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from broker.domain.candidate import ErrorBand
from broker.domain.gpu import Precision
from broker.domain.workload import Method, TrainingStack

LEAST_SERVING_POINTS: Final = 3
"""One point of a deployment makes the first token worse on held-out data; three help."""
LEAST_RUNS: Final = 1
BAND_DEVIATIONS: Final = 1.5
"""Deviations to each side of a band that held 90 % of held-out points; 1.645 held 92 to 96 %."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The held-out spread of a class of estimates, in logarithms, and how far a point tells."""

    constant: float
    smooth: float
    noise: float
    lengths: tuple[float, ...]


STEP_SPREAD: Final = Spread(constant=0.05, smooth=0.25, noise=0.09, lengths=(2.5, 3.5, 4.5, 1.5))
"""Time per output token; x is concurrency, input, output, group."""
FIRST_SPREAD: Final = Spread(constant=0.3, smooth=0.44, noise=0.21, lengths=(1.4, 1.4, 2.4, 1.0))
"""Time to the first token; the same coordinates."""
RUN_SPREAD: Final = Spread(constant=0.18, smooth=0.1, noise=0.06, lengths=(3.0, 2.0, 3.0))
"""Training step; x is GPUs, sequence length, tokens of the global batch."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """What a serving measurement is of, and the only thing that it corrects."""

    model: str
    gpu: str
    engine: str
    precision: Precision


@dataclass(frozen=True, slots=True)
class TrainedOn:
    """What a training measurement is of, and the only thing that it corrects."""

    model: str
    gpu: str
    stack: TrainingStack
    method: Method
    precision: Precision


@dataclass(frozen=True, slots=True)
class ServingPoint:
    """One replica at work, as measured: seconds and tokens/s as means over requests; None unknown.

    `tokens_per_s` counts output tokens of the whole replica of `tensor` GPUs.
    """

    deployment: Deployment
    tensor: int
    input_tokens: float
    output_tokens: float
    concurrency: float
    tpot_s: float | None = None
    ttft_s: float | None = None
    tokens_per_s: float | None = None
    engine_version: str = ""
    source: str = ""

    @property
    def at(self) -> tuple[float, ...]:
        """Give the coordinates: logarithms of concurrency, input, output and group."""
        return serving_at(
            concurrency=self.concurrency,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            tensor=self.tensor,
        )


@dataclass(frozen=True, slots=True)
class TrainingPoint:
    """One training run, as measured: tokens/s of all its GPUs over pure steps.

    None is unknown; `fabric_gbit_per_s` is of a node.
    """

    trained: TrainedOn
    gpus: int
    gpus_per_node: int
    sequence_length: int
    global_batch_tokens: int
    tokens_per_s: float
    fabric: str = ""
    fabric_gbit_per_s: float | None = None
    source: str = ""

    @property
    def at(self) -> tuple[float, ...]:
        """Give the coordinates: logarithms of GPUs, sequence length and batch."""
        return training_at(self.gpus, self.sequence_length, self.global_batch_tokens)


@dataclass(frozen=True, slots=True)
class Residual:
    """ln(measured ÷ estimated) at a point."""

    at: tuple[float, ...]
    log_ratio: float


@dataclass(frozen=True, slots=True)
class Factor:
    """What an estimated time is multiplied by, and the 90 % band around the product."""

    factor: float
    band: ErrorBand


@dataclass(frozen=True, slots=True)
class Correction:
    """What the points of one deployment say of the estimates of one metric."""

    residuals: tuple[Residual, ...]
    spread: Spread

    def at(self, point: Sequence[float]) -> Factor:
        """Give the factor at a point: shrunk towards 1 where few or far points support it."""
        known = np.array([one.at for one in self.residuals])
        ratios = np.array([one.log_ratio for one in self.residuals])
        between = self._covariance(known, known)
        noisy = between + self.spread.noise**2 * np.eye(len(ratios))
        towards = self._covariance(known, np.array([point]))[:, 0]
        weights = np.linalg.solve(noisy, towards)
        prior = self.spread.constant**2 + self.spread.smooth**2
        left = max(0.0, prior - float(weights @ towards)) + self.spread.noise**2
        half = BAND_DEVIATIONS * math.sqrt(left)
        return Factor(
            factor=math.exp(float(weights @ ratios)),
            band=ErrorBand(low_factor=math.exp(-half), high_factor=math.exp(half)),
        )

    def _covariance(self, some: np.ndarray, others: np.ndarray) -> np.ndarray:
        gaps = (some[:, None, :] - others[None, :, :]) / np.array(self.spread.lengths)
        near = np.exp(-0.5 * (gaps**2).sum(axis=-1))
        covariance: np.ndarray = self.spread.constant**2 + self.spread.smooth**2 * near
        return covariance


@dataclass(frozen=True, slots=True)
class ServingCorrection:
    """What is known of one serving deployment: by how many points, of its steps, of first tokens.

    `first` is None where too few points have a time to the first token.
    """

    points: int
    step: Correction
    first: Correction | None


@dataclass(frozen=True, slots=True)
class OwnNumbers:
    """All corrections by deployment; those of too few points are not in it."""

    serving: Mapping[Deployment, ServingCorrection] = field(default_factory=dict)
    training: Mapping[TrainedOn, Correction] = field(default_factory=dict)


NO_NUMBERS: Final = OwnNumbers()


def serving_at(
    *, concurrency: float, input_tokens: float, output_tokens: float, tensor: int
) -> tuple[float, ...]:
    """Give the coordinates of a serving point."""
    return (
        math.log(max(concurrency, 1.0)),
        math.log(max(input_tokens, 1.0)),
        math.log(max(output_tokens, 1.0)),
        math.log(tensor),
    )


def training_at(gpus: int, sequence_length: int, global_batch_tokens: int) -> tuple[float, ...]:
    """Give the coordinates of a training point."""
    return (math.log(gpus), math.log(sequence_length), math.log(global_batch_tokens))
