"""Batch jobs: tokens to process by a deadline, whatever the latency (offline inference).

A job is done once inside a window, or each day anew: then every day's work is a run of its own,
named `job@2026-12-01` by the day that it is for.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from broker.domain.engine import KvPrecision, ServingEngine
from broker.domain.gpu import Precision
from broker.domain.horizon import Horizon
from broker.domain.parts import Count, DataSet, Name, Tokens, Window
from broker.domain.quantities import Duration, Frozen

MIDNIGHT = "00:00 UTC"
_DAY = timedelta(days=1)
_TIME = re.compile(r"^([01]\d|2[0-3]):([0-5]\d)( UTC)?$")


def _time_of_day(value: object) -> object:
    """Read "06:00 UTC" or "06:00"; an unquoted 18:00 is the number 1080 to YAML.

    Raises:
        ValueError: it is no time of day in UTC.
    """
    found = _TIME.match(value.strip()) if isinstance(value, str) else None
    if found is None:
        message = f'{value!r} is no time of day; write it in quotes and in UTC, as "06:00 UTC"'
        raise ValueError(message)
    return f"{found.group(1)}:{found.group(2)} UTC"


TimeOfDay = Annotated[
    str,
    BeforeValidator(_time_of_day),
    WithJsonSchema({"type": "string", "pattern": _TIME.pattern, "examples": ["06:00 UTC"]}),
]
"""A time of every day, in UTC."""


class BatchJob(Frozen):
    """Tokens to process by a deadline, by replicas that answer as fast as they can, unhurried.

    Either `tokens` inside a `window`, or `tokens_per_day` between `after` and `by` of each day;
    `after` is midnight where it is left out, and that of the day before where `by` is not later.
    Prompts and answers both count as tokens: `output_share` of them are answers, the rest are
    prompts of `input_tokens` each. With an `output_share` of 0 prompts are only read, as for
    embeddings. `start_up` is lost whenever its nodes start. `data` is that of one run of the job.
    """

    name: Name
    model: str
    tokens: Tokens | None = None
    window: Window | None = None
    tokens_per_day: Tokens | None = None
    after: TimeOfDay | None = None
    by: TimeOfDay | None = None
    output_share: Annotated[float, Field(ge=0, lt=1)]
    input_tokens: Count = 1000
    precisions: Annotated[tuple[Precision, ...], Field(min_length=1)] = (Precision.BF16,)
    gpu_models: tuple[str, ...] = ()
    restartable: bool = True
    start_up: Duration = timedelta(minutes=10)
    engine: ServingEngine = ServingEngine.VLLM
    kv_precision: KvPrecision = KvPrecision.BF16
    prefix_cache_share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    data: DataSet | None = None
    team: Name | None = None

    @model_validator(mode="after")
    def _once_or_each_day(self) -> Self:
        once = {"tokens": self.tokens, "window": self.window}
        daily = {"tokens_per_day": self.tokens_per_day, "by": self.by}
        given = [name for name, value in (once | daily).items() if value is not None]
        if sorted(given) not in (sorted(once), sorted(daily)):
            found = ", ".join(given) or "neither"
            raise ValueError(
                "give tokens with a window for a job that is done once, or tokens_per_day with by "
                f"for one that is done each day; here stands {found}"
            )
        if self.after is not None and self.by is None:
            raise ValueError(
                f"after {self.after} goes with by; the window of a job that is done once begins "
                "with window.earliest"
            )
        return self

    @property
    def is_daily(self) -> bool:
        """Say whether it is done each day anew."""
        return self.tokens_per_day is not None

    @property
    def output_tokens(self) -> int:
        """Count the tokens of one answer; at least the one that an engine gives."""
        return max(1, round(self.input_tokens * self.output_share / (1 - self.output_share)))

    @property
    def tokens_per_request(self) -> int:
        """Count the tokens that one prompt with its answer counts as."""
        return self.input_tokens + (self.output_tokens if self.output_share else 0)

    def runs(self, horizon: Horizon) -> tuple["BatchRun", ...]:
        """List the runs of the job: itself, or one for each day whose window is in the horizon."""
        if self.tokens is not None and self.window is not None:
            return (BatchRun(self, self.name, self.tokens, self.window),)
        return tuple(
            BatchRun(self, name, self.tokens_per_day or 0.0, window)
            for name, window in self._days(horizon)
            if horizon.start <= window.earliest and window.deadline <= horizon.end
        )

    def crossing(self, horizon: Horizon) -> tuple[str, ...]:
        """Name the days whose window is only in part in the horizon; they are not planned."""
        return tuple(
            name
            for name, window in self._days(horizon)
            if window.earliest < horizon.start < window.deadline
            or window.earliest < horizon.end < window.deadline
        )

    def _days(self, horizon: Horizon) -> Iterator[tuple[str, Window]]:
        if self.by is None:
            return
        after, by = _since_midnight(self.after or MIDNIGHT), _since_midnight(self.by)
        first = horizon.start.replace(hour=0, minute=0, second=0, microsecond=0) - _DAY
        for number in range(horizon.days + 3):
            due = first + number * _DAY + by
            begin = due - by + after
            window = Window(earliest=begin if after < by else begin - _DAY, deadline=due)
            yield f"{self.name}@{_last_day(due):%Y-%m-%d}", window


@dataclass(frozen=True, slots=True)
class BatchRun:
    """A batch job, or one day of it: work for a gang of whole nodes."""

    job: BatchJob
    name: str
    tokens: float
    window: Window

    @property
    def model(self) -> str:
        """Name the network."""
        return self.job.model

    @property
    def team(self) -> str | None:
        """Give the team that it is for, if one is named."""
        return self.job.team

    @property
    def max_duration(self) -> timedelta | None:
        """Give no longest duration: nothing but its window limits how long it takes."""
        return None

    @property
    def restartable(self) -> bool:
        """Say whether it may work in pieces, and on spot."""
        return self.job.restartable

    @property
    def data(self) -> DataSet | None:
        """Give what it reads, where that lies elsewhere."""
        return self.job.data


def _since_midnight(time: str) -> timedelta:
    return timedelta(hours=int(time[:2]), minutes=int(time[3:5]))


def _last_day(due: datetime) -> datetime:
    """Give the day that a deadline ends: midnight ends the day before it."""
    return due - timedelta(microseconds=1)
