"""Replicas count as kept for a commitment only where they stay up in all busy periods."""

import numpy as np

from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def kept_replicas(sets: Sets, columns: Columns) -> Rows:
    """Keep no more replicas for a level than the group has in each of its kind's busy periods.

        kept_replicas[g,l] ≤ replicas[g,t]    ∀ l ∈ levels, g ∈ firm groups[m], t ∈ busy[c,l]

    Busy periods are those of the largest fleets that carry the demand alone, which make up the
    break-even share of the horizon. Left out where one kind serves each demand. Replicas on both
    sides.
    """
    keys: list[Key] = []
    parts: list[Entries] = []
    for at, level in enumerate(sets.levels if not sets.has_one_kind else ()):
        for number, group in enumerate(sets.groups):
            if group.machine != level.machine or group.on_spot:
                continue
            kind = sets.kinds[group.kind]
            busy = kind.busy_periods(sets.hours, level.breakeven_utilization)
            rows = len(keys) + np.arange(len(busy))
            keys.extend((at, number, int(period)) for period in busy)
            parts.append(entries(rows, columns.kept_replicas.at(number, at), 1.0))
            parts.append(entries(rows, columns.replicas.at(number, busy), -1.0))
    return rows_of("kept_replicas", keys, parts, upper=0.0)
