"""What a solver claims is held against the plan that is known."""

import math

import numpy as np

from solver.milp.optimize import believed
from solver.milp.solve import Outcome, Solution

PLAN = Solution(Outcome.OPTIMAL, np.ones(2), 1614.28)
NONE = Solution(Outcome.INFEASIBLE, np.zeros(0), 1614.28)


def test_a_bound_above_a_plan_proves_nothing() -> None:
    for known_usd in (251.32, 1614.0):
        assert believed(PLAN, known_usd).outcome is Outcome.FEASIBLE
        assert believed(PLAN, known_usd).bound_usd == 0
        assert believed(NONE, known_usd).outcome is Outcome.NO_SOLUTION


def test_a_bound_up_to_a_plan_is_taken() -> None:
    for known_usd in (math.inf, 1700.0, 1614.28, 1614.2799):
        assert believed(PLAN, known_usd) is PLAN
        assert believed(NONE, known_usd) is NONE
