"""A cut: each block of replicas justifies no more commitments than the whole nodes it needs."""

import numpy as np

from solver.milp.constraints.steady_level import Bases, outliving_nodes
from solver.milp.rows import Entries, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns

_SLACK = 1e-9


def steady_whole(sets: Sets, columns: Columns) -> Rows:
    """Bind commitments beyond the horizon to the blocks of replicas that fill them.

        Σ_{p ∈ members[l]} committed_nodes[p] + max_t owned_nodes[m,t] · level_used[l]
            ≤ Σ_{g ∈ firm groups[m]} Σ_b ⌈ gpus[g] · up[c,b, base period of (c, l)] / G[m] ⌉ ·
            replicas[g,b]    ∀ l ∈ levels

    Implied by steady_level and integrality, as several parts of a node need no more whole nodes
    together than alone. Without it the relaxed program has the part of a node that steady_level
    rounds up by, on every machine, for nothing. Nodes on both sides.
    """
    parts: list[Entries] = []
    bases = Bases(sets, columns)
    for row, level in enumerate(sets.levels):
        machine = sets.machines[level.machine]
        parts.extend(entries(row, column, 1.0) for column in outliving_nodes(columns, level))
        used = columns.level_used.at(np.array([row]))
        parts.append(entries(row, used, float(max(machine.owned))))
        for group, column, up in bases.of(row):
            nodes = np.ceil(sets.groups[group].gpus * up / machine.gpus - _SLACK)
            parts.append(entries(row, column, -nodes))
    keys = [(number,) for number in range(len(sets.levels))]
    return rows_of("steady_whole", keys, parts, upper=0.0)
