"""Spot nodes hold all that runs on them."""

from solver.milp.constraints.firm_capacity import added_up, capacity_entries
from solver.milp.rows import Rows, grid, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def spot_capacity(sets: Sets, columns: Columns) -> Rows:
    """Fit what may be interrupted into the spot nodes of each machine.

        Σ_{g ∈ spot groups[m]} gpus[g] · replicas[g,t] + Σ_{a ∈ spot options[m]} G[m] · nodes[a] ·
        gang_up[a,t] ≤ G[m] · spot_nodes[m,t]    ∀ m ∈ machines, t ∈ periods

    Nodes on both sides (divided by G).
    """
    parts = capacity_entries(sets, columns.spot_nodes, columns, on_spot=True)
    keys = grid(len(sets.machines), len(added_up(sets).count))
    return rows_of("spot_capacity", keys, parts, upper=0.0)
