"""Solving a program: several at once do not disturb each other."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from ortools.math_opt import model_pb2
from solving import EXACT

from solver.milp.solve import Outcome, solve_model

AT_ONCE = 6
TIMES = 300
COLUMNS = 40


@pytest.fixture
def _threads_switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def model() -> bytes:
    """Give the least sum of whole numbers above one half: one each."""
    proto = model_pb2.ModelProto()
    proto.variables.ids.extend(range(COLUMNS))
    proto.variables.lower_bounds.extend([0.5] * COLUMNS)
    proto.variables.upper_bounds.extend([3.0] * COLUMNS)
    proto.variables.integers.extend([True] * COLUMNS)
    proto.objective.linear_coefficients.ids.extend(range(COLUMNS))
    proto.objective.linear_coefficients.values.extend([1.0] * COLUMNS)
    return proto.SerializeToString()


@pytest.mark.usefixtures("_threads_switch_often")
def test_threads_that_solve_at_once_do_not_disturb_each_other() -> None:
    least, hint = model(), np.full(COLUMNS, 2.0)
    with ThreadPoolExecutor(AT_ONCE) as threads:
        found = list(threads.map(lambda _: solve_model(least, EXACT, hint), range(TIMES)))
    assert all(one.outcome is Outcome.OPTIMAL for one in found)
    assert all(one.values.tolist() == [1.0] * COLUMNS for one in found)


@pytest.mark.parametrize("off", [-0.5 - 5e-7, -1e-9, 0.0, 5e-7, 2.0])
def test_a_hint_that_is_beyond_the_bounds_is_one_at_them(off: float) -> None:
    """What a solver gives may be off by its tolerance, and HiGHS takes no such hint."""
    found = solve_model(model(), EXACT, np.full(COLUMNS, 3.0 + off))
    assert (found.outcome, found.values.tolist()) == (Outcome.OPTIMAL, [1.0] * COLUMNS)


def test_a_solve_needs_no_python_model() -> None:
    """The first uses of two such models in two threads at once can fail."""
    code = "import sys, solver.milp.solve; sys.exit('ortools.math_opt.python.model' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603 - our own command
