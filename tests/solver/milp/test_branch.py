"""Branching by hand finds what an exact solve finds, and its bound holds whenever it ends."""

import math
import time

import pytest
from one_kind_sets import one_kind_sets
from solving import objective_usd, same_cost, solution_of

from solver.milp.branch import branch
from solver.milp.pieces import contested, times_to_begin
from solver.milp.program import Program, build_program
from solver.milp.questions import questions_of
from solver.milp.solve import Limits
from solver.milp.watch import Watch

LIMITS = Limits(gap_fraction=1e-6, time_limit_s=60)
TOO_DEAR = 1.5


def drawn() -> list[tuple[Program, float]]:
    """Give programs and what an exact solve of each costs, where it has a plan."""
    programs = [build_program(sets) for sets in one_kind_sets()]
    pairs = [(one, objective_usd(one, solution_of(one))) for one in programs]
    return [(one, usd) for one, usd in pairs if 0 < usd < math.inf]


@pytest.mark.parametrize("clusters", [1, 40])
def test_it_finds_the_cheapest_plan_and_proves_it(clusters: int) -> None:
    tried = with_times = 0
    for program, usd in drawn():
        found = branch(program, TOO_DEAR * usd, LIMITS, clusters=clusters)
        assert found.solution is not None
        assert same_cost(objective_usd(program, found.solution), usd)
        assert same_cost(found.bound_usd, usd)
        tried += len(questions_of(program)) > 1
        with_times += bool(times_to_begin(program.sets, contested(program, TOO_DEAR * usd)))
    assert tried > 20
    assert with_times > 3


def test_where_the_known_plan_is_the_cheapest_it_finds_none() -> None:
    for program, usd in drawn()[::3]:
        found = branch(program, usd, LIMITS)
        assert found.solution is None
        assert same_cost(found.bound_usd, usd)


def test_a_plan_within_the_gap_is_enough() -> None:
    for program, usd in drawn()[::3]:
        found = branch(program, 1.05 * usd, Limits(gap_fraction=0.1, time_limit_s=60))
        better = math.inf if found.solution is None else objective_usd(program, found.solution)
        assert usd * (1 - 1e-6) <= min(better, 1.05 * usd) <= found.bound_usd / 0.9
        assert found.bound_usd <= usd * (1 + 1e-9)


def test_the_bound_holds_where_there_is_no_time() -> None:
    for program, usd in drawn()[::3]:
        found = branch(program, TOO_DEAR * usd, Limits(gap_fraction=1e-6, time_limit_s=0.0))
        assert found.bound_usd <= usd * (1 + 1e-9)


def test_it_ends_when_the_watch_ends_it_and_tells_what_it_saw() -> None:
    program, usd = max(drawn(), key=lambda pair: pair[0].columns.size)
    told: list[tuple[float, float]] = []
    asked: list[float] = []

    def is_ended() -> bool:
        asked.append(time.monotonic())
        return len(asked) > 2

    watch = Watch(lambda best, bound: told.append((best, bound)), is_ended)
    found = branch(program, TOO_DEAR * usd, LIMITS, watch)
    assert found.bound_usd <= usd * (1 + 1e-9)
    assert told == sorted(told, key=lambda pair: (-pair[0], pair[1]))
    assert told[0][0] == TOO_DEAR * usd


def test_the_same_program_gives_the_same_plan() -> None:
    program, usd = max(drawn(), key=lambda pair: pair[0].columns.size)
    first, second = (branch(program, TOO_DEAR * usd, LIMITS) for _ in range(2))
    assert first.solution is not None
    assert second.solution is not None
    assert first.solution.values.tolist() == second.solution.values.tolist()
    assert first.bound_usd == second.bound_usd
