"""Every request is served."""

import numpy as np

from solver.milp.rows import Entries, Rows, entries, grid, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns, most_classes, routed_groups


def serve_load(sets: Sets, columns: Columns) -> Rows:
    """Carry each demand's load of each size class in each period.

        Σ_{g ∈ groups[d]} routed_requests_per_s[g,k,t] ≥ load_requests_per_s[d,k,t]
        ∀ d ∈ demands, k ∈ size_classes[d], t ∈ periods

    A demand with one size class and no spot needs no routing: there the rate of the replicas
    beyond the spares, rate[g] · (replicas[g,t] − spare · kind_used[c]), stands for the route.
    Spares are firm. Left out under `max_groups: 1`, where one_kind says the same.
    Requests/s on both sides, divided by the load of the row.
    """
    if sets.has_one_kind:
        return rows_of("serve_load", [], [])
    classes, periods = most_classes(sets), np.arange(len(sets.periods))
    keys = grid(len(sets.demands), classes, len(periods))
    lower = np.full((len(sets.demands), classes, len(periods)), -np.inf)
    for number, demand in enumerate(sets.demands):
        load = demand.load_requests_per_s
        lower[number, : len(load), :] = np.where(load > 0, 1.0, 0.0)
    routed = set(routed_groups(sets))
    parts: list[Entries] = []
    for number, group in enumerate(sets.groups):
        load = sets.demands[group.demand].load_requests_per_s
        for size_class, rate in enumerate(group.rates):
            row = (group.demand * classes + size_class) * len(periods) + periods
            share = 1 / np.where(load[size_class] > 0, load[size_class], 1.0)
            if number in routed:
                route = columns.routed_requests_per_s.at(number, size_class, periods)
                parts.append(entries(row, route, share))
                continue
            parts.append(entries(row, columns.replicas.at(number, periods), rate * share))
            spare = sets.demands[group.demand].spare
            if spare and not group.on_spot:
                used = columns.kind_used.at(np.full_like(periods, group.kind))
                parts.append(entries(row, used, -rate * spare * share))
    return rows_of("serve_load", keys, parts, lower=lower.ravel())
