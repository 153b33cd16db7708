"""No request waits for a replica that has just been started."""

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
    row_of: dict[tuple[int, int], int] = {}
    for number, one in enumerate(sets.handovers):
        for size_class, load in enumerate(one.load_requests_per_s):
            if load > 0:
                row_of[number, size_class] = len(keys)
                keys.append((number, size_class))
    for number, (_, handover) in enumerate(stayers(sets)):
        for size_class, load in enumerate(sets.handovers[handover].load_requests_per_s):
            if load > 0:
                carried = columns.handover_requests_per_s.at(number, size_class)
                parts.append(entries(row_of[handover, size_class], carried, 1 / load))
    return rows_of("handover_load", keys, parts, lower=1.0)
