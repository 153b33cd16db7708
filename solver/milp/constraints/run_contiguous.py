"""What cannot be restarted runs in one piece."""

import numpy as np

from solver.milp.rows import Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def run_contiguous(sets: Sets, columns: Columns) -> Rows:
    """Start a run that is not restartable at most once.

    Σ_{t ∈ window} gang_start[a,t] ≤ option_used[a]    ∀ a ∈ options of runs not restartable
    """
    keys: list[tuple[object, ...]] = []
    parts = []
    for number, option in enumerate(sets.run_options):
        if sets.runs[option.run].restartable:
            continue
        window = np.array(option.window)
        parts.append(entries(len(keys), columns.gang_start.at(number, window), 1.0))
        used = columns.option_used.at(np.array([number]))
        parts.append(entries(len(keys), used, -1.0))
        keys.append((number,))
    return rows_of("run_contiguous", keys, parts, upper=0.0)
