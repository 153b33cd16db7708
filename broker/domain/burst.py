"""Kinds of replica beside those that are kept for the horizon: for a window of time each."""

from datetime import timedelta
from typing import Self

from pydantic import model_validator

from broker.domain.horizon import Horizon
from broker.domain.parts import Count
from broker.domain.quantities import Duration, Frozen

_SHORTEST = timedelta(hours=1)


class Burst(Frozen):
    """How many further kinds may serve a service's users of one region, and how long they stay.

    In each window of `change_every`, counted from the horizon's start, `max_groups` others at most
    serve beside those that serve at all times; the last window may be shorter.
    """

    max_groups: Count = 1
    change_every: Duration = timedelta(days=1)

    @model_validator(mode="after")
    def _stays_a_while(self) -> Self:
        if self.change_every < _SHORTEST:
            raise ValueError(
                f"change_every {self.change_every} is less than an hour; write 1 h or more"
            )
        return self


def check_changes(burst: Burst | None, horizon: Horizon) -> None:
    """Hold the windows to the slots of the horizon.

    Raises:
        ValueError: a window would end inside a slot.
    """
    if burst is not None and burst.change_every % horizon.slot:
        raise ValueError(
            f"policy.burst.change_every {burst.change_every} is not a whole number of slots of "
            f"{horizon.slot}; write a multiple of the slot, or shorter slots"
        )
