"""What savings plans promise."""

import numpy as np

from broker.domain.savings import COMMITMENT_STEP_USD
from solver.milp.objective.terms import TermCost
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def savings_plans(sets: Sets, columns: Columns) -> TermCost:
    """Charge what a savings plan promises for every hour of its term in the horizon, used or not.

    Σ_s 0.001 · charged_h[s] · plan_steps[s]
    """
    usd = np.array([float(COMMITMENT_STEP_USD) * one.charged_h for one in sets.plans], dtype=float)
    return TermCost("savings_plans", columns.plan_steps.at(np.arange(len(usd))), usd)
