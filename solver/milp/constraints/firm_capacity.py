"""Firm nodes hold all that runs on them."""

import numpy as np

from solver.milp.rows import Entries, Rows, entries, grid, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns, replicas_at


def firm_capacity(sets: Sets, columns: Columns) -> Rows:
    """Fit replicas and gangs of each machine into its firm nodes, committed ones shared by all.

        Σ_{g ∈ firm groups[m]} gpus[g] · replicas[g,t] + Σ_{a ∈ firm options[m]} G[m] · nodes[a] ·
        gang_up[a,t] ≤ G[m] · (on_demand_nodes[m,t] + owned_nodes[m,t] + Σ_{p ∈ active[m,t]}
        committed_nodes[p])    ∀ m ∈ machines, t ∈ periods

    Nodes on both sides (divided by G). Replicas take 1, 2, 4 or 8 GPUs that divide G, or a slice of
    1/2 or 1/4 of one, so packing by volume is exact.
    """
    periods = np.arange(len(sets.periods))
    parts = [
        *replicas_and_gangs(sets, columns, on_spot=False),
        *(
            entries(
                number * len(periods) + periods, columns.on_demand_nodes.at(number, periods), -1.0
            )
            for number in range(len(sets.machines))
        ),
    ]
    for number, one in enumerate(sets.committed):
        active = periods[np.array(one.active, dtype=bool)]
        column = columns.committed_nodes.at(np.full_like(active, number))
        parts.append(entries(one.machine * len(periods) + active, column, -1.0))
    owned = np.array([machine.owned for machine in sets.machines], dtype=float).ravel()
    return rows_of("firm_capacity", grid(len(sets.machines), len(periods)), parts, upper=owned)


def replicas_and_gangs(sets: Sets, columns: Columns, *, on_spot: bool) -> list[Entries]:
    """Give what the workloads take of each machine and period, in nodes (row m·T + t)."""
    periods = np.arange(len(sets.periods))
    parts = []
    for number, group in enumerate(sets.groups):
        if group.on_spot is on_spot:
            nodes = group.gpus / sets.machines[group.machine].gpus
            position, column, up = replicas_at(sets, columns, number, periods)
            parts.append(entries(group.machine * len(periods) + position, column, nodes * up))
    for number, option in enumerate(sets.run_options):
        if option.option.candidate.on_spot is on_spot:
            window = np.array(option.window)
            row = option.machine * len(periods) + window
            parts.append(entries(row, columns.gang_up.at(number, window), float(option.nodes)))
    return parts
