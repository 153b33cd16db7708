"""Every replica of a group brings its weights, so its largest fleet counts."""

import numpy as np

from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def peak_replicas(sets: Sets, columns: Columns) -> Rows:
    """Count the most replicas that a group has at one time, where their weights are charged for.

        peak_replicas[g] ≥ replicas[g,t]    ∀ g ∈ groups with egress, t ∈ periods

    Left out where one kind serves each demand: blocks say the same. Replicas on both sides.
    """
    keys: list[Key] = []
    parts: list[Entries] = []
    periods = np.arange(len(sets.periods))
    for number, group in enumerate(sets.groups if columns.peak_replicas.size else ()):
        if group.option.egress_usd:
            rows = len(keys) + periods
            keys.extend((number, int(period)) for period in periods)
            parts.append(entries(rows, columns.peak_replicas.at(number), 1.0))
            parts.append(entries(rows, columns.replicas.at(number, periods), -1.0))
    return rows_of("peak_replicas", keys, parts, lower=0.0)
