"""Every request is served."""

from collections.abc import Iterator

import numpy as np

from solver.milp.rows import Entries, Rows, entries, grid, rows_of
from solver.milp.sets import Floats, Sets
from solver.milp.variables import Columns, Ints, in_force, most_classes, replicas_at, routed_sides


def serve_load(sets: Sets, columns: Columns) -> Rows:
    """Carry each demand's load of each size class in each period.

        Σ_{f ∈ sides[d]} routed_requests_per_s[f,k,t] ≥ load_requests_per_s[d,k,t]
        ∀ d ∈ demands, k ∈ size_classes[d], t ∈ periods

    A demand with one size class and no spot needs no routing: there the rate of the replicas
    beyond the spares, rate[c] · (Σ_g replicas[g,t] − spare[c] · used[c,t]), stands for the
    route. Spares are firm. Left out where one kind serves each demand: one_kind says the same.
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
    parts = [*_told_apart(sets, columns), *_by_replicas(sets, columns)]
    return rows_of("serve_load", keys, parts, lower=lower.ravel())


def _told_apart(sets: Sets, columns: Columns) -> Iterator[Entries]:
    periods = np.arange(len(sets.periods))
    for number, (at, _) in enumerate(routed_sides(sets)):
        for size_class, row, share in _rows(sets, sets.kinds[at].demand):
            route = columns.routed_requests_per_s.at(number, size_class, periods)
            yield entries(row, route, share)


def _by_replicas(sets: Sets, columns: Columns) -> Iterator[Entries]:
    """Count what the replicas of the other kinds carry, less their spares."""
    periods = np.arange(len(sets.periods))
    told_apart = {kind for kind, _ in routed_sides(sets)}
    for number, group in enumerate(sets.groups):
        if group.kind not in told_apart:
            for size_class, row, share in _rows(sets, group.demand):
                position, column, up = replicas_at(sets, columns, number, periods)
                rate = group.rates[size_class] * share[position]
                yield entries(row[position], column, rate * up)
    for number, kind in enumerate(sets.kinds):
        spare = sets.demands[kind.demand].spares(kind.gpus)
        if spare and number not in told_apart:
            for size_class, row, share in _rows(sets, kind.demand):
                position, column = in_force(sets, columns, number, periods)
                rate = kind.rates[size_class] * spare * share[position]
                yield entries(row[position], column, -rate)


def _rows(sets: Sets, demand: int) -> Iterator[tuple[int, Ints, Floats]]:
    """Give each size class of a demand with its rows, and 1 / load of each."""
    periods = np.arange(len(sets.periods))
    for size_class, load in enumerate(sets.demands[demand].load_requests_per_s):
        row = (demand * most_classes(sets) + size_class) * len(periods) + periods
        yield size_class, row, 1 / np.where(load > 0, load, 1.0)
