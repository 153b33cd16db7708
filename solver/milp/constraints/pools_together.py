"""Prompts on one pool need answers on the other, in one place and in one format."""

from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def pools_together(sets: Sets, columns: Columns) -> Rows:
    """Use a pool that only prefills with one that only decodes, and beside no other.

        Σ_{c ∈ prefill kinds[q]} kind_used[c] = Σ_{c ∈ decode kinds[q]} kind_used[c]
        ∀ d ∈ demands of disaggregated services, q ∈ pool classes[d]

    A class has one place, fabric, model, number format and class of link: what both pools must
    share. With kind_limit, a demand is served by one kind that does both, or by one of each pool of
    one class. Each pool carries the whole load, as any kind does. Kinds on both sides.
    """
    keys: list[Key] = []
    parts: list[Entries] = []
    row_of: dict[Key, int] = {}
    for number, kind in enumerate(sets.kinds):
        pool = kind.configuration.pool
        if pool is None:
            continue
        demand = sets.demands[kind.demand]
        key = (demand.service.name, demand.user_region, *map(str, pool))
        if key not in row_of:
            row_of[key] = len(keys)
            keys.append(key)
        sign = 1.0 if demand.is_prompts else -1.0
        parts.append(entries(row_of[key], columns.kind_used.at(number), sign))
    return rows_of("pools_together", keys, parts, lower=0.0, upper=0.0)
