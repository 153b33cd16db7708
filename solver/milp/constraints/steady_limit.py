"""Beside owned nodes, a commitment that outlives the horizon comes only where those are full."""

import numpy as np

from solver.milp.constraints.steady_level import outliving_nodes
from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def steady_limit(sets: Sets, columns: Columns) -> Rows:
    """Let only a used level have commitments, and no more than services fill at their peak.

        Σ_{p ∈ members[l]} committed_nodes[p] + Σ_{r ∈ plan_rates[l]} steady_nodes[r]
            ≤ most_nodes[l] · level_used[l]
        ∀ l ∈ levels of machines with owned nodes

    Nodes on both sides. The big-M is the peak of each demand's largest group, all together.
    """
    keys: list[Key] = []
    parts: list[Entries] = []
    for number, level in enumerate(sets.levels):
        if not any(sets.machines[level.machine].owned):
            continue
        used = columns.level_used.at(np.array([number]))
        nodes = outliving_nodes(columns, level)
        parts.extend(entries(len(keys), column, 1.0) for column in nodes)
        parts.append(entries(len(keys), used, -float(level.most_nodes)))
        keys.append((number,))
    return rows_of("steady_limit", keys, parts, upper=0.0)
