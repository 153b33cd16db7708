"""Replicas answer no faster than sizing says."""

from collections import defaultdict

import numpy as np

from solver.milp.rows import Entries, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns, in_force, replicas_at, routed_sides


def replica_rate(sets: Sets, columns: Columns) -> Rows:
    """Keep the requests routed to a group within the rate of its replicas beyond the spares.

        Σ_{k} routed_requests_per_s[f,k,t] / rate[c,k]
            ≤ Σ_{g ∈ groups[f]} replicas[g,t] − spare[f] · used[c,t]
        ∀ f = (c, firm or spot) ∈ routed sides, t ∈ periods

    Spares are firm: spare is 0 on spot. What may fail is a GPU, so on slices of 1/n of one there
    are n spares for each that is asked for. A class with rate 0 cannot be routed here (its column's
    bound is 0). Replicas on both sides.
    """
    periods = np.arange(len(sets.periods))
    groups_of: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for group, one in enumerate(sets.groups):
        groups_of[one.kind, one.on_spot].append(group)
    keys: list[tuple[object, ...]] = []
    parts: list[Entries] = []
    for number, (at, on_spot) in enumerate(routed_sides(sets)):
        kind = sets.kinds[at]
        row = len(keys) + periods
        keys.extend((number, int(period)) for period in periods)
        for size_class, rate in enumerate(kind.rates):
            if rate > 0:
                route = columns.routed_requests_per_s.at(number, size_class, periods)
                parts.append(entries(row, route, 1 / rate))
        for group in groups_of[at, on_spot]:
            position, column, up = replicas_at(sets, columns, group, periods)
            parts.append(entries(row[position], column, -up))
        spare = sets.demands[kind.demand].spares(kind.gpus)
        if spare and not on_spot:
            position, column = in_force(sets, columns, at, periods)
            parts.append(entries(row[position], column, float(spare)))
    return rows_of("replica_rate", keys, parts, upper=0.0)
