"""A commitment that outlives the horizon is no larger than what services could fill."""

import numpy as np

from solver.milp.rows import Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def steady_limit(sets: Sets, columns: Columns) -> Rows:
    """Let only a used level have commitments, and no more than services fill at their peak.

        Σ_{p ∈ members[l]} committed_nodes[p] ≤ most_nodes[l] · level_used[l]    ∀ l ∈ levels

    Nodes on both sides. The big-M is tight: the peak load on the slowest group of each demand.
    """
    parts = []
    for row, level in enumerate(sets.levels):
        members = columns.committed_nodes.at(np.array(level.members))
        parts.append(entries(row, members, 1.0))
        used = columns.level_used.at(np.array([row]))
        parts.append(entries(row, used, -float(level.most_nodes)))
    keys = [(number,) for number in range(len(sets.levels))]
    return rows_of("steady_limit", keys, parts, upper=0.0)
