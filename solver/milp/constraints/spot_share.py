"""Spot carries no more of a service than it may lose at once."""

import numpy as np

from solver.milp.rows import Entries, Rows, entries, grid, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns, routed_groups


def spot_share(sets: Sets, columns: Columns) -> Rows:
    """Bound the requests routed to spot groups by the service's share.

        Σ_{g ∈ spot groups[d], k} routed_requests_per_s[g,k,t]
            ≤ max_share[d] · Σ_k load_requests_per_s[d,k,t]    ∀ d ∈ demands, t ∈ periods

    Requests/s on both sides. A service without a spot share has no spot groups at all.
    """
    periods = np.arange(len(sets.periods))
    parts: list[Entries] = []
    for number in routed_groups(sets):
        group = sets.groups[number]
        if not group.option.on_spot:
            continue
        row = group.demand * len(periods) + periods
        for size_class in range(len(group.rates)):
            route = columns.routed_requests_per_s.at(number, size_class, periods)
            parts.append(entries(row, route, 1.0))
    allowed = [
        one.service.spot.max_share * one.load_requests_per_s.sum(axis=0) for one in sets.demands
    ]
    upper = np.concatenate(allowed) if allowed else np.zeros(0)
    return rows_of("spot_share", grid(len(sets.demands), len(periods)), parts, upper=upper)
