"""Pricing kinds out gives the bound of the whole relaxed program, and penalties that hold."""

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from random_cases import random_case
from wide_cases import wide_case

from broker.domain.case import Case
from solver.milp import price_out
from solver.milp.build import build_sets
from solver.milp.price_out import relaxed_over_all
from solver.milp.program import build_program
from solver.milp.relax import solve_relaxed
from solver.milp.sets import Sets

TOLERANCE = 1e-6


def one_kind(of: Case) -> Case:
    policy = of.workloads.policy.model_copy(update={"max_groups": 1})
    return replace(of, workloads=of.workloads.model_copy(update={"policy": policy}))


def drawn() -> Iterator[Sets]:
    cases = [*(random_case(seed) for seed in range(25)), *(wide_case(seed) for seed in range(4))]
    for one in cases:
        sets = build_sets(one_kind(one))
        if {kind.demand for kind in sets.kinds} == set(range(len(sets.demands))):
            yield sets


@pytest.fixture(autouse=True)
def start_with_one_kind_a_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(price_out, "_FIRST_KINDS", 1)


def test_the_bound_is_that_of_the_whole_relaxed_program() -> None:
    compared = 0
    for sets in drawn():
        whole = solve_relaxed(build_program(sets))
        found = relaxed_over_all(sets, time.monotonic() + 60)
        assert (whole is None) == (found is None)
        if whole is not None and found is not None:
            assert found.bound_usd == pytest.approx(whole.bound_usd, rel=TOLERANCE, abs=1e-4)
            compared += len(sets.kinds) > len(sets.demands)
    assert compared > 10


def test_an_early_end_gives_a_bound_below_that_of_the_whole() -> None:
    for sets in drawn():
        whole = solve_relaxed(build_program(sets))
        found = relaxed_over_all(sets, 0.0)
        if whole is not None and found is not None:
            assert found.bound_usd <= whole.bound_usd * (1 + TOLERANCE) + 1e-4


def test_a_plan_with_a_kind_costs_its_penalty_more_than_the_bound() -> None:
    held = 0
    for sets in drawn():
        found = relaxed_over_all(sets, time.monotonic() + 60)
        if found is None:
            continue
        for number, kind in enumerate(sets.kinds):
            same = [one for one in sets.groups if one.demand != kind.demand or one.kind == number]
            forced = replace(sets.case, serving=tuple(one.option for one in same))
            alone = solve_relaxed(build_program(build_sets(forced)))
            if alone is not None:
                least = found.bound_usd + found.kind_penalty_usd[number]
                assert alone.bound_usd >= least * (1 - TOLERANCE) - 1e-4
                held += bool(found.kind_penalty_usd[number] > 0)
    assert held > 5
