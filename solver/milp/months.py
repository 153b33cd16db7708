"""Months of the calendar: which periods lie in which, for budgets that hold in each of them."""

from datetime import datetime

import numpy as np
import numpy.typing as npt

from broker.domain.budget import Budget
from broker.domain.horizon import Horizon
from broker.domain.workload import Workloads
from solver.milp.sets import Sets


def counts_months(workloads: Workloads) -> bool:
    """Say whether a budget holds in each month, so that no period may be in two of them."""
    return any(one.is_by_month for one in workloads.policy.budgets)


def month_at(horizon: Horizon, moment: datetime) -> int:
    """Number the month of the horizon that an instant is in, from 0.

    What is before the horizon or after it counts with the first or the last month.
    """
    starts = [start_at for start_at, _ in horizon.months()]
    return max(0, sum(start_at <= moment for start_at in starts) - 1)


def month_of_periods(sets: Sets) -> npt.NDArray[np.int64]:
    """Number the month of each period; no slot is in two, where that counts."""
    horizon = sets.case.workloads.horizon
    firsts = [horizon.start + period.slots[0] * horizon.slot for period in sets.periods]
    return np.array([month_at(horizon, first) for first in firsts], dtype=np.int64)


def rows_of_budget(sets: Sets, budget: Budget) -> int:
    """Count the rows of a budget: one for each period, or each month, or one for all."""
    if budget.is_hourly:
        return len(sets.periods)
    return len(sets.case.workloads.horizon.months()) if budget.is_by_month else 1
