"""No request waits for a replica that has just been started."""

from collections import defaultdict

import numpy as np

from solver.milp.rows import Entries, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns, stayers


def handover_load(sets: Sets, columns: Columns) -> Rows:
    """Carry through each handover what all of its periods ask for.

        Σ_{s = (g, h)} handover_requests_per_s[s,k] ≥ load_requests_per_s[h,k]
        ∀ h ∈ handovers, k ∈ size_classes

    The load of a handover is the least of its periods', class by class: the load of a slot counts
    `start_up` ahead, so that is what the first `start_up` of the last period can bring. Requests/s
    on both sides, divided by the load of the row.
    """
    keys: list[tuple[object, ...]] = []
    parts: list[Entries] = []
    pairs_of: dict[int, list[int]] = defaultdict(list)
    for number, (_, handover) in enumerate(stayers(sets)):
        pairs_of[handover].append(number)
    for handover, one in enumerate(sets.handovers):
        loads = np.array(one.load_requests_per_s)
        asked = np.flatnonzero(loads > 0)
        row = len(keys) + np.arange(len(asked))
        keys.extend((handover, size_class) for size_class in asked.tolist())
        pairs = np.array(pairs_of[handover], dtype=np.int64)
        carried = columns.handover_requests_per_s.at(pairs[:, None], asked)
        parts.append(entries(row, carried, 1 / loads[asked]))
    return rows_of("handover_load", keys, parts, lower=1.0)
