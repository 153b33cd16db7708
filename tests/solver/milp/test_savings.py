"""Savings plans: what is promised, what it pays for, and what keeps it from being promised.

A node costs 4 USD an hour on demand. Services need two nodes for 16 h of the day, one for 8 h.
"""

from dataclasses import replace
from decimal import Decimal

import pytest
from random_cases import savings_case
from savings_cases import RENTED, rate, two_thirds
from solving import EXACT, assembled, program_of, same_cost, solved
from tiny_cases import START, case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case, OwnedNodes
from broker.domain.offer import Place
from broker.domain.plan import Purchase, SteadyNodes, Term
from broker.domain.savings import savings_plan_of, upfront_share
from broker.verification.check import check
from solver.milp.build import build_sets
from solver.milp.dump import lines, term_lines
from solver.milp.floor import at_floor
from solver.milp.forced import forced_optimum
from solver.milp.optimize import optimize, relaxed_bound_usd
from solver.milp.optimum import Optimum
from solver.milp.prune import prune

HALF = rate("2")
PLAN = "acme/compute@savings_plan-12m-no_upfront"


def test_two_nodes_are_promised_where_the_second_is_kept_up_for_its_breakeven_share() -> None:
    """At half the price two thirds of the time are enough: 4 USD/h are 96, used 5 hours of 6."""
    found = _planned(two_thirds(HALF))
    plan, rented = _plan(found), _line(found, RENTED.key)
    assert found.total_usd == plan.usd == 96
    assert (plan.id, plan.offer, plan.steps, plan.node_hours) == (PLAN, HALF.key, (), 0)
    assert (plan.upfront_usd, plan.later_usd) == (0, 4 * (8760 - 24))
    assert plan.breakeven_utilization == pytest.approx(0.5)
    assert plan.savings is not None
    assert plan.savings.usd_per_hour == 4
    assert plan.savings.utilization == pytest.approx(5 / 6)
    assert plan.savings.steady == (SteadyNodes(offer=HALF.key, nodes=2),)
    (cover,) = plan.savings.covers
    assert (cover.line, cover.node_hours, cover.usd) == (RENTED.key, 40, 80)
    assert [(one.from_at, one.nodes) for one in cover.steps] == [
        (START, 2),
        (START.replace(hour=16), 1),
    ]
    assert (rented.node_hours, rented.covered_node_hours, rented.usd) == (40, 40, 0)
    assert [(one.term, one.usd) for one in found.cost_lines] == [(Term.SAVINGS_PLAN, 96)]


def test_a_node_that_is_kept_up_for_less_is_rented() -> None:
    """At three quarters of the price two thirds of the time are too little: one node is kept."""
    found = _planned(two_thirds(rate("3")))
    plan = _plan(found)
    assert plan.savings is not None
    assert (plan.savings.usd_per_hour, plan.savings.utilization) == (3, 1)
    assert found.total_usd == 3 * 24 + 4 * 16


def test_a_falling_price_raises_the_share() -> None:
    of = two_thirds(rate("2.5"))
    policy = of.workloads.policy.model_copy(update={"price_trend_per_year": -0.5})
    falling = replace(of, workloads=of.workloads.model_copy(update={"policy": policy}))
    assert [_promised(solved(one)) for one in (of, falling)] == [Decimal(5), Decimal("2.5")]


def test_a_run_alone_justifies_no_promise() -> None:
    file = workloads(
        training=[run_entry(24 * 3600)], policy={"commitments": {"savings_plans": True}}
    )
    found = _planned(case(file, [RENTED, HALF], training=[training(RENTED)]))
    assert [one.id for one in found.purchases] == [RENTED.key]


def test_what_is_promised_for_a_service_pays_for_a_run_while_it_is_left() -> None:
    """One node is kept for two thirds of the day, and costs nothing more for a run of 8 h."""
    load = {"requests_per_s": {"step": "8 h", "by_size": [[1.0, 1.0, 0.0]]}}
    other = offer("4", name="other")
    file = workloads(
        services=[service_entry(1, 1, traffic=load, min_replicas=0)],
        training=[run_entry(8 * 3600)],
        policy={"commitments": {"savings_plans": True}},
    )
    of = case(
        file,
        [RENTED, other, HALF, rate("2", of=other)],
        serving=[serving(RENTED, [1])],
        training=[training(other)],
    )
    found = _planned(of)
    assert found.total_usd == 48
    plan = _plan(found).savings
    assert plan is not None
    assert {one.line: one.node_hours for one in plan.covers} == {RENTED.key: 16, other.key: 8}
    assert plan.utilization == 1


def test_half_a_node_is_covered_where_the_promise_ends_there() -> None:
    """4 USD/h for one node of the dear machine pay for two thirds of a node at a rate of 6."""
    load = {"requests_per_s": {"step": "8 h", "by_size": [[1.0, 1.0, 0.0]]}}
    other = offer("12", name="other")
    file = workloads(
        services=[service_entry(1, 1, traffic=load, min_replicas=0)],
        training=[run_entry(8 * 3600)],
        policy={"commitments": {"savings_plans": True}},
    )
    box = offer("8")
    of = case(
        file,
        [box, other, rate("4", of=box), rate("6", of=other)],
        serving=[serving(box, [1])],
        training=[training(other)],
    )
    found = _planned(of)
    assert _line(found, other.key).covered_node_hours == pytest.approx(Decimal(16) / 3)
    assert float(found.total_usd) == pytest.approx(4 * 24 + 12 * 8 / 3, abs=1e-5)


def test_what_is_left_of_a_promise_by_rounding_covers_nothing() -> None:
    """While the run is up, 4 USD/h pay for two thirds of its node at a rate of 6, and no more."""
    box, other = offer("8"), offer("13", name="other")
    file = workloads(
        services=[service_entry(1, 1)],
        training=[run_entry(8 * 3600)],
        policy={"commitments": {"savings_plans": True}},
    )
    of = case(
        file,
        [box, other, rate("4", of=box), rate("6", of=other)],
        serving=[serving(box, [1])],
        training=[training(other)],
    )
    found = _planned(of)
    assert _promised(found) == 4
    assert _line(found, box.key).covered_node_hours == 16
    assert _line(found, other.key).covered_node_hours == pytest.approx(Decimal(16) / 3)


def test_owned_nodes_and_commitments_are_used_first() -> None:
    of = replace(two_thirds(HALF), owned=(OwnedNodes(RENTED.machine, 1, None),))
    assert _promised(_planned(of)) == 2


def test_cash_at_the_start_is_capped() -> None:
    """Half of 2 USD/h for a year are 8760 for each node; 13140 are enough for 3 USD/h."""
    partly = rate("1", upfront_usd="8760")
    assert upfront_share(partly) == Decimal("0.5")
    found = _planned(two_thirds(partly, max_upfront_usd=13140))
    plan = _plan(found)
    assert (_promised(found), plan.upfront_usd, plan.usd) == (3, 13140, 72)
    assert {one.term: one.usd for one in found.cost_lines} == {
        Term.ON_DEMAND: 32,
        Term.SAVINGS_PLAN: 36,
        Term.UPFRONT: 36,
    }
    assert list(lines(program_of(two_thirds(partly, max_upfront_usd=13140)), "upfront_cap")) == [
        "upfront_cap[plan]: +4.38 plan_steps[0] <= 13140"
    ]


def test_a_plan_that_ends_in_the_horizon_needs_no_steady_use() -> None:
    """A month of 730 h in 31 days: what is rented after it is not covered."""
    month = rate("2", term_months=1)
    file = workloads(
        services=[service_entry(1, 1)],
        days=31,
        slot="12 h",
        policy={"commitments": {"savings_plans": True}},
    )
    found = _planned(case(file, [RENTED, month], serving=[serving(RENTED, [1])]))
    plan = _plan(found)
    assert plan.savings is not None
    assert (plan.usd, plan.savings.steady) == (2 * 730, ())
    assert found.total_usd == 2 * 730 + 4 * 24


def test_a_plan_is_named_by_what_it_covers() -> None:
    narrow = rate("2", scope="ec2:p5")
    assert savings_plan_of(narrow) == "acme/ec2:p5/here@savings_plan-12m-no_upfront"
    apart = narrow.model_copy(update={"place": Place(region="gov", partition="us-gov")})
    assert savings_plan_of(apart) == "acme/ec2:p5/gov/us-gov@savings_plan-12m-no_upfront"
    assert savings_plan_of(rate("2", scope="")) == ""


def test_the_narrow_plan_pays_first() -> None:
    """It takes both nodes that it was promised for; nothing is left to the wide one."""
    wide, narrow = rate("2.1"), rate("2", scope="ec2:p5")
    found = _planned(two_thirds(wide, narrow))
    assert [one.id for one in found.purchases if one.savings] == [savings_plan_of(narrow)]


def test_rows_of_savings_plans() -> None:
    of = two_thirds(HALF)
    assert list(lines(program_of(of), "savings_nodes")) == [
        "savings_nodes[0,0]: +1 covered_nodes[0,0] -1 on_demand_nodes[0,0] <= 0",
        "savings_nodes[0,1]: +1 covered_nodes[0,1] -1 on_demand_nodes[0,1] <= 0",
    ]
    assert list(lines(program_of(of), "savings_promise")) == [
        "savings_promise[0,0]: +2 covered_nodes[0,0] -0.001 plan_steps[0] <= 0",
        "savings_promise[0,1]: +2 covered_nodes[0,1] -0.001 plan_steps[0] <= 0",
    ]
    assert list(lines(program_of(of), "savings_steady")) == [
        "savings_steady[0]: +0.001 plan_steps[0] -2 steady_nodes[0] <= 0.000999"
    ]
    (level,) = lines(program_of(of), "steady_level")
    assert level.startswith("steady_level[0]: +1 steady_nodes[0] ")
    assert list(term_lines(program_of(of), "savings_plans")) == [
        "savings_plans: +0.024 plan_steps[0]"
    ]
    assert list(term_lines(program_of(of), "savings_cover")) == [
        "savings_cover: -64 covered_nodes[0,0]",
        "savings_cover: -32 covered_nodes[0,1]",
    ]


@pytest.mark.parametrize("seed", range(40))
def test_the_whole_search_finds_the_optimum_and_no_bound_is_above_it(seed: int) -> None:
    of = savings_case(seed)
    whole, found = solved(of), optimize(of, EXACT)
    assert found.status is whole.status
    assert same_cost(float(found.total_usd), float(whole.total_usd))
    assert same_cost(float(solved(prune(of).case).total_usd), float(whole.total_usd))
    if whole.purchases:
        assert relaxed_bound_usd(of) <= float(whole.total_usd) * (1 + 1e-6)


def test_the_floor_is_the_least_rate_without_a_promise() -> None:
    floor = at_floor(build_sets(two_thirds(HALF, rate("3", term_months=36), max_term_months=36)))
    (machine,) = floor.machines
    assert machine.on_demand is not None
    assert machine.on_demand.usd_per_hour == 2
    assert (floor.plans, floor.plan_rates, floor.levels) == ((), (), ())


def test_a_machine_that_a_plan_covers_is_not_dominated() -> None:
    """The other machine costs less by the hour, and could do the run."""
    cheap = offer("3", name="cheap")
    of = two_thirds(HALF)
    of = replace(of, offers=(*of.offers, cheap), machines={**of.machines, cheap.machine: cheap})
    of = replace(of, serving=(*of.serving, serving(cheap, [1])))
    assert HALF in prune(of).case.offers
    assert {one.machine for one in prune(of).case.serving} == {RENTED.machine, cheap.machine}


def test_the_use_of_a_rate_can_be_forced() -> None:
    """At a rate above two thirds, a promise for the second node costs more than it saves."""
    dear = rate("3.9", term_months=36)
    of = two_thirds(HALF, dear, max_term_months=36)
    found = forced_optimum(of, dear.key, EXACT)
    assert savings_plan_of(dear) in {one.id for one in found.purchases}
    assert found.total_usd > solved(of).total_usd


def _planned(of: Case) -> Optimum:
    found = optimize(of, EXACT)
    assert check(assembled(of, found), of) == ()
    assert same_cost(float(found.total_usd), float(solved(of).total_usd))
    return found


def _plan(found: Optimum) -> Purchase:
    (plan,) = (one for one in found.purchases if one.savings)
    return plan


def _promised(found: Optimum) -> Decimal:
    savings = _plan(found).savings
    assert savings is not None
    return savings.usd_per_hour


def _line(found: Optimum, key: str) -> Purchase:
    (line,) = (one for one in found.purchases if one.id == key)
    return line
