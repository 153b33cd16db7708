"""Only a chosen kind has replicas."""

import numpy as np

from solver.milp.rows import Entries, Rows, entries, grid, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def kind_link(sets: Sets, columns: Columns) -> Rows:
    """Let only kinds that are used have replicas, and none that stand idle.

        Σ_{g ∈ groups[c]} replicas[g,t] ≤ replicas_alone[c,t] · kind_used[c]    ∀ c ∈ kinds, t

    So many replicas carry the whole load of the demand alone, spares included: that is a tight
    big-M, and it keeps idle replicas from passing as use of a commitment. Left out under
    `max_groups: 1`, where one_kind says more.
    """
    if sets.has_one_kind:
        return rows_of("kind_link", [], [])
    periods = np.arange(len(sets.periods))
    parts: list[Entries] = []
    for number, group in enumerate(sets.groups):
        row = group.kind * len(periods) + periods
        parts.append(entries(row, columns.replicas.at(number, periods), 1.0))
    for number, kind in enumerate(sets.kinds):
        used = columns.kind_used.at(np.full_like(periods, number))
        alone = np.array(kind.replicas_alone, dtype=float)
        parts.append(entries(number * len(periods) + periods, used, -alone))
    return rows_of("kind_link", grid(len(sets.kinds), len(periods)), parts, upper=0.0)
