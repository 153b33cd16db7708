"""How many replicas a kind has where each stays up for a least time: known before solving.

Where one kind serves a demand, its replicas come and go in one order: the first to come is the last
to go. Those that the load asks for are wanted[t]; what is up is the series with the fewest
replica-hours in which each replica, once it has come up, stays for so many slots:

    least Σ_t replicas[t]    with replicas[t] ≥ wanted[t], and
    each run of slots with replicas[t] ≥ i at least slots long, or to the end    ∀ i

Of several such series it is the one with the fewest replicas in the first slot in which they
differ: replicas come as late as they can. What is up in the first slot has come up in it.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from broker.domain.case import Case
from broker.domain.horizon import Horizon
from broker.domain.workload import Service

Ints = npt.NDArray[np.int64]
_NEVER = np.int64(2**40)
"""More than any sum of replicas over the slots of a horizon."""


def slots_up(service: Service, horizon: Horizon) -> int:
    """Count the slots that a replica stays up at least."""
    return -(-service.min_up_time // horizon.slot) if service.min_up_time else 1


def steady_services(case: Case) -> frozenset[str]:
    """Name the services whose replicas stay up for longer than a slot.

    What such a service has up at a time may be more for a kind that needs fewer at all times, so
    nothing of it stands for anything else but at the same rates.
    """
    horizon = case.workloads.horizon
    return frozenset(one.name for one in case.workloads.services if slots_up(one, horizon) > 1)


def fewest_up(wanted: Ints, slots: int) -> Ints:
    """Give the replicas that are up in each slot.

    The search is over the levels that are ever wanted: rounding a series down to those keeps all of
    it. A state is the level, and for how many slots the last of its replicas have been up; all
    others have been for longer, so it alone says whether any may go.
    """
    if slots <= 1 or not len(wanted):
        return wanted
    levels = np.unique(wanted)
    least = np.searchsorted(levels, wanted)
    costs = _costs(levels, least, slots)
    level, age = int(np.argmin(costs[0][:, 0])), 1
    found = np.zeros(len(wanted), dtype=np.int64)
    found[0] = levels[level]
    for slot in range(1, len(wanted)):
        left = costs[slot - 1][level, age - 1] - levels[level]
        level, age = next(
            (other, new)
            for other, new in _following(level, age, slots, len(levels))
            if costs[slot][other, new - 1] == left
        )
        found[slot] = levels[level]
    return found


def _costs(levels: Ints, least: Ints, slots: int) -> list[Ints]:
    """Give of each slot what it and all later ones cost, by level and slots up until there."""
    after = np.zeros((len(levels), slots), dtype=np.int64)
    found = []
    for lowest in least[::-1].tolist():
        best = np.concatenate([after[:, 1:], after[:, -1:]], axis=1)
        risen = np.minimum.accumulate(after[::-1, 0])[::-1]
        best[:-1] = np.minimum(best[:-1], risen[1:, None])
        fallen = np.minimum.accumulate(after[:, -1])
        best[1:, -1] = np.minimum(best[1:, -1], fallen[:-1])
        after = best + levels[:, None]
        after[:lowest] = _NEVER
        found.append(after)
    return found[::-1]


def _following(level: int, age: int, slots: int, levels: int) -> Iterable[tuple[int, int]]:
    """List what may come in the next slot, the fewest replicas first: a level and its age."""
    if age == slots:
        yield from ((other, slots) for other in range(level))
    yield level, min(age + 1, slots)
    yield from ((other, 1) for other in range(level + 1, levels))
