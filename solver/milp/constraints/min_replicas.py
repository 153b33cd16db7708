"""Some replicas stay up even without load."""

import numpy as np

from solver.milp.rows import Rows, entries, grid, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns, replicas_at


def min_replicas(sets: Sets, columns: Columns) -> Rows:
    """Keep the least number of replicas that the service asks for, for each user region.

    Σ_{g ∈ groups[d]} replicas[g,t] ≥ min_replicas[d]    ∀ d ∈ demands, t ∈ periods
    """
    if sets.has_one_kind:
        return rows_of("min_replicas", [], [])
    periods = np.arange(len(sets.periods))
    parts = []
    for number, group in enumerate(sets.groups):
        position, column, up = replicas_at(sets, columns, number, periods)
        parts.append(entries(group.demand * len(periods) + position, column, up))
    floor = np.array([float(one.service.min_replicas) for one in sets.demands])
    keys = grid(len(sets.demands), len(periods))
    return rows_of("min_replicas", keys, parts, lower=np.repeat(floor, len(periods)))
