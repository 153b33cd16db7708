"""Where the policy says so, training and serving never share a node."""

import numpy as np

from broker.domain.policy import Sharing
from solver.milp.rows import Entries, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns, Ints, replicas_at

_SERVED, _TRAINED, _SET_APART = 0, 1, 2


def split_pools(sets: Sets, columns: Columns) -> Rows:
    """Set nodes that stay apart for runs, and keep services and gangs on their own.

        served     Σ_{g ∈ firm groups[m]} gpus[g] · replicas[g,t] / G[m] ≤ serving_nodes[m,t]
                   + owned_nodes[m,t] + Σ_{p ∈ active[m,t]} committed_nodes[p]
                   + Σ_{q ∈ service blocks[m,t]} committed_nodes[q] − run_nodes[m]
        trained    Σ_{a ∈ firm options[m]} nodes[a] · gang_up[a,t] ≤ on_demand_nodes[m,t]
                   − serving_nodes[m,t] + run_nodes[m] + Σ_{q ∈ run blocks[m,t]} committed_nodes[q]
        set_apart  run_nodes[m] ≤ owned_nodes[m,t] + Σ_{p ∈ active[m,t]} committed_nodes[p]
        rented     serving_nodes[m,t] ≤ on_demand_nodes[m,t]    ∀ m ∈ machines, t ∈ periods

    Only under `sharing: split`. `serving_nodes` are rented for services, `run_nodes` committed or
    owned and kept for runs over the whole horizon. A capacity block is booked for one of the two
    sides from the start: p counts commitments without blocks. Nodes on both sides.
    """
    if sets.case.workloads.policy.sharing is not Sharing.SPLIT:
        return rows_of("split_pools", [], [])
    owned = np.array([machine.owned for machine in sets.machines], dtype=float)
    nothing = np.zeros_like(owned)
    sides = {"served": owned, "trained": nothing, "set_apart": owned, "rented": nothing}
    keys = [
        (side, machine, period)
        for side in sides
        for machine in range(len(sets.machines))
        for period in range(len(sets.periods))
    ]
    parts = [
        *_rented(sets, columns),
        *_served(sets, columns),
        *_trained(sets, columns),
        *_committed(sets, columns),
    ]
    upper = np.concatenate([bound.ravel() for bound in sides.values()])
    return rows_of("split_pools", keys, parts, upper=upper)


def _row(sets: Sets, side: int, machine: int) -> Ints:
    periods = np.arange(len(sets.periods))
    return (side * len(sets.machines) + machine) * len(periods) + periods


def _rented(sets: Sets, columns: Columns) -> list[Entries]:
    periods = np.arange(len(sets.periods))
    parts = []
    for number in range(len(sets.machines)):
        serving = columns.serving_nodes.at(number, periods)
        rented = columns.on_demand_nodes.at(number, periods)
        apart = columns.run_nodes.at(np.full_like(periods, number))
        parts.extend(
            [
                entries(_row(sets, 0, number), serving, -1.0),
                entries(_row(sets, 0, number), apart, 1.0),
                entries(_row(sets, 1, number), rented, -1.0),
                entries(_row(sets, 1, number), serving, 1.0),
                entries(_row(sets, 1, number), apart, -1.0),
                entries(_row(sets, 2, number), apart, 1.0),
                entries(_row(sets, 3, number), serving, 1.0),
                entries(_row(sets, 3, number), rented, -1.0),
            ]
        )
    return parts


def _served(sets: Sets, columns: Columns) -> list[Entries]:
    periods = np.arange(len(sets.periods))
    parts = []
    for number, group in enumerate(sets.groups):
        if not group.on_spot:
            nodes = group.gpus / sets.machines[group.machine].gpus
            position, column, up = replicas_at(sets, columns, number, periods)
            parts.append(entries(_row(sets, 0, group.machine)[position], column, nodes * up))
    return parts


def _trained(sets: Sets, columns: Columns) -> list[Entries]:
    parts = []
    for number, option in enumerate(sets.run_options):
        if not option.option.candidate.on_spot:
            window = np.array(option.window)
            row = _row(sets, 1, option.machine)[window]
            parts.append(entries(row, columns.gang_up.at(number, window), float(option.nodes)))
    return parts


def _committed(sets: Sets, columns: Columns) -> list[Entries]:
    parts: list[Entries] = []
    for number, one in enumerate(sets.committed):
        active = np.flatnonzero(np.array(one.active, dtype=bool))
        nodes = columns.committed_nodes.at(np.full_like(active, number))
        sides = [_SERVED, _SET_APART]
        if one.block is not None:
            sides = [_TRAINED if one.block.for_runs else _SERVED]
        parts.extend(entries(_row(sets, side, one.machine)[active], nodes, -1.0) for side in sides)
    return parts
