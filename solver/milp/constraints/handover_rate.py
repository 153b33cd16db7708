"""While new replicas start, only those that were in place before answer."""

from collections import defaultdict

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
    pairs = stayers(sets)
    periods_of = [sets.handovers[handover].periods for _, handover in pairs]
    counts = np.array([len(one) for one in periods_of], dtype=np.int64)
    first_row = np.cumsum(counts) - counts
    keys = [
        (group, handover, period)
        for (group, handover), periods in zip(pairs, periods_of, strict=True)
        for period in periods
    ]
    pairs_of: dict[int, list[int]] = defaultdict(list)
    for number, (group, _) in enumerate(pairs):
        pairs_of[group].append(number)
    parts: list[Entries] = []
    for group, numbers in pairs_of.items():
        row = np.concatenate([first_row[one] + np.arange(counts[one]) for one in numbers])
        periods = np.concatenate([periods_of[one] for one in numbers])
        rates = np.array(sets.groups[group].rates)
        able = np.flatnonzero(rates > 0)
        pair = np.repeat(numbers, counts[numbers])
        carried = columns.handover_requests_per_s.at(pair[:, None], able)
        parts.append(entries(row[:, None], carried, 1 / rates[able]))
        position, column, up = replicas_at(sets, columns, group, periods)
        parts.append(entries(row[position], column, -up))
    return rows_of("handover_rate", keys, parts, upper=np.zeros(len(keys)))
