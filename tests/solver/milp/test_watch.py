"""A search tells how far it is, and ends with what it has when it is asked to."""

import math
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from solving import EXACT, program_of
from wide_cases import wide_case

from broker.domain.plan import Status
from solver.milp.highs_log import bounds_of, last_solution
from solver.milp.optimize import optimize
from solver.milp.program import to_proto
from solver.milp.solve import Limits, Outcome, solve_model
from solver.milp.watch import Watch

LOG = """\
        Nodes      |    B&B Tree     |            Objective Bounds              |
Src  Proc. InQueue |  Leaves   Expl. | BestBound       BestSol              Gap |
 z       0       0         0   0.00%   -inf            400                Large        0
         0       0         0   0.00%   12.5            inf                  inf        0
 T     528      44       200  23.57%   357.623708      1346               0.86%      464
""".splitlines()
SOLUTIONS = "Objective 9\n# Columns -2\n 8 1\n 3 5\nObjective 7\n# Columns -3\n 1 0\n 2 4\n"


def test_bounds_are_read_off_the_rows_of_the_table_alone() -> None:
    found = [bounds_of(line) for line in LOG]
    assert found == [None, None, (0.0, 400.0), (12.5, math.inf), (357.623708, 1346.0)]


def test_the_last_whole_solution_counts(tmp_path: Path) -> None:
    path = tmp_path / "solutions"
    assert last_solution(path, 6) is None
    path.write_text(SOLUTIONS, encoding="ascii")
    half_written = last_solution(path, 6)
    assert half_written is not None
    assert half_written.tolist() == [0, 8, 0, 0, 0, 3]
    path.write_text(f"{SOLUTIONS} 5 5\n", encoding="ascii")
    whole = last_solution(path, 6)
    assert whole is not None
    assert whole.tolist() == [1, 0, 0, 0, 2, 5]


def test_a_watch_hears_of_what_is_better_alone() -> None:
    told: list[tuple[float, float]] = []
    watch = Watch(lambda best, bound: told.append((best, bound)))
    watch.saw(bound_usd=5)
    watch.saw(best_usd=9)
    watch.saw(best_usd=10, bound_usd=4)
    watch.saw(bound_usd=12)
    assert told == [(math.inf, 5), (9, 5), (9, 9)]


def test_a_search_tells_its_bounds_on_the_way_to_the_optimum() -> None:
    told: list[tuple[float, float]] = []
    found = optimize(wide_case(0), EXACT, watch=Watch(lambda *both: told.append(both)))
    assert found.status is Status.OPTIMAL
    assert told
    best, bound = told[-1]
    assert best == pytest.approx(float(found.total_usd), abs=1e-4)
    assert bound <= best
    assert all(one[1] <= other[1] + 1e-6 * best for one, other in pairwise(told))


def test_a_search_that_is_ended_keeps_its_plan_and_says_how_good_it_is() -> None:
    has_plan = []
    watch = Watch(lambda best, _: has_plan.append(best < math.inf), lambda: any(has_plan))
    whole = optimize(wide_case(1), EXACT)
    found = optimize(wide_case(1), EXACT, watch=watch)
    assert found.status in (Status.FEASIBLE, Status.OPTIMAL)
    assert found.bound_usd <= whole.total_usd <= found.total_usd


def test_a_solve_that_is_ended_at_once_knows_nothing_and_claims_nothing() -> None:
    model = to_proto(program_of(wide_case(2))).SerializeToString()
    began = time.monotonic()
    found = solve_model(model, Limits(0.0, 60.0), watch=Watch(is_ended=lambda: True))
    assert time.monotonic() - began < 20
    assert (found.outcome, len(found.values), found.bound_usd) == (Outcome.NO_SOLUTION, 0, 0.0)
    assert np.isfinite(found.bound_usd)
