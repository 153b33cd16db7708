"""Nodes that the plan in force does not have are moved."""

import numpy as np

from solver.milp.churn import ChurnLine, churn_lines
from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns, Ints


def moved_nodes(sets: Sets, columns: Columns) -> Rows:
    """Count as moved the nodes of a line beyond the most that the plan in force has of it.

        by the hour  moved_nodes[i] ≥ on_demand_nodes[m,t] − in_force[i]    ∀ t ∈ periods, or
                     moved_nodes[i] ≥ spot_nodes[m,t] − in_force[i], line i being of machine m
        committed    moved_nodes[i] ≥ Σ_{p ∈ committed[i]} committed_nodes[p] − in_force[i]

    in_force[i] are the most nodes at one time, in the horizon, that the plan in force has of the
    line: nodes that it has at other times are not moved. Only where the policy has churn weighed
    in the plan, and there is one in force. Owned nodes are there anyway. Nodes on both sides.
    """
    keys, parts, lower = list[Key](), list[Entries](), list[float]()
    for number, line in enumerate(churn_lines(sets)):
        periods, column = _nodes(sets, columns, line)
        rows = len(keys) + np.arange(len(periods))
        parts.append(entries(rows, columns.moved_nodes.at(number), 1.0))
        parts.append(entries(rows[:, None], column, -1.0))
        keys.extend((number, period) for period in periods)
        lower.extend([0.0 - line.in_force] * len(periods))
    return rows_of("moved_nodes", keys, parts, lower=np.array(lower))


def _nodes(sets: Sets, columns: Columns, line: ChurnLine) -> tuple[list[int], Ints]:
    """Give the periods of a line's rows, and the columns of nodes that each row adds up."""
    if line.committed:
        active = sets.committed[line.committed[0]].active
        column = columns.committed_nodes.at(np.array(line.committed, dtype=np.int64))
        return [active.index(True) if True in active else 0], column[None, :]
    everywhere = np.arange(len(sets.periods))
    nodes = columns.spot_nodes if line.on_spot else columns.on_demand_nodes
    return everywhere.tolist(), nodes.at(line.machine, everywhere)[:, None]
