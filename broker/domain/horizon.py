"""The horizon: the time that a plan covers, cut into slots."""

from datetime import MAXYEAR, MINYEAR, datetime, timedelta
from typing import Annotated, Self

from pydantic import Field, model_validator

from broker.domain.quantities import Duration, Frozen, Instant

MAX_SLOTS = 2_000
_DAY = timedelta(days=1)


class Slot(Frozen):
    """One step of the horizon."""

    index: int
    start_at: Instant
    end_at: Instant

    @property
    def hours(self) -> float:
        """Measure the slot."""
        return (self.end_at - self.start_at).total_seconds() / 3600


class Horizon(Frozen):
    """What is planned: from `start`, for `days`, in steps of `slot` (which divides a day)."""

    start: Instant
    days: Annotated[int, Field(ge=1, le=366)]
    slot: Duration = timedelta(hours=1)

    @model_validator(mode="after")
    def _slots_divide_days(self) -> Self:
        if self.start.year <= MINYEAR:
            raise ValueError(f"start {self.start:%Y-%m-%d} is too early; write a later day")
        if self.start.year >= MAXYEAR - 1:
            raise ValueError(f"start {self.start:%Y-%m-%d} is too late; write an earlier day")
        if self.slot <= timedelta(0) or _DAY % self.slot:
            raise ValueError(f"slot {self.slot} does not divide a day; use 1h, 2h, 4h, 6h or 24h")
        if self.days * (_DAY // self.slot) > MAX_SLOTS:
            raise ValueError(
                f"{self.days} days in slots of {self.slot} are more than {MAX_SLOTS} slots; "
                "use a longer slot or fewer days"
            )
        return self

    @property
    def end(self) -> datetime:
        """Give the first instant after the horizon."""
        return self.start + timedelta(days=self.days)

    @property
    def hours(self) -> float:
        """Measure the horizon."""
        return self.days * 24.0

    def months(self) -> tuple[tuple[datetime, datetime], ...]:
        """List the months of the calendar (UTC) that it touches, of each the part inside."""
        parts = []
        at = self.start
        while at < self.end:
            first = at.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
            following = (first + timedelta(days=31)).replace(day=1)
            parts.append((at, min(following, self.end)))
            at = following
        return tuple(parts)

    def slots(self) -> tuple[Slot, ...]:
        """Cut the horizon into its slots, in order."""
        count = self.days * (_DAY // self.slot)
        starts = [self.start + number * self.slot for number in range(count + 1)]
        return tuple(
            Slot(index=number, start_at=starts[number], end_at=starts[number + 1])
            for number in range(count)
        )
