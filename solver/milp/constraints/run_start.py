"""Each time that a gang comes up counts as a start."""

import numpy as np

from solver.milp.rows import Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def run_start(sets: Sets, columns: Columns) -> Rows:
    """Count a start where the gang is up and was not up in the slot before.

        gang_start[a,t] ≥ gang_up[a,t] − gang_up[a,t−1]    ∀ a ∈ run options, t ∈ window[a]

    Before the window no gang is up. Slots of a window are consecutive and never merged. Left out
    where periods are added up (see `coarse`), as it links each to the next.
    """
    if sets.clusters is not None:
        return rows_of("run_start", [], [])
    keys: list[tuple[object, ...]] = []
    parts = []
    for number, option in enumerate(sets.run_options):
        window = np.array(option.window)
        row = len(keys) + np.arange(len(window))
        keys.extend((number, int(period)) for period in window)
        parts.append(entries(row, columns.gang_start.at(number, window), 1.0))
        parts.append(entries(row, columns.gang_up.at(number, window), -1.0))
        parts.append(entries(row[1:], columns.gang_up.at(number, window[:-1]), 1.0))
    return rows_of("run_start", keys, parts, lower=0.0)
