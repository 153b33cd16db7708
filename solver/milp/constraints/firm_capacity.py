"""Firm nodes hold all that runs on them."""

import numpy as np

from solver.milp.clusters import Clusters
from solver.milp.rows import Entries, Rows, entries, grid, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Block, Columns

BY_CLUSTER = frozenset({"firm_capacity", "spot_capacity", "run_link"})
"""Families whose rows may be added up over the periods of a cluster as they are made."""


def firm_capacity(sets: Sets, columns: Columns) -> Rows:
    """Fit replicas and gangs of each machine into its firm nodes, committed ones shared by all.

        Σ_{g ∈ firm groups[m]} gpus[g] · replicas[g,t] + Σ_{a ∈ firm options[m]} G[m] · nodes[a] ·
        gang_up[a,t] ≤ G[m] · (on_demand_nodes[m,t] + owned_nodes[m,t] + Σ_{p ∈ active[m,t]}
        committed_nodes[p])    ∀ m ∈ machines, t ∈ periods

    Nodes on both sides (divided by G). Replicas take 1, 2, 4 or 8 GPUs that divide G, or a slice of
    1/2 or 1/4 of one, so packing by volume is exact.
    """
    parts = capacity_entries(sets, columns.on_demand_nodes, columns, on_spot=False)
    spans = added_up(sets)
    for number, one in enumerate(sets.committed):
        active = spans.summed(np.array(one.active, dtype=float))
        cluster = np.flatnonzero(active)
        column = columns.committed_nodes.at(np.full_like(cluster, number))
        row = one.machine * len(spans.count) + cluster
        parts.append(entries(row, column, -active[cluster]))
    owned = np.array([machine.owned for machine in sets.machines], dtype=float)
    upper = spans.summed(owned.reshape(len(sets.machines), len(sets.periods))).ravel()
    keys = grid(len(sets.machines), len(spans.count))
    return rows_of("firm_capacity", keys, parts, upper=upper)


def added_up(sets: Sets) -> Clusters:
    """Give the clusters over whose periods the rows of `BY_CLUSTER` are added up."""
    return sets.clusters or Clusters.single(len(sets.periods))


def capacity_entries(sets: Sets, nodes: Block, columns: Columns, *, on_spot: bool) -> list[Entries]:
    """Give what the workloads take of the machines, and the nodes by the hour, in nodes.

    The row of machine m is m·C + c in cluster c of C; each period is one, or those of a cluster
    are added up.
    """
    spans, periods = added_up(sets), np.arange(len(sets.periods))
    count = len(spans.count)
    parts = []
    ups = [spans.summed(kind.up()) for kind in sets.kinds]
    for number, group in enumerate(sets.groups):
        if group.on_spot is on_spot:
            share, up = group.gpus / sets.machines[group.machine].gpus, ups[group.kind]
            block, cluster = np.nonzero(up)
            column = columns.replicas.at(number, block)
            row = group.machine * count + cluster
            parts.append(entries(row, column, share * up[block, cluster]))
    for number, option in enumerate(sets.run_options):
        if option.option.candidate.on_spot is on_spot:
            window = np.array(option.window)
            row = option.machine * count + spans.of[window]
            parts.append(entries(row, columns.gang_up.at(number, window), float(option.nodes)))
    for number in range(len(sets.machines)):
        row = number * count + spans.of
        parts.append(entries(row, nodes.at(number, periods), -1.0))
    return parts
