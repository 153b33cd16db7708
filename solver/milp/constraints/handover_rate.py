"""While new replicas start, only those that were in place before answer."""

import numpy as np

from solver.milp.rows import Entries, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns, replicas_at, stayers


def handover_rate(sets: Sets, columns: Columns) -> Rows:
    """Keep what a group carries through a handover within what stays in place all along.

        Σ_{k} handover_requests_per_s[s,k] / rate[g,k] ≤ replicas[g,t]
        ∀ s = (g, h) ∈ stayers, t ∈ periods of h

    Replicas on both sides. Spares count here: for the minutes of a start they may be needed.
    """
    keys: list[tuple[object, ...]] = []
    parts: list[Entries] = []
    for number, (group, handover) in enumerate(stayers(sets)):
        rates = sets.groups[group].rates
        for period in sets.handovers[handover].periods:
            row = len(keys)
            keys.append((group, handover, period))
            for size_class, rate in enumerate(rates):
                if rate > 0:
                    carried = columns.handover_requests_per_s.at(number, size_class)
                    parts.append(entries(row, carried, 1 / rate))
            _, column, up = replicas_at(sets, columns, group, np.array([period]))
            parts.append(entries(row, column, -up))
    return rows_of("handover_rate", keys, parts, upper=np.zeros(len(keys)))
