"""The plan costs no more than the budget."""

from broker.domain.quantities import HOURS_PER_MONTH
from solver.milp.rows import Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.spending import SPENDING
from solver.milp.variables import Columns


def budget(sets: Sets, columns: Columns) -> Rows:
    """Keep the sum of all objective terms within the budget, if the policy sets one.

        Σ terms ≤ budget_usd_per_month · horizon_h / 730

    Without what soft budgets ask for, as nobody pays that. Dollars on both sides.
    """
    policy = sets.case.workloads.policy
    if policy.budget_usd_per_month is None:
        return rows_of("budget", [], [])
    months = sets.case.workloads.horizon.hours / float(HOURS_PER_MONTH)
    limit = float(policy.budget_usd_per_month) * months
    terms = [term(sets, columns) for term in SPENDING]
    parts = [entries(0, one.column, one.usd) for one in terms]
    return rows_of("budget", [("plan",)], parts, upper=limit)
