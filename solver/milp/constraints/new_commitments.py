"""No more is committed to at once than a rung of the buyer's ladder."""

import numpy as np

from broker.domain.savings import COMMITMENT_STEP_USD
from solver.milp.rows import Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def new_commitments(sets: Sets, columns: Columns) -> Rows:
    """Keep what all new commitments cost an hour within the policy's limit, if it sets one.

        Σ_{p no block} (usd_per_hour[p] + upfront_usd[p] / term_h[p]) · committed_nodes[p]
            + Σ_s 0.001 · plan_steps[s] ≤ max_new_usd_per_hour

    All of them begin with the horizon, so that is what a month's plan adds. Capacity blocks end by
    themselves and do not count, nor does what is owned. Dollars an hour on both sides.
    """
    limit = sets.case.workloads.policy.commitments.max_new_usd_per_hour
    counted = [at for at, one in enumerate(sets.committed) if one.block is None]
    if limit is None or not (counted or sets.plans):
        return rows_of("new_commitments", [], [])
    usd = [float(sets.committed[at].offer.effective_usd_per_hour) for at in counted]
    column = columns.committed_nodes.at(np.array(counted, dtype=np.int64))
    promised = columns.plan_steps.at(np.arange(len(sets.plans)))
    step = float(COMMITMENT_STEP_USD)
    parts = [entries(0, column, np.array(usd)), entries(0, promised, step)]
    return rows_of("new_commitments", [("plan",)], parts, upper=float(limit))
