"""A commitment that outlives the horizon pays for itself on services alone, node by node."""

import numpy as np

from solver.milp.rows import Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def steady_time(sets: Sets, columns: Columns) -> Rows:
    """Have services fill a used level for its break-even share of the time, at least.

        Σ_t hours[t] · level_filled[l,t] ≥ breakeven_utilization[l] · Σ_t hours[t] · level_used[l]
        ∀ l ∈ levels

    Services go on after the horizon, runs end: so a run never justifies a term beyond it, and
    well-used nodes do not pay for idle ones. Shares of the horizon on both sides.
    """
    periods = np.arange(len(sets.periods))
    weight = sets.hours / sets.hours.sum()
    parts = []
    for row, level in enumerate(sets.levels):
        parts.append(entries(row, columns.level_filled.at(row, periods), weight))
        used = columns.level_used.at(np.array([row]))
        parts.append(entries(row, used, -level.breakeven_utilization + 1e-9))
    keys = [(number,) for number in range(len(sets.levels))]
    return rows_of("steady_time", keys, parts, lower=0.0)
