"""Where the policy says so, training and serving never share a node."""

import numpy as np

from broker.domain.workload import Sharing
from solver.milp.rows import Entries, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def split_pools(sets: Sets, columns: Columns) -> Rows:
    """Round what services take of a machine up to whole nodes, and keep gangs off those.

        serving_nodes[m,t] ≥ Σ_{g ∈ firm groups[m]} gpus[g] · replicas[g,t] / G[m]
        serving_nodes[m,t] + Σ_{a ∈ firm options[m]} nodes[a] · gang_up[a,t] ≤ on_demand_nodes[m,t]
        + owned_nodes[m,t] + Σ_{p ∈ active[m,t]} committed_nodes[p]    ∀ m ∈ machines, t ∈ periods

    Only under `sharing: split`. Nodes on both sides.
    """
    if sets.case.workloads.policy.sharing is not Sharing.SPLIT:
        return rows_of("split_pools", [], [])
    count, periods = len(sets.machines), np.arange(len(sets.periods))
    keys: list[tuple[object, ...]] = []
    upper = np.zeros((2, count, len(periods)))
    parts: list[Entries] = []
    for number, machine in enumerate(sets.machines):
        served = number * len(periods) + periods
        shared = (count + number) * len(periods) + periods
        upper[1, number, :] = machine.owned
        serving = columns.serving_nodes.at(number, periods)
        parts.append(entries(served, serving, -1.0))
        parts.append(entries(shared, serving, 1.0))
        parts.append(entries(shared, columns.on_demand_nodes.at(number, periods), -1.0))
    for side in ("served", "shared"):
        keys.extend((side, m, int(t)) for m in range(count) for t in periods)
    parts.extend(_served(sets, columns))
    parts.extend(_gangs_and_commitments(sets, columns, count))
    return rows_of("split_pools", keys, parts, upper=upper.ravel())


def _served(sets: Sets, columns: Columns) -> list[Entries]:
    periods = np.arange(len(sets.periods))
    return [
        entries(
            group.machine * len(periods) + periods,
            columns.replicas.at(number, periods),
            group.gpus / sets.machines[group.machine].gpus,
        )
        for number, group in enumerate(sets.groups)
        if not group.option.on_spot
    ]


def _gangs_and_commitments(sets: Sets, columns: Columns, count: int) -> list[Entries]:
    periods = np.arange(len(sets.periods))
    parts = []
    for number, option in enumerate(sets.run_options):
        if not option.option.candidate.on_spot:
            window = np.array(option.window)
            row = (count + option.machine) * len(periods) + window
            parts.append(entries(row, columns.gang_up.at(number, window), float(option.nodes)))
    for number, one in enumerate(sets.committed):
        active = periods[np.array(one.active, dtype=bool)]
        row = (count + one.machine) * len(periods) + active
        column = columns.committed_nodes.at(np.full_like(active, number))
        parts.append(entries(row, column, -1.0))
    return parts
