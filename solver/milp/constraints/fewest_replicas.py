"""A cut: no fleet has fewer replicas than the fastest candidates would need."""

import numpy as np

from solver.milp.demands import whole
from solver.milp.rows import Rows, entries, grid, rows_of
from solver.milp.sets import Floats, Sets
from solver.milp.variables import Columns, in_force, replicas_at


def fewest_replicas(sets: Sets, columns: Columns) -> Rows:
    """Ask for the whole replicas that the load needs even on the fastest group of the demand.

        Σ_{g ∈ groups[d]} replicas[g,t] − Σ_{c ∈ firm kinds[d]} spare[c] · used[c,t]
            ≥ ⌈ Σ_k load_requests_per_s[d,k,t] / max_g rate[g,k] ⌉    ∀ d ∈ demands, t ∈ periods

    Spares are firm, so only kinds with firm replicas hold some; on slices spare[c] are those of
    whole GPUs. Implied by serve_load and integrality; it lifts the bound of small fleets.
    """
    if sets.has_one_kind:
        return rows_of("fewest_replicas", [], [])
    periods = np.arange(len(sets.periods))
    parts = []
    for number, group in enumerate(sets.groups):
        position, column, up = replicas_at(sets, columns, number, periods)
        parts.append(entries(group.demand * len(periods) + position, column, up))
    with_firm = {group.kind for group in sets.groups if not group.on_spot}
    for number, kind in enumerate(sets.kinds):
        if number not in with_firm:
            continue
        position, column = in_force(sets, columns, number, periods)
        row = kind.demand * len(periods) + position
        parts.append(entries(row, column, -float(sets.demands[kind.demand].spares(kind.gpus))))
    needed = [_needed(sets, number) for number in range(len(sets.demands))]
    lower = np.concatenate(needed) if needed else np.zeros(0)
    return rows_of("fewest_replicas", grid(len(sets.demands), len(periods)), parts, lower=lower)


def _needed(sets: Sets, number: int) -> Floats:
    rates = [group.rates for group in sets.groups if group.demand == number]
    load = sets.demands[number].load_requests_per_s
    if not rates:
        return np.zeros(load.shape[1])
    best = np.max(np.array(rates), axis=0)
    per_rate = np.divide(1.0, best, out=np.zeros_like(best), where=best > 0)
    return whole(per_rate @ load)
