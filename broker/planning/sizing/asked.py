"""What somebody asks of `gpubroker size`, as the workload that it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from broker.domain.errors import ConfigurationError
from broker.domain.gpu import Precision
from broker.domain.latency import LatencyObjective, Percentile
from broker.domain.load import LoadCurve
from broker.domain.offer import PriceKind
from broker.domain.parts import Window
from broker.domain.workload import (
    HardwareWish,
    Method,
    Service,
    SizeClass,
    Traffic,
    TrainingRun,
    TrainingStack,
)

NAME = "size"
"""What the workload is called; it stands in the ids of candidates only."""

_START = datetime(2026, 1, 1, tzinfo=UTC)
_YEARS = timedelta(days=36500)
"""A run must have a window; the deadline that is asked for is held against its days."""


@dataclass(frozen=True, slots=True)
class Among:
    """Which offers are looked at: any of the names of each; empty is all."""

    gpus: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    price_kinds: tuple[PriceKind, ...] = (PriceKind.ON_DEMAND,)


@dataclass(frozen=True, slots=True)
class ServeAsked:
    """A service of one size of request within a latency objective.

    `users` is the region of its users; without one the network is not counted. `every_layout`
    lists each layout, not the cheapest of each GPU and format only. `mig` looks at slices of GPUs,
    too.
    """

    model: str
    input_tokens: int
    output_tokens: int
    slo: LatencyObjective
    precisions: tuple[Precision, ...]
    among: Among
    users: str | None = None
    safety_margin: float = 0.15
    every_layout: bool = False
    mig: bool = False

    @property
    def services(self) -> tuple[Service, ...]:
        """Give the service in each number format: none of them hides another.

        Traffic does not matter to what one replica sustains.
        """
        return tuple(
            Service(
                name=NAME,
                model=self.model,
                traffic=Traffic(requests_per_s=LoadCurve(mean=1, peak=1)),
                sizes=(
                    SizeClass(input_tokens=self.input_tokens, output_tokens=self.output_tokens),
                ),
                slo=self.slo,
                precisions=(precision,),
                users={self.users or "us-east": 1.0},
                mig=self.mig,
            )
            for precision in self.precisions
        )


@dataclass(frozen=True, slots=True)
class TrainAsked:
    """A training run, the numbers of GPUs to look at, and the time that it may take.

    `every_size` lists each of the numbers, not the cheapest of each GPU model only.
    """

    model: str
    tokens: float
    deadline: timedelta | None
    how: tuple[Method, TrainingStack]
    precision: Precision
    sequence_length: int
    global_batch_tokens: int
    gpus: tuple[int, ...]
    among: Among
    safety_margin: float = 0.15
    every_size: bool = False

    @property
    def run(self) -> TrainingRun:
        """Give the run, restartable, so that spot can be looked at.

        Raises:
            ConfigurationError: a batch does not hold a sequence.
        """
        if self.global_batch_tokens < self.sequence_length:
            raise ConfigurationError(
                f"--batch-tokens {self.global_batch_tokens} is below --sequence-length "
                f"{self.sequence_length}",
                hint="a batch holds at least one sequence",
            )
        return TrainingRun(
            name=NAME,
            model=self.model,
            tokens=self.tokens,
            window=Window(earliest=_START, deadline=_START + _YEARS),
            method=self.how[0],
            stack=self.how[1],
            precision=self.precision,
            sequence_length=self.sequence_length,
            global_batch_tokens=self.global_batch_tokens,
            restartable=True,
            hardware=HardwareWish(gpus=self.gpus),
        )


def objective(ttft: Sequence[tuple[str, str]], tpot: Sequence[tuple[str, str]]) -> LatencyObjective:
    """Make a latency objective of (percentile, duration) pairs, one of each.

    Raises:
        ConfigurationError: there is not exactly one of each, or a duration has no unit.
    """
    return LatencyObjective(ttft=_limit("ttft", ttft), tpot=_limit("tpot", tpot))


def _limit(what: str, given: Sequence[tuple[str, str]]) -> Percentile:
    if len(given) != 1:
        raise ConfigurationError(
            f"give one limit of the {what.upper()}, not {len(given)}",
            hint=f"such as --{what}-p95 {'800ms' if what == 'ttft' else '40ms'}; "
            "p50, p90 and p99 go as well",
        )
    name, text = given[0]
    try:
        return Percentile.model_validate({name: text}, strict=False)
    except ValueError as cause:
        raise ConfigurationError(
            f"--{what}-{name} {text!r} is no duration", hint="write it as 800ms, 1.5s or 2 min"
        ) from cause
