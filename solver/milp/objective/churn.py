"""What nodes count as that the plan in force does not have."""

import numpy as np

from solver.milp.objective.terms import TermCost
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def churn(sets: Sets, columns: Columns) -> TermCost:
    """Count each moved node at the policy's price of one; nobody is paid it.

    Σ_i usd_per_moved_node · moved_nodes[i]
    """
    usd = float(sets.case.workloads.policy.churn.usd_per_moved_node)
    lines = np.arange(columns.moved_nodes.size)
    return TermCost("churn", columns.moved_nodes.at(lines), np.full(len(lines), usd))
