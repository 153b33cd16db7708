"""The load of a service, in requests/s: a curve over a day, or a forecast step by step."""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from broker.domain.quantities import Duration, Frozen, Instant

CURVE, SERIES = "curve", "series"
"""The two ways to write a load; pydantic puts them into the place of an error."""

_MOST_PER_S = 1_000_000
"""More than any service is asked; beyond it the counts of a program lose their sense."""

_Requests = Annotated[float, Field(ge=0, le=_MOST_PER_S)]


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError) as cause:  # of `Europe`, that it is a folder
        raise ValueError(f"{name!r} is no time zone; write one such as America/New_York") from cause
    return name


class LoadCurve(Frozen):
    """Requests per second over a day: `mean` and `peak` of a weekday, in local time.

    `weekend_factor` scales Saturdays and Sundays.
    """

    mean: _Requests
    peak: Annotated[float, Field(gt=0, le=_MOST_PER_S)]
    peak_hour: Annotated[float, Field(ge=0, lt=24)] = 14
    timezone: Annotated[str, AfterValidator(_known_zone)] = "UTC"
    weekend_factor: Annotated[float, Field(ge=0, le=100)] = 1.0

    @model_validator(mode="after")
    def _peak_is_highest(self) -> Self:
        if self.peak < self.mean:
            raise ValueError(f"peak {self.peak} is below mean {self.mean}; a peak is the highest")
        return self


class LoadSeries(Frozen):
    """Requests per second of each size class (a row each) in steps of the same length.

    The first step begins at `start`, or with the horizon. A series that is shorter than the horizon
    is repeated.
    """

    step: Duration = timedelta(hours=1)
    by_size: Annotated[tuple[tuple[_Requests, ...], ...], Field(min_length=1)]
    start: Instant | None = None

    @model_validator(mode="after")
    def _rows_are_alike(self) -> Self:
        if self.step <= timedelta(0):
            raise ValueError("step must be longer than nothing; write one such as 1 h")
        lengths = sorted({len(row) for row in self.by_size})
        if len(lengths) > 1:
            raise ValueError(
                f"by_size has rows of {lengths[0]} and of {lengths[-1]} steps; all size classes "
                "need the same number"
            )
        if not any(map(any, self.by_size)):
            raise ValueError("by_size has no load at all; at least one figure must be above 0")
        return self

    @property
    def mean(self) -> float:
        """Give the mean of all size classes together, in requests/s."""
        return sum(map(sum, self.by_size)) / len(self.by_size[0])

    @property
    def peak(self) -> float:
        """Give the highest step of all size classes together, in requests/s."""
        return max(map(sum, zip(*self.by_size, strict=True)))

    def highest(self, origin: datetime, from_at: datetime, to_at: datetime) -> tuple[float, ...]:
        """Give the highest requests/s of each size class in a time; `origin` begins the horizon."""
        begin = self.start or origin
        count = len(self.by_size[0])
        first = (from_at - begin) // self.step
        last = max(first + 1, math.ceil((to_at - begin) / self.step))
        steps = range(first, min(last, first + count))
        return tuple(max(row[number % count] for number in steps) for row in self.by_size)


def _kind(value: object) -> str:
    if isinstance(value, Mapping):
        return SERIES if "by_size" in value or "step" in value else CURVE
    return SERIES if isinstance(value, LoadSeries) else CURVE


Load = Annotated[
    Annotated[LoadCurve, Tag(CURVE)] | Annotated[LoadSeries, Tag(SERIES)], Discriminator(_kind)
]
"""Requests per second, in one of the two ways."""
