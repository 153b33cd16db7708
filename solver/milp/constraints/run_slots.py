"""A used option works long enough; an unused one not at all."""

import numpy as np

from solver.milp.rows import Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def run_slots(sets: Sets, columns: Columns) -> Rows:
    """Give a used option at least the slots that finish the work after a single start.

        Σ_{t ∈ window} gang_up[a,t] ≥ slots_needed[a] · option_used[a]    ∀ a ∈ run options

    Implied by run_work and integrality; it makes the relaxation as dear as whole slots are.
    """
    parts = []
    for number, option in enumerate(sets.run_options):
        window = np.array(option.window)
        parts.append(entries(number, columns.gang_up.at(number, window), 1.0))
        used = columns.option_used.at(np.array([number]))
        parts.append(entries(number, used, -float(option.slots_needed)))
    keys = [(number,) for number in range(len(sets.run_options))]
    return rows_of("run_slots", keys, parts, lower=0.0)
