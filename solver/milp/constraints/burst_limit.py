"""Few kinds of replica serve a demand for a time, beside those that always do."""

import numpy as np

from solver.milp.rows import Key, Rows, entries, grid, rows_of
from solver.milp.sets import Floats, Sets
from solver.milp.variables import Columns


def burst_limit(sets: Sets, columns: Columns) -> Rows:
    """Let at most so many further kinds serve a demand in each window of time.

        most   Σ_{c ∈ kinds[d]} burst_used[c,w] ≤ burst.max_groups    ∀ d ∈ demands, w ∈ windows
        some   Σ_{c ∈ kinds[d]} (kind_used[c] + burst_used[c,w]) ≥ 1
               ∀ d ∈ demands, w ∈ windows in which d must have a replica
        once   kind_used[c] + burst_used[c,w] ≤ 1    ∀ c ∈ kinds, w ∈ windows

    Windows have the length burst.change_every, counted from the horizon's start; those whose slots
    are equal in every datum, in order, are one here. `some` is implied by serve_load and
    min_replicas; `once` keeps the bound on idle replicas in kind_link. A burst kind that is in
    force has its own spares, as any kind has. Only where the policy has `burst`. Kinds on both
    sides.
    """
    burst, windows = sets.case.workloads.policy.burst, sets.burst_windows
    if burst is None:
        return rows_of("burst_limit", [], [])
    by_demand, by_kind = grid(len(sets.demands), windows), grid(len(sets.kinds), windows)
    keys: list[Key] = [(side, *key) for side in ("most", "some") for key in by_demand]
    keys.extend(("once", *key) for key in by_kind)
    kind, window = np.divmod(np.arange(len(by_kind)), windows)
    demand = np.array([one.demand for one in sets.kinds], dtype=np.int64)
    most = demand[kind] * windows + window
    some, once = len(by_demand) + most, 2 * len(by_demand) + np.arange(len(by_kind))
    used = columns.kind_used.at(kind)
    for_a_time = columns.burst_used.at(kind, window)
    parts = [entries(rows, for_a_time, 1.0) for rows in (most, some, once)]
    parts += [entries(rows, used, 1.0) for rows in (some, once)]
    bounds = [
        (np.full(len(by_demand), -np.inf), np.full(len(by_demand), float(burst.max_groups))),
        (_needed(sets), np.full(len(by_demand), np.inf)),
        (np.full(len(by_kind), -np.inf), np.ones(len(by_kind))),
    ]
    lower, upper = (np.concatenate(side) for side in zip(*bounds, strict=True))
    return rows_of("burst_limit", keys, parts, lower=lower, upper=upper)


def _needed(sets: Sets) -> Floats:
    """Give 1 for each demand and window in which it has load, or replicas that stay up; else 0."""
    needed = np.zeros((len(sets.demands), sets.burst_windows))
    for number, demand in enumerate(sets.demands):
        has_load = demand.load_requests_per_s.any(axis=0)
        needed[number, sets.window_of[has_load]] = 1.0
        if demand.service.min_replicas:
            needed[number] = 1.0
    return needed.ravel()
