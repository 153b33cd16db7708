"""No more nodes in capacity blocks at one time than are sold."""

from collections import defaultdict

import numpy as np

from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns

_SEVERAL = 2


def block_limit(sets: Sets, columns: Columns) -> Rows:
    """Keep the nodes of all windows that are booked of one offer within its limit, at every time.

        Σ_{p ∈ blocks[o] held in t} committed_nodes[p] ≤ most_nodes[o]
        ∀ offers o with a limit, t ∈ periods in which several of its windows are held

    Where one window is held alone, the bound of its column says the same. Nodes on both sides.
    """
    windows: dict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(sets.committed):
        if one.block is not None:
            windows[one.offer.key].append(number)
    keys: list[Key] = []
    parts: list[Entries] = []
    upper: list[float] = []
    for key, own in windows.items():
        limits = sets.committed[own[0]].offer.limits
        known = [one for one in (limits.stock_nodes, limits.max_nodes) if one is not None]
        for period in range(len(sets.periods)) if known else ():
            held = [number for number in own if sets.committed[number].held[period]]
            if len(held) >= _SEVERAL:
                nodes = columns.committed_nodes.at(np.array(held))
                parts.append(entries(len(keys), nodes, 1.0))
                keys.append((key, period))
                upper.append(float(min(known)))
    return rows_of("block_limit", keys, parts, upper=np.array(upper))
