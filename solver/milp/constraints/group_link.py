"""Only a chosen group has replicas."""

import numpy as np

from solver.milp.rows import Entries, Rows, entries, grid, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def group_link(sets: Sets, columns: Columns) -> Rows:
    """Let only groups that are used have replicas.

        replicas[g,t] ≤ most_replicas[g,t] · group_used[g]    ∀ g ∈ groups, t ∈ periods

    So many replicas carry the whole load of the demand alone, spares included: that is a tight
    big-M, and it keeps idle replicas from passing as use of a commitment.
    """
    periods = np.arange(len(sets.periods))
    parts: list[Entries] = []
    for number, group in enumerate(sets.groups):
        row = number * len(periods) + periods
        parts.append(entries(row, columns.replicas.at(number, periods), 1.0))
        used = columns.group_used.at(np.full_like(periods, number))
        parts.append(entries(row, used, -np.array(group.most_replicas, dtype=float)))
    return rows_of("group_link", grid(len(sets.groups), len(periods)), parts, upper=0.0)
