"""A level of commitments counts as filled only while services need all of its nodes."""

import numpy as np

from solver.milp.rows import Entries, Rows, entries, grid, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def steady_level(sets: Sets, columns: Columns) -> Rows:
    """Call a level filled in a period only where services need its nodes beside the owned ones.

        Σ_{p ∈ members[l]} committed_nodes[p] + owned_nodes[m,t] − 1 + 1/G[m]
            ≤ Σ_{g ∈ firm groups[m]} gpus[g] · replicas[g,t] / G[m]
            + (most_nodes[l] + owned_nodes[m,t]) · (1 − level_filled[l,t])
        ∀ l ∈ levels, t ∈ periods

    A node that services use in part is needed whole: hence 1 − 1/G. Nodes on both sides.
    """
    periods = np.arange(len(sets.periods))
    parts: list[Entries] = []
    upper = np.zeros((len(sets.levels), len(periods)))
    for number, level in enumerate(sets.levels):
        machine = sets.machines[level.machine]
        owned = np.array(machine.owned, dtype=float)
        slack = level.most_nodes + owned
        row = number * len(periods) + periods
        parts.append(entries(row, columns.level_filled.at(number, periods), slack))
        for member in level.members:
            nodes = columns.committed_nodes.at(np.full_like(periods, member))
            parts.append(entries(row, nodes, 1.0))
        parts.extend(
            entries(row, columns.replicas.at(at, periods), -group.gpus / machine.gpus)
            for at, group in enumerate(sets.groups)
            if group.machine == level.machine and not group.on_spot
        )
        upper[number] = slack - owned + 1 - 1 / machine.gpus
    keys = grid(len(sets.levels), len(periods))
    return rows_of("steady_level", keys, parts, upper=upper.ravel())
