"""Where one kind of replica serves a demand, their number is known before solving."""

import numpy as np

from solver.milp.rows import Entries, Rows, entries, grid, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns, Ints


def one_kind(sets: Sets, columns: Columns) -> Rows:
    """Have a used kind carry the whole load of its demand, spot no more than its share.

        Σ_{g ∈ groups[c]} replicas[g,t] = replicas_alone[c,t] · kind_used[c]
        Σ_{g ∈ firm groups[c]} replicas[g,t] ≥ firm_alone[c,t] · kind_used[c]
        ∀ c ∈ kinds, t ∈ periods

    Only under `max_groups: 1`, where it stands for all families of routing. Rounding is in the
    coefficients, so that the relaxation is nearly as dear as the plan. Replicas on both sides.
    """
    if not sets.has_one_kind:
        return rows_of("one_kind", [], [])
    periods = np.arange(len(sets.periods))
    count = len(sets.kinds)
    parts: list[Entries] = []
    for number, kind in enumerate(sets.kinds):
        used = columns.kind_used.at(np.full_like(periods, number))
        total, firm = _rows(0, number, count, len(periods)), _rows(1, number, count, len(periods))
        parts.append(entries(total, used, -np.array(kind.replicas_alone, dtype=float)))
        parts.append(entries(firm, used, -np.array(kind.firm_alone, dtype=float)))
    for number, group in enumerate(sets.groups):
        replicas = columns.replicas.at(number, periods)
        parts.append(entries(_rows(0, group.kind, count, len(periods)), replicas, 1.0))
        if not group.on_spot:
            parts.append(entries(_rows(1, group.kind, count, len(periods)), replicas, 1.0))
    upper = np.concatenate([np.zeros(count * len(periods)), np.full(count * len(periods), np.inf)])
    keys = [("all" if side == 0 else "firm", c, t) for side, c, t in grid(2, count, len(periods))]
    return rows_of("one_kind", keys, parts, lower=0.0, upper=upper)


def _rows(side: int, kind: int, count: int, periods: int) -> Ints:
    return (side * count + kind) * periods + np.arange(periods)
