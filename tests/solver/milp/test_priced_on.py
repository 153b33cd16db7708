"""Pricing that was interrupted goes on from there, beside the caller or in its own thread."""

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest
from random_cases import random_case
from wide_cases import wide_case

from broker.domain.case import Case
from solver.milp.build import build_sets
from solver.milp.price_out import Pricing
from solver.milp.priced_on import PricedOn
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


def test_it_is_priced_on_beside_until_it_is_paused_and_then_to_the_end() -> None:
    later = 0
    for sets in drawn():
        expected = Pricing(sets).run(math.inf)
        pricing = Pricing(sets)
        early = pricing.run(-math.inf)
        on = PricedOn(pricing)
        on.begin(math.inf)
        on.pause()
        on.wait()
        later += not pricing.is_done
        on.run(math.inf)
        assert pricing.is_done
        if expected is None or early is None:
            assert pricing.best is None or expected is not None
            continue
        assert on.latest(early).bound_usd == pytest.approx(expected.bound_usd, rel=1e-9)
        assert on.latest(replace(early, bound_usd=math.inf)).bound_usd == math.inf
    assert later > 2


def test_without_a_pricing_nothing_is_priced_on() -> None:
    early = Pricing(next(drawn())).best
    assert early is not None
    on = PricedOn(None)
    on.begin(math.inf)
    on.run(math.inf)
    on.wait()
    assert on.latest(early) is early
