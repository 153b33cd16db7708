"""Moved nodes over scenarios: each counts what it has beside the plan in force."""

from dataclasses import replace
from decimal import Decimal

import pytest
from churn_cases import ACME, BOLT, churn_case, replicas
from oracle_scenarios import cheapest_over_scenarios
from scenario_cases import with_scenarios
from solving import EXACT, assembled, no_dearer
from tiny_cases import offer

from broker.domain.case import Case
from broker.domain.offer import PriceKind
from broker.domain.plan import Status, Term
from broker.verification.check import check
from solver.milp.forced import forced_optimum
from solver.milp.optimize import optimize, relaxed_bound_usd
from solver.milp.optimum import Optimum


def drawn(seed: int, measure: str = "mean") -> Case:
    return with_scenarios(churn_case(seed), seed, measure=measure)


def oracle_usd(of: Case) -> float:
    robust = of.workloads.policy.robust
    assert robust is not None
    return cheapest_over_scenarios(of, robust)


QUICK = [5, 6, 10, 13]
SEEDS = [*QUICK, *(pytest.param(one, marks=pytest.mark.long) for one in (0, 2, 3, 8, 12, 14, 15))]
GROWTH = {"robust": {"scenarios": [{"name": "growth", "probability": 0.5, "load": {"all": 2}}]}}


@pytest.mark.parametrize("measure", ["mean", "cvar"])
@pytest.mark.parametrize("seed", SEEDS)
def test_moved_nodes_over_scenarios_cost_what_enumeration_finds(seed: int, measure: str) -> None:
    of = drawn(seed, measure)
    expected, optimum = oracle_usd(of), optimize(of, EXACT)
    assert optimum.status is not Status.INFEASIBLE
    assert float(optimum.objective_usd) == pytest.approx(expected, rel=1e-5, abs=1e-4)
    assert relaxed_bound_usd(of) <= expected * (1 + 1e-6) + 1e-6
    assert check(assembled(of, optimum), of) == ()


def counted(optimum: Optimum) -> list[Decimal]:
    """Add up what moved nodes count as in each scenario."""
    assert optimum.scenarios is not None
    lines = [optimum.cost_lines, *(one.cost_lines for one in optimum.scenarios.scenarios[1:])]
    return [
        sum((line.usd for line in some if line.term is Term.CHURN), Decimal(0)) for some in lines
    ]


@pytest.mark.parametrize(
    ("usd", "totals", "moves"),
    [
        (50, [72, 72 + 24 + 50], [0, 50]),  # the node of bolt stays, beside one more as it grows
        (40, [24 + 40, 2 * (24 + 40)], [40, 80]),  # all move, and each one more counts as well
    ],
)
def test_each_scenario_counts_the_nodes_that_it_has_beside_those_in_force(
    usd: int, totals: list[int], moves: list[int]
) -> None:
    of = replicas(1, {BOLT.key: 1}, usd=usd, policy=GROWTH)
    optimum = optimize(of, EXACT)
    assert optimum.scenarios is not None
    assert [one.total_usd for one in optimum.scenarios.scenarios] == totals
    assert optimum.objective_usd == Decimal(sum(totals)) / 2
    assert counted(optimum) == moves
    assert check(assembled(of, optimum), of) == ()


def test_what_is_committed_counts_as_moved_in_every_scenario() -> None:
    """A month at half the price saves 12 and counts 13: not as forecast, but if it may grow."""
    month = offer("0.5", provider="acme", kind=PriceKind.RESERVED, term_months=1)
    alone = replicas(1, {ACME.key: 1}, usd=13, offers=[ACME, month])
    over = replicas(1, {ACME.key: 1}, usd=13, offers=[ACME, month], policy=GROWTH)
    assert optimize(alone, EXACT).total_usd == 24
    optimum = optimize(over, EXACT)
    assert counted(optimum) == [13, 13]
    assert optimum.objective_usd == Decimal((12 + 13) + (12 + 13 + 24)) / 2


def test_without_a_plan_in_force_nothing_is_counted() -> None:
    of = replace(replicas(1, {}, usd=50, policy=GROWTH), in_force=None)
    optimum = optimize(of, EXACT)
    assert counted(optimum) == [0, 0]
    assert optimum.objective_usd == (24 + 48) / 2


def test_a_scenario_that_hides_what_is_moved_is_refused() -> None:
    of = replicas(1, {BOLT.key: 1}, usd=50, policy=GROWTH)
    plan = assembled(of, optimize(of, EXACT))
    assert plan.scenarios is not None
    forecast, growth = plan.scenarios.scenarios
    lines = tuple(one for one in growth.cost_lines if one.term is not Term.CHURN)
    hidden = growth.model_copy(update={"cost_lines": lines, "total_usd": growth.total_usd - 50})
    costs = plan.scenarios.model_copy(update={"scenarios": (forecast, hidden)})
    found = check(plan.model_copy(update={"scenarios": costs}), of)
    assert "cost_lines" in {one.rule for one in found if "'growth'" in one.subject}


@pytest.mark.parametrize("seed", [5, 10])
def test_an_offer_that_must_be_used_counts_its_moves(seed: int) -> None:
    of = drawn(seed)
    best = optimize(of, EXACT)
    for one in of.offers:
        forced = forced_optimum(of, one.key, EXACT)
        if forced.status is not Status.INFEASIBLE:
            assert no_dearer(float(best.objective_usd), float(forced.objective_usd))
            assert check(assembled(of, forced), of) == ()
