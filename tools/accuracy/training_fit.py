"""Fit the constants of training steps: robust relative error over rows, shrunk towards priors.

Priors are textbook values and earlier published fits, never this table. Rows are weighted by their
group (network × GPU), so that the largest does not decide alone.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from training_rows import Row

from solver.sizing.training_constants import TIME, TimeConstants
from solver.sizing.training_facts import Job, Split, Spread, Wires, spread_of
from solver.sizing.training_time import step_s

_SCALE = 0.12
"""Log error that counts as one; beyond it the loss grows linearly."""
_SMALL_GROUP = 8
_ROUNDS = 30

_Prior = tuple[float, float]
PRIORS: Mapping[str, _Prior | tuple[_Prior, ...]] = {
    "peak_share": (
        (0.68, 0.3),
        (0.82, 0.08),
        (0.78, 0.2),
        (0.68, 0.2),
        (0.70, 0.3),
        (0.62, 0.3),
        (0.55, 0.3),
        (0.49, 0.3),
        (0.46, 0.3),
        (0.60, 0.3),
        (0.59, 0.3),
        (0.60, 0.1),
        (0.60, 0.2),
    ),
    "small_batch_tokens": (400.0, 0.7),
    "narrow_width": (100.0, 1.0),
    "attention_share": ((0.5, 0.25), (0.6, 0.2), (0.3, 0.25)),
    "uneven_context_factor": (1.7, 0.4),
    "memory_passes": (100.0, 0.5),
    "expert_passes": (10.0, 1.0),
    "expert_factor": (1.5, 0.3),
    "expert_half_width": (500.0, 1.0),
    "slowdown": ((1.0, 1e-6), (1.2, 0.3), (1.4, 0.3)),
    "hf_launch_s": (3.5e-3, 0.7),
    "full_launch_factor": (2.0, 0.4),
    "low_precision_factor": (1.1, 0.3),
    "selective_share": (0.3, 0.5),
    "dequantize_bytes": (28.0, 0.6),
    "tensor_loss": (1.5, 0.4),
    "context_loss": (0.5, 0.7),
    "exchange_loss": (1.5, 0.7),
    "exchange_nic_loss": (0.5, 1.0),
    "data_loss": (1.35, 0.4),
    "data_loss_per_doubling": (0.08, 1.0),
    "exposed_share": (0.05, 0.7),
    "gain_per_year": (1.03, 0.05),
    "expert_gain_per_year": (1.1, 0.1),
    "encoder_factor": (0.6, 0.5),
}
"""Middle and log width of each constant."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows as arrays, for the formulas."""

    job: Job
    spread: Spread
    wires: Wires
    step_s: NDArray[np.float64]

    def part(self, chosen: NDArray[np.bool_]) -> "Batch":
        """Keep some of the rows."""
        return Batch(
            Job(**_cut(self.job, chosen)),
            Spread(**_cut(self.spread, chosen)),
            Wires(**_cut(self.wires, chosen)),
            self.step_s[chosen],
        )

    def errors(self, constants: TimeConstants) -> NDArray[np.float64]:
        """Give log(predicted / measured) of each row."""
        predicted = np.asarray(step_s(self.job, self.spread, self.wires, constants))
        found: NDArray[np.float64] = np.log(predicted / self.step_s)
        return found


def batch_of(rows: Sequence[Row]) -> Batch:
    """Lay rows with a setup side by side."""
    setups = [row.setup for row in rows if row.setup is not None]
    jobs = [made for setup in setups if (made := setup.job()) is not None]
    splits: list[Split] = [setup.split for setup in setups]
    return Batch(
        Job(**{one.name: _stack(jobs, one.name) for one in fields(Job)}),
        spread_of(splits),
        Wires(
            **{one.name: _stack([one_.wires for one_ in setups], one.name) for one in fields(Wires)}
        ),
        np.array([row.step_s for row in rows]),
    )


def fit(rows: Sequence[Row], *, rounds: int = _ROUNDS) -> TimeConstants:
    """Fit all constants to rows."""
    return fit_batch(batch_of(rows), weights_of([row.group for row in rows]), rounds=rounds)


def fit_batch(
    batch: Batch, weights: NDArray[np.float64], *, rounds: int = _ROUNDS
) -> TimeConstants:
    """Fit all constants to rows that are laid out already."""
    middle = np.log([prior[0] for _, _, prior in _knobs()])
    width = np.array([prior[1] for _, _, prior in _knobs()])

    def residuals(point: NDArray[np.float64]) -> NDArray[np.float64]:
        scaled = batch.errors(constants_at(np.exp(point))) * weights / _SCALE
        soft = np.sign(scaled) * np.sqrt(2 * (np.sqrt(1 + scaled**2) - 1))
        return np.concatenate([soft, (point - middle) / width])

    found = least_squares(residuals, middle, max_nfev=rounds, x_scale=width)
    return constants_at(np.exp(found.x))


def weights_of(groups: Sequence[str]) -> NDArray[np.float64]:
    """Weigh rows by the size of their group."""
    sizes = Counter(groups)
    return np.array([1 / math.sqrt(max(1.0, sizes[one] / _SMALL_GROUP)) for one in groups])


def constants_at(values: NDArray[np.float64]) -> TimeConstants:
    """Make constants of values in the order of the priors."""
    changed: dict[str, float | list[float]] = {}
    for (name, place, _), value in zip(_knobs(), values, strict=True):
        if place is None:
            changed[name] = float(value)
        else:
            held = changed.setdefault(name, [])
            if isinstance(held, list):
                held.append(float(value))
    made = {name: tuple(one) if isinstance(one, list) else one for name, one in changed.items()}
    return replace(TIME, **made)  # type: ignore[arg-type]


def _knobs() -> list[tuple[str, int | None, _Prior]]:
    knobs: list[tuple[str, int | None, _Prior]] = []
    for name, prior in PRIORS.items():
        if isinstance(prior[0], tuple):
            knobs += [(name, place, one) for place, one in enumerate(prior)]  # type: ignore[misc]
        else:
            knobs.append((name, None, prior))  # type: ignore[arg-type]
    return knobs


def _stack(parts: Sequence[Job] | Sequence[Wires], name: str) -> NDArray[np.float64]:
    return np.array([float(getattr(one, name)) for one in parts])


def _cut(value: Job | Spread | Wires, chosen: NDArray[np.bool_]) -> dict[str, NDArray[np.float64]]:
    return {one.name: np.asarray(getattr(value, one.name))[chosen] for one in fields(value)}
