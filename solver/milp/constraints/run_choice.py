"""Every run is done, once, as one gang."""

import numpy as np

from solver.milp.rows import Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def run_choice(sets: Sets, columns: Columns) -> Rows:
    """Do each run on one option: one machine in one zone, one node count, firm or spot.

    Σ_{a ∈ options[j]} option_used[a] = 1    ∀ j ∈ runs

    Runs are training runs, batch jobs that are done once, and each day of a daily batch job. The
    nodes of a batch job are full of replicas that need no fabric between them, yet all are of one
    machine too: with fewer options to choose from the plan is proven sooner.
    """
    keys = [(number,) for number in range(len(sets.runs))]
    run = np.array([option.run for option in sets.run_options], dtype=np.int64)
    used = columns.option_used.at(np.arange(len(sets.run_options)))
    return rows_of("run_choice", keys, [entries(run, used, 1.0)], lower=1.0, upper=1.0)
