"""Times without any: what comes and goes is up for a part of the time from its first to its last.

Between two steps of a purchase or an assignment there is nothing of it, where they do not touch.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Protocol

_S_PER_H = 3600


class Step(Protocol):
    """Something that is up from one instant to another."""

    @property
    def from_at(self) -> datetime:
        """Give the first instant."""

    @property
    def to_at(self) -> datetime:
        """Give the instant at which it is up no longer."""


def fewest(steps: Sequence[Step], counts: Iterable[int]) -> int:
    """Give the least of the counts of steps; 0 where there is a time without any, or no step."""
    has_pauses = any(one.to_at < after.from_at for one, after in pairwise(steps))
    return 0 if has_pauses else min(counts, default=0)


def up_h(steps: Sequence[Step]) -> float:
    """Sum the hours of all steps."""
    return sum((one.to_at - one.from_at).total_seconds() for one in steps) / _S_PER_H


def told_pauses(hours: float, first_at: datetime, end_at: datetime) -> str:
    """Say for how many of the hours between two instants it is up, as `up 48 of 314 h`.

    Nothing is said where it is up for all of them.
    """
    whole_h = (end_at - first_at).total_seconds() / _S_PER_H
    return f"up {_hours(hours)} of {_hours(whole_h)} h" if hours < whole_h else ""


def _hours(hours: float) -> str:
    return f"{round(hours, 2):.10g}"
