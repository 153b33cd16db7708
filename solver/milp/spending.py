"""The terms of the objective that are bills: what budgets are for."""

from solver.milp.objective import TERMS
from solver.milp.objective.churn import churn
from solver.milp.objective.over_budget import over_budget

SPENDING = tuple(term for term in TERMS if term not in (over_budget, churn))
