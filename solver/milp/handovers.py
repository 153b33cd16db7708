"""Where replicas hand over: what must stay in place while new replicas start.

A replica serves from `start_up` after it was started. In a slot, then, only those that were in
place throughout the start-up before can be counted on from its first second. Where one kind of
replica serves a demand, its replicas come and go in one order, which keeps enough in place by
itself, since the load of each slot counts `start_up` ahead; where kinds may take turns, it does
not.
"""

import math
from collections.abc import Sequence
from datetime import timedelta

import numpy as np

from broker.domain.workload import Workloads
from solver.milp.demands import Demand
from solver.milp.sets import Group, Handover, Period


def handovers(
    workloads: Workloads,
    periods: Sequence[Period],
    demands: Sequence[Demand],
    groups: Sequence[Group],
) -> tuple[Handover, ...]:
    """List the handovers of every demand that more than one group may serve, each once."""
    order = np.argsort(np.concatenate([period.slots for period in periods]))
    owner = np.repeat(np.arange(len(periods)), [len(period.slots) for period in periods])
    period_of = owner[order].tolist()
    found: dict[tuple[int, tuple[int, ...]], Handover] = {}
    for number, demand in enumerate(demands):
        start_up = demand.service.start_up
        if not start_up or not _may_take_turns(workloads, number, groups):
            continue
        for path in _paths(period_of, _slots_within(start_up, workloads.horizon.slot)):
            load = demand.load_requests_per_s[:, list(path)].min(axis=1)
            if len(path) > 1 and load.any():
                found[number, path] = Handover(number, path, tuple(load.tolist()))
    return tuple(found.values())


def _may_take_turns(workloads: Workloads, number: int, groups: Sequence[Group]) -> bool:
    own = sum(group.demand == number for group in groups)
    return own > 1 and not workloads.policy.has_one_kind


def _slots_within(start_up: timedelta, slot: timedelta) -> int:
    return math.ceil(start_up / slot)


def _paths(period_of: Sequence[int], before: int) -> list[tuple[int, ...]]:
    """List the periods of each slot and of the slots before it, without repetitions, each once."""
    paths = {
        tuple(dict.fromkeys(period_of[max(0, slot - before) : slot + 1]))
        for slot in range(len(period_of))
    }
    return sorted(paths)
