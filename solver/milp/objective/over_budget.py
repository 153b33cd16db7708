"""What exceeding soft budgets counts as."""

import numpy as np

from solver.milp.objective.terms import TermCost
from solver.milp.sets import Sets
from solver.milp.variables import Columns, soft_budgets


def over_budget(sets: Sets, columns: Columns) -> TermCost:
    """Count each dollar over a soft budget at the budget's price, beside the dollar itself.

    Σ_{n,t} over_usd_per_usd[n] · over_usd[n,t]
    """
    budgets = soft_budgets(sets)
    prices = np.array([float(one.over_usd_per_usd or 0) for _, one in budgets])
    places = np.arange(len(budgets))[:, None]
    column = columns.over_usd.at(places, np.arange(len(sets.periods))[None, :])
    return TermCost(
        "over_budget", column.ravel(), np.repeat(prices, len(sets.periods)).astype(float)
    )
