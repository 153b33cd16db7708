"""Commitments are used for a part of their time."""

import numpy as np

from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns, watched_machines


def commitment_use(sets: Sets, columns: Columns) -> Rows:
    """Fill the committed nodes of each machine for the part of their time that is asked for.

        Σ_t hours[t] · idle_nodes[i,t] ≤ (1 − min_utilization) · Σ_p active_h[p] ·
            committed_nodes[p]    ∀ watched machines m = i, p on m

    All commitments of a machine are taken together. Savings plans are promised only for nodes that
    services keep up for that part of the time (`savings_steady`). Node-hours on both sides.
    """
    least = sets.case.workloads.policy.coverage.min_commitment_utilization
    keys: list[Key] = []
    parts: list[Entries] = []
    everywhere = np.arange(len(sets.periods))
    for number, machine in enumerate(watched_machines(sets)):
        parts.append(entries(len(keys), columns.idle_nodes.at(number, everywhere), sets.hours))
        for at, one in enumerate(sets.committed):
            if one.machine == machine:
                nodes = columns.committed_nodes.at(np.array([at]))
                parts.append(entries(len(keys), nodes, -(1 - least) * one.active_h))
        keys.append((machine,))
    return rows_of("commitment_use", keys, parts, upper=0.0)
