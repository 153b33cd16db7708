"""The horizon as numbered slots, and which of them a step covers."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from broker.domain.horizon import Horizon
from broker.domain.plan import NodeStep

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_MICROSECOND = timedelta(microseconds=1)
_MICROSECONDS_PER_HOUR = 3_600_000_000
_LARGEST = 2**53
"""Up to here a float64 holds every whole number; a count beyond it breaks each rule as well."""


class Step(Protocol):
    """What holds from one instant to another."""

    @property
    def from_at(self) -> datetime:
        """Give the first instant."""

    @property
    def to_at(self) -> datetime:
        """Give the first instant after it."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """The slots of a horizon, numbered from 0. A step counts in the slots that it covers whole."""

    start_at: datetime
    slot: timedelta
    count: int

    @property
    def end_at(self) -> datetime:
        """Give the first instant after the last slot."""
        return self.start_at + self.count * self.slot

    def is_boundary(self, moment: datetime) -> bool:
        """Say whether a slot starts or ends at this instant (inside the horizon or not)."""
        return not (moment - self.start_at) % self.slot

    def covered(self, step: Step) -> slice:
        """Give the numbers of the slots that lie wholly inside the step."""
        first = max(0, -((self.start_at - step.from_at) // self.slot))
        after = min(self.count, (step.to_at - self.start_at) // self.slot)
        return slice(first, max(first, after))

    def touched(self, step: Step) -> slice:
        """Give the numbers of the slots of which some part lies inside the step."""
        first = max(0, (step.from_at - self.start_at) // self.slot)
        after = min(self.count, -((self.start_at - step.to_at) // self.slot))
        return slice(first, max(first, after))

    def zeros(self) -> Array:
        """Make one 0 for each slot."""
        return np.zeros(self.count)

    def spread(self, counts: Iterable[tuple[Step, int]]) -> Array:
        """Add up the counts of steps, slot by slot."""
        total = self.zeros()
        for step, count in counts:
            total[self.covered(step)] += as_float(count)
        return total

    def ends_by(self, moment: datetime) -> Mask:
        """Say of each slot whether it ends at an instant or before."""
        whole = min(self.count, max(0, (moment - self.start_at) // self.slot))
        return np.arange(self.count) < whole

    def where(self, slots: Mask) -> str:
        """Say for a message which slots are meant: the first of them, and how many."""
        first = self.start_at + int(np.argmax(slots)) * self.slot
        more = int(slots.sum()) - 1
        return f"at {first:%Y-%m-%d %H:%M}" + (f" (and in {more} more slots)" if more else "")


def timeline_of(horizon: Horizon) -> Timeline:
    """Number the slots of a horizon."""
    count = (horizon.end - horizon.start) // horizon.slot
    return Timeline(horizon.start, horizon.slot, count)


def node_hours_of(steps: Iterable[NodeStep]) -> Fraction:
    """Sum nodes × hours over steps, exactly."""
    parts = (step.nodes * ((step.to_at - step.from_at) // _MICROSECOND) for step in steps)
    return Fraction(sum(parts), _MICROSECONDS_PER_HOUR)


def as_float(count: int | Fraction) -> float:
    """Turn a count into a float, a senselessly large one into the largest exact one."""
    return float(min(count, _LARGEST))
