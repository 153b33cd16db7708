"""Spot carries no more of a service than it may lose at once."""

import numpy as np

from solver.milp.rows import Entries, Rows, entries, grid, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns, most_classes, routed_sides


def spot_share(sets: Sets, columns: Columns) -> Rows:
    """Bound the requests of each size class routed to spot groups by the service's share.

        Σ_{f ∈ spot sides[d]} routed_requests_per_s[f,k,t]
            ≤ max_share[d] · load_requests_per_s[d,k,t]
        ∀ d ∈ demands, k ∈ size_classes[d], t ∈ periods

    Requests/s on both sides, divided by the load of the row. A service without a spot share has no
    spot groups at all. Left out where one kind serves each demand: one_kind says the same.
    """
    if sets.has_one_kind:
        return rows_of("spot_share", [], [])
    classes, periods = most_classes(sets), np.arange(len(sets.periods))
    parts: list[Entries] = []
    for number, (at, on_spot) in enumerate(routed_sides(sets)):
        kind = sets.kinds[at]
        if on_spot:
            for size_class in range(len(kind.rates)):
                row = (kind.demand * classes + size_class) * len(periods) + periods
                route = columns.routed_requests_per_s.at(number, size_class, periods)
                load = sets.demands[kind.demand].load_requests_per_s[size_class]
                parts.append(entries(row, route, 1 / np.where(load > 0, load, 1.0)))
    upper = np.full((len(sets.demands), classes, len(periods)), np.inf)
    for number, one in enumerate(sets.demands):
        load = one.load_requests_per_s
        upper[number, : len(load), :] = np.where(load > 0, one.service.spot.max_share, 0.0)
    keys = grid(len(sets.demands), classes, len(periods))
    return rows_of("spot_share", keys, parts, upper=upper.ravel())
