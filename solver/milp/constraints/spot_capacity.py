"""Spot nodes hold all that runs on them."""

import numpy as np

from solver.milp.constraints.firm_capacity import replicas_and_gangs
from solver.milp.rows import Rows, entries, grid, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def spot_capacity(sets: Sets, columns: Columns) -> Rows:
    """Fit what may be interrupted into the spot nodes of each machine.

        Σ_{g ∈ spot groups[m]} gpus[g] · replicas[g,t] + Σ_{a ∈ spot options[m]} G[m] · nodes[a] ·
        gang_up[a,t] ≤ G[m] · spot_nodes[m,t]    ∀ m ∈ machines, t ∈ periods

    Nodes on both sides (divided by G).
    """
    periods = np.arange(len(sets.periods))
    parts = [
        *replicas_and_gangs(sets, columns, on_spot=True),
        *(
            entries(number * len(periods) + periods, columns.spot_nodes.at(number, periods), -1.0)
            for number in range(len(sets.machines))
        ),
    ]
    return rows_of("spot_capacity", grid(len(sets.machines), len(periods)), parts, upper=0.0)
