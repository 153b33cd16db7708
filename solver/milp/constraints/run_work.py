"""The work is finished, starts paid for."""

import numpy as np

from solver.milp.rows import Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def run_work(sets: Sets, columns: Columns) -> Rows:
    """Finish the run's tokens in the time that the gang is up, less what each start takes.

        Σ_{t ∈ window} (slot_s · gang_up[a,t] − startup_s[a] · gang_start[a,t])
            ≥ tokens[j] / tokens_per_s[a] · option_used[a]    ∀ a ∈ run options

    Hours on both sides.
    """
    parts = []
    for number, option in enumerate(sets.run_options):
        candidate = option.option.candidate
        window = np.array(option.window)
        hours = np.array([sets.periods[period].slot_h for period in window])
        parts.append(entries(number, columns.gang_up.at(number, window), hours))
        startup_h = candidate.startup_s / 3600
        parts.append(entries(number, columns.gang_start.at(number, window), -startup_h))
        work_h = sets.runs[option.run].tokens / candidate.tokens_per_s / 3600
        used = columns.option_used.at(np.array([number]))
        parts.append(entries(number, used, -work_h))
    keys = [(number,) for number in range(len(sets.run_options))]
    return rows_of("run_work", keys, parts, lower=0.0)
