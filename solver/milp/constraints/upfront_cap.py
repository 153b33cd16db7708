"""No more cash up front than the policy allows."""

import numpy as np

from solver.milp.rows import Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def upfront_cap(sets: Sets, columns: Columns) -> Rows:
    """Keep the sum of upfront payments within the policy's limit, if it sets one.

        Σ_p upfront_usd[p] · committed_nodes[p] ≤ max_upfront_usd

    A capacity block is paid whole in advance. Dollars on both sides.
    """
    limit = sets.case.workloads.policy.commitments.max_upfront_usd
    if limit is None or not sets.committed:
        return rows_of("upfront_cap", [], [])
    upfront = np.array([one.upfront_usd_per_node for one in sets.committed])
    column = columns.committed_nodes.at(np.arange(len(sets.committed)))
    return rows_of("upfront_cap", [("plan",)], [entries(0, column, upfront)], upper=float(limit))
