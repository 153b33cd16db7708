"""The plan of before is where a search begins: placed anew at the prices of now."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from random_cases import random_case
from solving import same_cost
from wide_cases import wide_case

from broker.domain.case import Case
from broker.domain.plan import Status
from broker.planning.bare_plan import bare_plan
from solver.milp import local_search
from solver.milp.begun import plan_begun
from solver.milp.build import build_sets
from solver.milp.drafted import holds
from solver.milp.first_plan import first_plan
from solver.milp.narrow import promising
from solver.milp.optimize import _first_plan, _relaxed, optimize
from solver.milp.optimum import Optimum
from solver.milp.program import build_program
from solver.milp.sets import with_one_kind
from solver.milp.solve import Limits
from solver.milp.start import NOWHERE, Start

EXACT = Limits(1e-6, 30.0)


@pytest.fixture(scope="module", autouse=True)
def ended() -> Iterator[None]:
    """Wait for solvers that go on beside: one that runs as the process ends takes it down."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(40)


@pytest.fixture(scope="module")
def planned() -> list[tuple[Case, Optimum, Start]]:
    return list(_planned())


def _planned() -> Iterator[tuple[Case, Optimum, Start]]:
    cases = [*(random_case(seed, machines=(4, 6)) for seed in range(20)), *map(wide_case, range(6))]
    for of in map(with_one_kind, cases):
        optimum = optimize(of, EXACT)
        if optimum.status is not Status.INFEASIBLE:
            yield of, optimum, Start.of(bare_plan(optimum, of))


def test_at_the_same_prices_the_best_plan_is_found_again(
    planned: list[tuple[Case, Optimum, Start]],
) -> None:
    again = 0
    for of, optimum, start in planned:
        program = build_program(build_sets(of))
        found = plan_begun(program, replace(EXACT, start=start))
        assert found is not None
        assert holds(program, found.solution.values)
        assert found.usd >= float(optimum.total_usd) * (1 - 1e-6)
        again += same_cost(found.usd, float(optimum.total_usd))
    assert again > 0.8 * len(planned) > 10


def test_nothing_is_begun_where_nothing_is_known_or_a_choice_is_gone(
    planned: list[tuple[Case, Optimum, Start]],
) -> None:
    gone = 0
    for of, _, start in planned:
        program = build_program(build_sets(of))
        assert plan_begun(program, replace(EXACT, start=NOWHERE)) is None
        service = min(start.kinds, default=("",))[0]
        others = frozenset(one for one in start.kinds if one[0] != service)
        if others != start.kinds:
            less = replace(EXACT, start=replace(start, kinds=others))
            assert plan_begun(program, less) is None
            gone += 1
    assert gone > 10


def test_a_first_plan_without_a_search_is_no_dearer_than_the_one_of_before(
    planned: list[tuple[Case, Optimum, Start]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_search, "_STEPS_A_CHOICE", 0)
    dearer = 0
    for of, _, start in planned:
        limits = replace(EXACT, start=start)
        sets = build_sets(of)
        relaxed = _relaxed(sets, time.monotonic() + 30, time.monotonic)
        assert relaxed is not None
        known = _first_plan(sets, relaxed, limits, time.monotonic)
        narrow = build_program(promising(sets, relaxed, start))
        begun = plan_begun(narrow, limits)
        searched = first_plan(narrow, limits, relaxed.bound_usd)
        assert begun is not None
        assert known is not None
        assert known.usd <= begun.usd * (1 + 1e-9)
        dearer += float(narrow.cost @ searched.values) > begun.usd * (1 + 1e-6)
    assert dearer > 2
