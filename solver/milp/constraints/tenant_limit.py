"""No more nodes of an offer than there are, whoever they are for."""

from collections import defaultdict

import numpy as np

from broker.domain.offer import Offer
from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.tenants import sold_as
from solver.milp.variables import Columns, Ints

_SEVERAL = 2


def tenant_limit(sets: Sets, columns: Columns) -> Rows:
    """Keep what is bought of one offer for isolated workloads and for the others within its limit.

        Σ_{m ∈ copies[o]} on_demand_nodes[m,t] ≤ max_nodes[o]
        ∀ offers o with a limit and several copies, t ∈ periods

    and so for spot nodes, and for Σ committed_nodes[p] over what is held in t of a commitment or
    capacity block. Where workloads are isolated, each of their machines m is there once more for
    each of them: a copy, with all constraints of a machine, whose nodes no one else works on for as
    long as they are held. Copies of one offer share its stock and quotas as all offers do. Nodes on
    both sides.
    """
    if not sets.case.tenants:
        return rows_of("tenant_limit", [], [])
    periods = np.arange(len(sets.periods))
    columns_of: dict[str, list[tuple[Ints, Ints]]] = defaultdict(list)
    most: dict[str, int] = {}

    def count(offer: Offer | None, at: Ints, column: Ints) -> None:
        if offer is not None and offer.limits.max_nodes is not None:
            key = f"{sold_as(sets.case, offer.machine)}@{offer.key.partition('@')[2]}"
            columns_of[key].append((at, column))
            most[key] = offer.limits.max_nodes

    for number, machine in enumerate(sets.machines):
        count(machine.on_demand, periods, columns.on_demand_nodes.at(number, periods))
        count(machine.spot, periods, columns.spot_nodes.at(number, periods))
    for number, one in enumerate(sets.committed):
        held = np.flatnonzero(np.array(one.held, dtype=bool))
        count(one.offer, held, columns.committed_nodes.at(np.full_like(held, number)))
    keys: list[Key] = []
    parts: list[Entries] = []
    upper: list[float] = []
    for key, own in sorted(columns_of.items()):
        if len(own) >= _SEVERAL:
            parts.extend(entries(len(keys) + at, column, 1.0) for at, column in own)
            keys.extend((key, int(period)) for period in periods)
            upper.extend([float(most[key])] * len(periods))
    return rows_of("tenant_limit", keys, parts, upper=np.array(upper))
