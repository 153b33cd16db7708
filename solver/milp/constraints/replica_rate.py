"""Replicas answer no faster than sizing says."""

import numpy as np

from solver.milp.rows import Entries, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns, routed_groups


def replica_rate(sets: Sets, columns: Columns) -> Rows:
    """Keep the requests routed to a group within the rate of its replicas beyond the spares.

        Σ_{k} routed_requests_per_s[g,k,t] / rate[g,k] ≤ replicas[g,t] − spare[g] · kind_used[c]
        ∀ g ∈ routed groups, t ∈ periods

    Spares are firm: spare is 0 for spot groups. A class with rate 0 cannot be routed here (its
    column's bound is 0). Replicas on both sides.
    """
    periods = np.arange(len(sets.periods))
    keys: list[tuple[object, ...]] = []
    parts: list[Entries] = []
    for number in routed_groups(sets):
        group = sets.groups[number]
        row = len(keys) + periods
        keys.extend((number, int(period)) for period in periods)
        for size_class, rate in enumerate(group.rates):
            if rate > 0:
                route = columns.routed_requests_per_s.at(number, size_class, periods)
                parts.append(entries(row, route, 1 / rate))
        parts.append(entries(row, columns.replicas.at(number, periods), -1.0))
        spare = sets.demands[group.demand].spare
        if spare and not group.on_spot:
            used = columns.kind_used.at(np.full_like(periods, group.kind))
            parts.append(entries(row, used, float(spare)))
    return rows_of("replica_rate", keys, parts, upper=0.0)
