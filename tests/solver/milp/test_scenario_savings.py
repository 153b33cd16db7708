"""Savings plans over scenarios: promised once, used in each scenario as it comes."""

import math
from decimal import Decimal

import pytest
from changed_cases import with_workloads
from inline_snapshot import snapshot
from joint_rows import joint_lines
from oracle_scenarios import cheapest_over_scenarios
from random_cases import savings_case
from savings_cases import rate, two_thirds
from scenario_cases import owned_until_growth, with_scenarios
from solving import EXACT, assembled, no_dearer
from target_cases import target_case

from broker.domain.case import Case
from broker.domain.offer import PriceKind
from broker.domain.plan import Status
from broker.verification.check import check
from solver.milp.forced import forced_optimum
from solver.milp.optimize import optimize, relaxed_bound_usd
from solver.milp.optimum import Optimum
from solver.milp.scenarios.joint import build_joint
from solver.milp.scenarios.same_decisions import same_decisions


def drawn(seed: int, measure: str = "mean") -> Case:
    return with_scenarios(savings_case(seed), seed, measure=measure)


def oracle_usd(of: Case, most: int = 3) -> float:
    robust = of.workloads.policy.robust
    assert robust is not None
    return cheapest_over_scenarios(of, robust, most)


SEEDS = [1, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14]
SHORT = {3, 6, 7, 13}
PROMISED = {1, 3, 4, 5, 7, 8, 9, 10, 13}


@pytest.mark.parametrize("measure", ["mean", "cvar"])
@pytest.mark.parametrize(
    "seed", [pytest.param(one, marks=[pytest.mark.long] * (one not in SHORT)) for one in SEEDS]
)
def test_promises_over_scenarios_cost_what_enumeration_finds(seed: int, measure: str) -> None:
    of = drawn(seed, measure)
    expected, optimum = oracle_usd(of), optimize(of, EXACT)
    assert (optimum.status is Status.INFEASIBLE) == (expected == math.inf)
    assert bool(promised(optimum)) == (seed in PROMISED)
    if expected < math.inf:
        assert float(optimum.objective_usd) == pytest.approx(expected, rel=1e-5, abs=1e-4)
        assert relaxed_bound_usd(of) <= expected * (1 + 1e-6) + 1e-6
    assert check(assembled(of, optimum), of) == ()


def promised(optimum: Optimum) -> list[set[Decimal]]:
    """Give the promises of each scenario, where there are any."""
    told = optimum.scenarios.scenarios if optimum.scenarios else ()
    found = [
        {one.savings.usd_per_hour for one in some if one.savings}
        for some in (optimum.purchases, *(course.purchases for course in told[1:]))
    ]
    return found if any(found) else []


def test_a_promise_is_the_same_in_every_scenario_and_used_as_it_comes() -> None:
    """Two nodes for 16 h and one for 8 h, or half of that: 4 USD/h are promised at a rate of 2.

    They cost 96 and leave nothing to pay; of them 80 are used, or 48 with a node all day. With one
    node alone promised, the forecast would rent the second for 64 dollars more.
    """
    slump = {"name": "slump", "probability": 0.25, "load": {"all": 0.5}}
    of = with_workloads(two_thirds(rate("2")), {"policy.robust": {"scenarios": [slump]}})
    optimum = optimize(of, EXACT)
    assert optimum.objective_usd == 96
    assert promised(optimum) == [{Decimal(4)}, {Decimal(4)}]
    assert optimum.scenarios is not None
    _, course = optimum.scenarios.scenarios
    uses = [
        one.savings.utilization
        for one in (*optimum.purchases, *course.purchases)
        if one.savings is not None
    ]
    assert uses == [pytest.approx(80 / 96), pytest.approx(48 / 96)]
    assert check(assembled(of, optimum), of) == ()


def test_only_what_is_forecast_justifies_a_promise_beyond_the_horizon() -> None:
    """Growth to twice the nodes, however likely, is rented: 4 nodes for 16 h, 2 for 8 h, at 4."""
    growth = {"name": "growth", "probability": 0.9, "load": {"all": 2}}
    of = with_workloads(two_thirds(rate("2")), {"policy.robust": {"scenarios": [growth]}})
    optimum = optimize(of, EXACT)
    assert promised(optimum) == [{Decimal(4)}, {Decimal(4)}]
    assert optimum.objective_usd == 96 + Decimal("0.9") * 4 * (2 * 16)


def test_a_promise_may_cover_nothing_in_a_scenario() -> None:
    """A month at 2 USD/h, paid for 730 of 744 h, for a node that only growth needs."""
    of = owned_until_growth()
    optimum = optimize(of, EXACT)
    assert optimum.objective_usd == 2 * 730 + Decimal("0.9") * 4 * 24
    assert optimum.total_usd == 2 * 730
    (forecast,) = [one for one in optimum.purchases if one.savings]
    assert forecast.savings is not None
    assert (forecast.savings.covers, forecast.savings.utilization) == ((), 0)
    assert forecast.breakeven_utilization is None
    assert check(assembled(of, optimum), of) == ()


def test_a_rate_is_used_where_its_promise_covers_a_node() -> None:
    """At 3.90 USD/h a promise pays for the node that is always up, unless growth halves prices.

    Then it covers a quarter of a node, in two periods of two scenarios: the least that is a use.
    """
    growth = {"name": "growth", "probability": 0.5, "load": {"all": 2}}
    of = with_workloads(two_thirds(rate("3.9")), {"policy.robust": {"scenarios": [growth]}})
    (key,) = [one.key for one in of.offers if one.price_kind is PriceKind.SAVINGS_PLAN]
    best, forced = optimize(of, EXACT), forced_optimum(of, key, EXACT)
    assert promised(best) == promised(forced) == [{Decimal("3.9")}, {Decimal("3.9")}]
    assert forced.objective_usd == best.objective_usd
    dear = with_workloads(of, {"policy.robust.scenarios.0.prices": {"on_demand": 0.5}})
    unpromised, forced = optimize(dear, EXACT), forced_optimum(dear, key, EXACT)
    assert promised(unpromised) == []
    assert promised(forced) == [{Decimal("0.975")}, {Decimal("0.975")}]
    assert forced.objective_usd == unpromised.objective_usd + (Decimal("3.9") - 3) / 4 * 24
    assert check(assembled(dear, forced), dear) == ()


def test_rows_of_same_decisions_with_a_promise() -> None:
    of = owned_until_growth()
    robust = of.workloads.policy.robust
    assert robust is not None
    joint = build_joint(of, robust)
    assert joint_lines(joint, same_decisions(joint)) == snapshot(
        ["same_decisions[1,promised] from 0 to 0", "    +1 f.plan_steps[0] -1 s.plan_steps[0]"]
    )


@pytest.mark.parametrize("seed", range(6))
def test_no_bound_is_above_a_plan_with_targets_and_several_kinds(seed: int) -> None:
    of = with_workloads(target_case(seed), {"policy.max_groups": 2})
    of = with_scenarios(of, seed, measure="mean")
    optimum = optimize(of, EXACT)
    usd = math.inf if optimum.status is Status.INFEASIBLE else float(optimum.objective_usd)
    assert no_dearer(relaxed_bound_usd(of), usd)
