"""Only the chosen option's gang is up."""

import numpy as np

from solver.milp.rows import Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def run_link(sets: Sets, columns: Columns) -> Rows:
    """Let a gang be up only where its option is used.

    gang_up[a,t] ≤ option_used[a]    ∀ a ∈ run options, t ∈ window[a]
    """
    keys: list[tuple[object, ...]] = []
    parts = []
    for number, option in enumerate(sets.run_options):
        window = np.array(option.window)
        row = len(keys) + np.arange(len(window))
        keys.extend((number, int(period)) for period in window)
        parts.append(entries(row, columns.gang_up.at(number, window), 1.0))
        used = columns.option_used.at(np.full_like(window, number))
        parts.append(entries(row, used, -1.0))
    return rows_of("run_link", keys, parts, upper=0.0)
