"""A commitment that outlives the horizon pays for itself on services alone, node by node."""

from collections.abc import Iterator

import numpy as np

from solver.milp.rows import Entries, Rows, entries, rows_of
from solver.milp.sets import Floats, Level, Sets
from solver.milp.variables import Columns, Ints, replicas_at


def steady_level(sets: Sets, columns: Columns) -> Rows:
    """Commit beyond the horizon only to what services keep up for the break-even share of time.

        Σ_{p ∈ members[l]} committed_nodes[p] + Σ_{r ∈ plan_rates[l]} steady_nodes[r]
            + max_t owned_nodes[m,t] · level_used[l]
            ≤ Σ_{g ∈ firm groups[m]} gpus[g] · replicas[g, base period of (c, l)] / G[m]
            + 1 − u[m]/G[m]    ∀ l ∈ levels

    In its base period a kind has the largest fleet that it has, or exceeds, for the break-even
    share of the horizon. Where several kinds may serve a demand, kept_replicas[g,l] stands for
    its replicas. A node that services use in part is needed whole: hence 1 − u/G, where a replica
    takes u GPUs at least, 1 or the smallest slice. Owned nodes are used first. Services go on after
    the horizon, runs end: so a run never justifies a term beyond it, and well-used nodes do not pay
    for idle ones. Nodes on both sides.
    """
    parts: list[Entries] = []
    upper = np.zeros(len(sets.levels))
    for row, level in enumerate(sets.levels):
        machine = sets.machines[level.machine]
        parts.extend(entries(row, column, 1.0) for column in outliving_nodes(columns, level))
        parts.extend(
            entries(row, column, -sets.groups[group].gpus / machine.gpus * up)
            for group, column, up in base_of(sets, columns, row, level)
        )
        used = columns.level_used.at(np.array([row]))
        parts.append(entries(row, used, float(max(machine.owned))))
        upper[row] = 1 - sets.least_gpus(level.machine) / machine.gpus
    keys = [(number,) for number in range(len(sets.levels))]
    return rows_of("steady_level", keys, parts, upper=upper)


def outliving_nodes(columns: Columns, level: Level) -> tuple[Ints, Ints]:
    """List what a level is the sum of: committed nodes, and those of savings plans."""
    members = np.array(level.members, dtype=np.int64)
    rates = np.array(level.plan_rates, dtype=np.int64)
    return columns.committed_nodes.at(members), columns.steady_nodes.at(rates)


def base_of(
    sets: Sets, columns: Columns, row: int, level: Level
) -> Iterator[tuple[int, Ints, Floats]]:
    """Give what is up in the base period: a firm group of the machine, its columns, replicas."""
    for number, group in enumerate(sets.groups):
        if group.machine != level.machine or group.on_spot:
            continue
        if sets.has_one_kind:
            kind = sets.kinds[group.kind]
            base = kind.busy_periods(sets.hours, level.breakeven_utilization)[:1]
            _, column, up = replicas_at(sets, columns, number, base)
        else:
            column, up = columns.kept_replicas.at(number, np.array([row])), np.ones(1)
        yield number, column, up
