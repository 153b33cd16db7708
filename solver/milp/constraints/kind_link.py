"""Only a chosen kind has replicas."""

import numpy as np

from solver.milp.rows import Entries, Key, Rows, entries, grid, rows_of
from solver.milp.sets import Configuration, Floats, Sets
from solver.milp.variables import Columns, in_force, replicas_at


def kind_link(sets: Sets, columns: Columns) -> Rows:
    """Let only kinds that are in force have replicas, and none that stand idle.

        Σ_{g ∈ groups[c]} replicas[g,t] ≤ replicas_alone[c,t] · used[c,t]    ∀ c ∈ kinds, t
        Σ_{c ∈ kinds[f]} Σ_{g ∈ groups[c]} replicas[g,t] ≤ max_{c ∈ kinds[f]} replicas_alone[c,t]
        ∀ f ∈ configurations of a demand with several kinds, t

    So many replicas carry the whole load of the demand alone, spares included: that is a tight
    big-M, and it keeps idle replicas from passing as use of a commitment. Kinds that differ in
    their rates alone are held to it together: to people they are one. Left out where one kind
    serves each demand: one_kind says more.
    """
    if sets.has_one_kind:
        return rows_of("kind_link", [], [])
    periods = np.arange(len(sets.periods))
    alone = np.array([kind.replicas_alone for kind in sets.kinds], dtype=float)
    together = _together(sets)
    row_of = {kind: len(sets.kinds) + row for row, kinds in enumerate(together) for kind in kinds}
    parts: list[Entries] = []
    for number, group in enumerate(sets.groups):
        position, column, up = replicas_at(sets, columns, number, periods)
        parts.append(entries(group.kind * len(periods) + position, column, up))
        if group.kind in row_of:
            parts.append(entries(row_of[group.kind] * len(periods) + position, column, up))
    for number in range(len(sets.kinds)):
        position, column = in_force(sets, columns, number, periods)
        row = number * len(periods) + position
        parts.append(entries(row, column, -alone[number][position]))
    keys: list[Key] = [*grid(len(sets.kinds), len(periods))]
    keys.extend(("together", *kinds, int(period)) for kinds in together for period in periods)
    most: list[Floats] = [np.zeros(len(sets.kinds) * len(periods))]
    most.extend(alone[list(kinds)].max(axis=0) for kinds in together)
    return rows_of("kind_link", keys, parts, upper=np.concatenate(most))


def _together(sets: Sets) -> list[tuple[int, ...]]:
    """List the kinds of each demand's configuration that comes with several rates."""
    alike: dict[tuple[int, Configuration], list[int]] = {}
    for number, kind in enumerate(sets.kinds):
        alike.setdefault((kind.demand, kind.configuration), []).append(number)
    return [tuple(kinds) for kinds in alike.values() if len(kinds) > 1]
