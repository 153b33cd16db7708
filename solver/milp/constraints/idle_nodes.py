"""Committed nodes that no work fills are idle."""

from collections.abc import Iterator

import numpy as np

from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Floats, Sets
from solver.milp.variables import Columns, Ints, replicas_at, watched_machines


def idle_nodes(sets: Sets, columns: Columns) -> Rows:
    """Count as idle what is committed of a machine beyond what firm work fills there.

        idle_nodes[i,t] ≥ Σ_{p ∈ active[m,t]} committed_nodes[p] − filled_nodes[m,t]
        ∀ watched machines m = i, t ∈ periods

    filled_nodes[m,t] = Σ_{g firm on m} gpus[g] · replicas[g,t] / G[m] + Σ_{a firm on m} nodes[a] ·
    gang_up[a,t]. Work fills committed nodes before owned and rented ones. Nodes on both sides.
    """
    keys: list[Key] = []
    parts: list[Entries] = []
    everywhere = np.arange(len(sets.periods))
    for number, machine in enumerate(watched_machines(sets)):
        start = len(keys)
        idle = columns.idle_nodes.at(number, everywhere)
        parts.append(entries(everywhere + start, idle, 1.0))
        for at, one in enumerate(sets.committed):
            if one.machine == machine:
                active = np.flatnonzero(np.array(one.active, dtype=bool))
                parts.append(entries(active + start, columns.committed_nodes.at(at), -1.0))
        parts.extend(
            entries(period + start, column, nodes)
            for period, column, nodes in filled_nodes(sets, columns, machine)
        )
        keys.extend((machine, int(period)) for period in everywhere)
    return rows_of("idle_nodes", keys, parts, lower=0.0)


def filled_nodes(sets: Sets, columns: Columns, machine: int) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Give what fills firm nodes of a machine: periods, columns, and the nodes that one fills."""
    everywhere = np.arange(len(sets.periods))
    for number, group in enumerate(sets.groups):
        if group.machine == machine and not group.on_spot:
            period, column, up = replicas_at(sets, columns, number, everywhere)
            yield period, column, up * group.gpus / sets.machines[machine].gpus
    for number, option in enumerate(sets.run_options):
        if option.machine == machine and not option.option.candidate.on_spot:
            window = np.array(option.window, dtype=np.int64)
            nodes = np.full(len(window), float(option.nodes))
            yield window, columns.gang_up.at(number, window), nodes
