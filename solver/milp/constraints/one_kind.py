"""Under one kind a demand, its replicas are known: what carries the load of each period alone."""

import numpy as np

from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Kind, Sets
from solver.milp.variables import Columns, Ints, replicas_at


def one_kind(sets: Sets, columns: Columns) -> Rows:
    """Have a used kind carry the whole load of its demand, spot no more than its share.

        Σ_{g ∈ groups[c]} replicas[g,b] = kind_used[c]    ∀ c ∈ kinds, b ∈ blocks[c]
        Σ_{g ∈ firm groups[c]} replicas[g,t] ≥ firm_alone[c,t] · kind_used[c]
        ∀ c ∈ kinds with spot, t ∈ one period of each size of the fleet

    Only where one kind serves each demand; there it stands for all families of routing. Blocks come
    and go in one order, so while replicas start, all of the smaller of two fleets are in place,
    which is what `start_up` asks for. Rounding is in the coefficients, so that the relaxation is
    nearly as dear as the plan. Blocks, and replicas, on both sides.
    """
    if not sets.has_one_kind:
        return rows_of("one_kind", [], [])
    with_spot = {group.kind for group in sets.groups if group.on_spot}
    keys: list[Key] = []
    parts: list[Entries] = []
    first, firm = dict[int, int](), dict[int, tuple[int, Ints]]()
    for number, kind in enumerate(sets.kinds):
        first[number] = len(keys)
        keys.extend(("all", number, block) for block in range(kind.blocks))
        blocks = first[number] + np.arange(kind.blocks)
        parts.append(entries(blocks, columns.kind_used.at(number), -1.0))
        if number in with_spot:
            sizes = periods_of_sizes(kind)
            firm[number] = (len(keys), sizes)
            keys.extend(("firm", number, int(period)) for period in sizes)
            rows = firm[number][0] + np.arange(len(sizes))
            least = -np.array(kind.firm_alone, dtype=float)[sizes]
            parts.append(entries(rows, columns.kind_used.at(number), least))
    for number, group in enumerate(sets.groups):
        blocks = np.arange(sets.kinds[group.kind].blocks)
        replicas = columns.replicas.at(number, blocks)
        parts.append(entries(first[group.kind] + blocks, replicas, 1.0))
        if group.kind in firm and not group.on_spot:
            start, sizes = firm[group.kind]
            position, column, up = replicas_at(sets, columns, number, sizes)
            parts.append(entries(start + position, column, up))
    upper = np.array([0.0 if side == "all" else np.inf for side, _, _ in keys])
    return rows_of("one_kind", keys, parts, lower=0.0, upper=upper)


def periods_of_sizes(kind: Kind) -> Ints:
    """Give one period of each size of a kind's fleet in which some replicas must be firm."""
    sizes = np.array([kind.replicas_alone, kind.firm_alone])
    _, periods = np.unique(sizes, axis=1, return_index=True)
    return np.array([one for one in periods if kind.firm_alone[one] > 0], dtype=np.int64)
