"""Cases that are planned in child processes."""

import os

import pytest
from random_cases import random_case
from solving import EXACT

from solver.milp.optimize import optimize, relaxed_bound_usd
from solver.milp.pool import SolverPool


def test_a_child_plans_and_bounds_as_this_process_does() -> None:
    first, second = random_case(7), random_case(8)
    with SolverPool(workers=1) as pool:
        plan, bound = pool.optimize(first, EXACT), pool.relaxed_bound_usd(second)
        assert plan.result(timeout=60) == optimize(first, EXACT)
        assert bound.result(timeout=60) == relaxed_bound_usd(second)


def test_what_a_child_prints_does_not_come_to_stdout(capfd: pytest.CaptureFixture[str]) -> None:
    # HiGHS prints some of its troubles (here wide_case(630) makes it), past Python's own streams.
    with SolverPool(workers=1) as pool:
        pool._pool.submit(os.write, 1, b"trouble\n").result(timeout=60)
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "trouble\n" in captured.err
