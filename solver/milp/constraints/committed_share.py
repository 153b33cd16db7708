"""So much of the firm work is committed, not rented."""

import numpy as np

from solver.milp.constraints.idle_nodes import filled_nodes
from solver.milp.rows import Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def committed_share(sets: Sets, columns: Columns) -> Rows:
    """Rent no more firm nodes outside all commitments than the policy's share leaves.

        Σ_{m,t} hours[t] · on_demand_nodes[m,t] − Σ_{r,t} hours[t] · covered_nodes[r,t]
            ≤ (1 − min_committed_share) · Σ_{m,t} hours[t] · filled_nodes[m,t]

    filled_nodes[m,t] are those that firm replicas and gangs fill, parts of a node as parts. So what
    stands idle counts for no share, and a node that is rented for a part of it counts whole. Owned
    nodes are committed ones. Node-hours on both sides.

    What savings plans cover is taken as the program does it; where a plan covers several machines,
    the order of its provider may cover fewer node-hours, and the check then refuses the plan.
    """
    share = sets.case.workloads.policy.coverage.min_committed_share
    if not share:
        return rows_of("committed_share", [], [])
    machines = np.arange(len(sets.machines))[:, None]
    periods = np.arange(len(sets.periods))[None, :]
    hours = np.broadcast_to(sets.hours, (len(sets.machines), len(sets.periods)))
    rented = columns.on_demand_nodes.at(machines, periods)
    parts = [entries(0, rented, hours)]
    parts.extend(
        entries(0, columns.covered_nodes.at(rate, periods[0]), -sets.hours)
        for rate in range(len(sets.plan_rates))
    )
    for machine in range(len(sets.machines)):
        for period, column, nodes in filled_nodes(sets, columns, machine):
            parts.append(entries(0, column, -(1 - share) * sets.hours[period] * nodes))
    return rows_of("committed_share", [("plan",)], parts, upper=0.0)
