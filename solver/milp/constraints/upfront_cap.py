"""No more cash up front than the policy allows."""

import numpy as np

from broker.domain.savings import COMMITMENT_STEP_USD
from solver.milp.rows import Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def upfront_cap(sets: Sets, columns: Columns) -> Rows:
    """Keep the sum of upfront payments within the policy's limit, if it sets one.

        Σ_p upfront_usd[p] · committed_nodes[p] + Σ_s 0.001 · upfront_h[s] · plan_steps[s]
            ≤ max_upfront_usd

    A capacity block is paid whole in advance; of a savings plan, the hours of its commitment that
    are due at the start. Dollars on both sides.
    """
    limit = sets.case.workloads.policy.commitments.max_upfront_usd
    if limit is None or not (sets.committed or sets.plans):
        return rows_of("upfront_cap", [], [])
    upfront = np.array([one.upfront_usd_per_node for one in sets.committed])
    column = columns.committed_nodes.at(np.arange(len(sets.committed)))
    promised = columns.plan_steps.at(np.arange(len(sets.plans)))
    due = np.array([float(COMMITMENT_STEP_USD) * one.upfront_h for one in sets.plans])
    parts = [entries(0, column, upfront), entries(0, promised, due)]
    return rows_of("upfront_cap", [("plan",)], parts, upper=float(limit))
