"""Only the chosen option's gang is up."""

import numpy as np

from solver.milp.constraints.firm_capacity import added_up
from solver.milp.rows import Key, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def run_link(sets: Sets, columns: Columns) -> Rows:
    """Let a gang be up only where its option is used.

    gang_up[a,t] ≤ option_used[a]    ∀ a ∈ run options, t ∈ window[a]
    """
    keys: list[Key] = []
    parts = []
    spans = added_up(sets)
    for number, option in enumerate(sets.run_options):
        window = np.array(option.window)
        clusters, at, count = np.unique(spans.of[window], return_inverse=True, return_counts=True)
        row = len(keys) + np.arange(len(clusters))
        keys.extend((number, int(cluster)) for cluster in clusters)
        parts.append(entries(row[at], columns.gang_up.at(number, window), 1.0))
        used = columns.option_used.at(np.full_like(clusters, number))
        parts.append(entries(row, used, -count.astype(float)))
    return rows_of("run_link", keys, parts, upper=0.0)
