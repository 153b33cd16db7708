"""Reservations of a rival: how many nodes it wants, and how many of them the rules leave."""

import math
from collections.abc import Mapping

import numpy as np

from solver.milp.sets import Floats, Sets

_SLACK = 1e-9


def cheapest_commitment(sets: Sets, machine: int) -> int | None:
    """Find the commitment of a machine with the lowest hourly cost that lasts the horizon."""
    found = [
        number
        for number, one in enumerate(sets.committed)
        if one.machine == machine and one.block is None and all(one.active)
    ]
    return min(
        found, key=lambda one: (sets.committed[one].offer.effective_usd_per_hour, one), default=None
    )


def justified_nodes(sets: Sets, commitment: int, gpus: Mapping[int, Floats]) -> int:
    """Count the nodes of a commitment that services keep busy for its break-even share of the time.

    `gpus` are those that each group takes of its machine, by period; each group counts by itself,
    and owned nodes are used first.
    """
    one = sets.committed[commitment]
    machine = sets.machines[one.machine]
    most = one.offer.limits.max_nodes
    if not one.outlives:
        return 10**9 if most is None else most
    kept = 0.0
    for group, taken in gpus.items():
        if sets.groups[group].machine == one.machine and not sets.groups[group].on_spot:
            kept += _kept(taken, sets.hours, one.breakeven_utilization)
    nodes = max(math.ceil(kept / machine.gpus - _SLACK) - max(machine.owned, default=0), 0)
    return nodes if most is None else min(nodes, most)


def _kept(taken: Floats, hours: Floats, share: float) -> float:
    """Give the most GPUs that are taken for a share of the hours."""
    order = np.argsort(-taken, kind="stable")
    reached = np.cumsum(hours[order]) >= share * hours.sum() * (1 - _SLACK)
    return float(taken[order][int(np.argmax(reached))]) if reached.any() else 0.0
