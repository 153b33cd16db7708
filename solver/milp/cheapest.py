"""The cheapest ways to have each kind of replica: of each size of node and each way to pay for it.

What a relaxed program holds for promising is little help here: it buys parts of nodes and pays for
peaks with the rest of what another demand has, so that its prices are close together. A plan needs
small nodes and large ones, and each of spot, by the hour, and committed.
"""

from collections.abc import Hashable, Sequence

import numpy as np

from solver.milp.sets import Floats, Group, Sets

_USED = 1e-6


def best_of(
    owners: Sequence[Hashable], value: Floats | None, penalty: Floats, *, most: int
) -> set[int]:
    """Choose what has a value, and the so many of each owner that have the least penalty."""
    chosen = set() if value is None else set(np.flatnonzero(value > _USED).tolist())
    count: dict[Hashable, int] = {}
    for number in np.argsort(penalty, kind="stable").tolist():
        if not np.isfinite(penalty[number]):
            break
        count[owners[number]] = count.get(owners[number], 0) + 1
        if count[owners[number]] <= most:
            chosen.add(number)
    return chosen


def cheapest_groups(sets: Sets, most: int) -> set[int]:
    """Choose so many groups of each kind, size of node and way to pay, and all on owned nodes."""
    machines = sets.machines
    owners = [(one.kind, machines[one.machine].gpus) for one in sets.groups]
    chosen = {number for number, one in enumerate(sets.groups) if any(machines[one.machine].owned)}
    for usd_per_hour in (_by_the_hour(sets, on_spot=False), _by_the_hour(sets, on_spot=True)):
        chosen |= best_of(owners, None, usd_per_hour, most=most)
    return chosen | best_of(owners, None, _committed(sets), most=most)


def _by_the_hour(sets: Sets, *, on_spot: bool) -> Floats:
    """Give the hourly dollars of each group's nodes; infinity for the other side's."""

    def usd(group: Group) -> float:
        machine = sets.machines[group.machine]
        offer = machine.spot if on_spot else machine.on_demand
        return float(offer.usd_per_hour) if offer and group.on_spot == on_spot else np.inf

    return np.array([usd(one) for one in sets.groups])


def _committed(sets: Sets) -> Floats:
    """Give what a committed node of each group costs at least in the horizon; else infinity."""
    least = np.full(len(sets.machines), np.inf)
    for one in sets.committed:
        least[one.machine] = min(least[one.machine], one.usd_per_node)
    usd = least[[one.machine for one in sets.groups]]
    return np.where([one.on_spot for one in sets.groups], np.inf, usd)
