"""Every plan that the program makes of a random case is one that the independent check accepts."""

from decimal import Decimal

import pytest
from both_ways import both_ways
from random_cases import random_case
from solving import EXACT
from tiny_cases import offer, served_case, service_entry
from wide_cases import wide_case

from broker.domain.case import Case
from broker.domain.plan import Status
from solver.milp.optimize import optimize


@pytest.mark.parametrize("seed", range(120))
def test_the_plan_of_a_random_case_is_accepted(seed: int) -> None:
    _is_accepted(random_case(seed))


@pytest.mark.parametrize(
    "seed", [*range(12), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(12, 30))]
)
def test_the_plan_of_a_wide_case_is_accepted(seed: int) -> None:
    _is_accepted(wide_case(seed))


def test_the_cost_of_a_part_of_an_hour_is_exact() -> None:
    """11 slots of ten minutes at 3.000003 USD an hour are 5.5000055 USD: half a micro-dollar."""
    load = {"requests_per_s": {"step": "10 min", "by_size": [[1.0] * 11 + [0.0] * 133]}}
    entry = service_entry(1, 1, traffic=load, min_replicas=0)
    of = served_case([offer("3.000003")], entry, slot="10 min")
    assert [one.total_usd for one in both_ways(of)] == [Decimal("5.500006")] * 2


@pytest.mark.long
def test_wide_cases_use_every_kind_of_limit_and_decision() -> None:
    drawn = [wide_case(seed) for seed in range(30)]
    optima = [optimize(one, EXACT) for one in drawn]
    kinds = {one.price_kind.value for optimum in optima for one in optimum.purchases}
    assert kinds == {"on_demand", "spot", "reserved", "owned"}
    assert any(len(optimum.training) > 1 for optimum in optima)
    assert any(len({one.service for one in optimum.serving}) > 1 for optimum in optima)
    assert any(len({one.user_region for one in optimum.serving}) > 1 for optimum in optima)
    assert any(not one.workloads.services for one in drawn)
    used = [
        offer
        for one, optimum in zip(drawn, optima, strict=True)
        for offer in one.offers
        if offer.key in {purchase.offer for purchase in optimum.purchases}
    ]
    assert any(offer.limits.stock_pool for offer in used)
    assert any(offer.limits.stock_nodes for offer in used)
    assert any(offer.limits.max_nodes for offer in used)


def _is_accepted(of: Case) -> None:
    for optimum in both_ways(of):
        assert (optimum.status is Status.INFEASIBLE) == (not optimum.purchases)
