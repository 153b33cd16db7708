"""Linear programs: a solver that goes astray is left for the other one."""

import pytest
from one_kind_sets import one_kind_sets
from solving import same_cost

from solver.milp import linear
from solver.milp.linear import LinearProgram
from solver.milp.program import build_program, to_proto
from solver.milp.relax import solve_relaxed


def test_a_simplex_that_may_not_stall_gives_up_after_some_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = build_program(max(one_kind_sets(), key=lambda sets: len(sets.groups)))
    solved = LinearProgram(to_proto(program)).solve(60, may_stall=False)
    assert solved.plan is not None
    monkeypatch.setattr(linear, "_most_steps", lambda rows, columns: 1)
    found = LinearProgram(to_proto(program)).solve(60, may_stall=False)
    assert found == linear.LinearResult()
    other = LinearProgram(to_proto(program)).solve(60)
    assert other.plan is not None
    assert same_cost(other.plan.usd, solved.plan.usd)


def test_where_one_solver_gives_up_the_other_finds_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    programs = [build_program(sets) for sets in one_kind_sets()][:10]
    first = [solve_relaxed(one) for one in programs]
    monkeypatch.setattr(linear, "_most_steps", lambda rows, columns: 1)
    for program, one in zip(programs, first, strict=True):
        again = solve_relaxed(program)
        assert (again is None) == (one is None)
        if again is not None and one is not None:
            assert again.bound_usd > 0
            assert same_cost(again.bound_usd, one.bound_usd)
