"""Pricing that was interrupted goes on from there."""

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest
from random_cases import random_case
from wide_cases import wide_case

from broker.domain.case import Case
from solver.milp.build import build_sets
from solver.milp.price_out import Pricing
from solver.milp.relax import Relaxed
from solver.milp.sets import Sets, has_hopeless_workload

pytestmark = pytest.mark.usefixtures("start_with_one_of_each")


def one_kind(of: Case) -> Case:
    policy = of.workloads.policy.model_copy(update={"max_groups": 1})
    return replace(of, workloads=of.workloads.model_copy(update={"policy": policy}))


def drawn() -> Iterator[Sets]:
    cases = [random_case(seed, machines=(4, 6)) for seed in range(12)]
    for one in (*cases, *(wide_case(seed) for seed in range(4))):
        sets = build_sets(one_kind(one))
        if not has_hopeless_workload(sets):
            yield sets


def a_round(pricing: Pricing) -> Relaxed | None:
    turns = iter((True, False))
    return pricing.run(math.inf, lambda: next(turns))


def test_round_by_round_it_finds_what_it_finds_at_once() -> None:
    in_rounds = 0
    for sets in drawn():
        whole, pricing = Pricing(sets), Pricing(sets)
        expected = whole.run(math.inf)
        bounds = [0.0]
        while not pricing.is_done:
            found = a_round(pricing)
            bounds.append(math.inf if found is None else found.bound_usd)
            assert bounds[-1] >= bounds[-2]
        assert (pricing.best is None) == (expected is None)
        if expected is not None:
            assert bounds[-1] == pytest.approx(expected.bound_usd, rel=1e-9)
        in_rounds += len(bounds) > 3
    assert in_rounds > 4
