"""Targets for commitments: the program finds what trying every plan finds, and no bound is above.

A node costs 4 USD an hour on demand in the cases by hand.
"""

import math
from dataclasses import replace

import pytest
from savings_cases import rate, two_thirds, wide_with_plan
from solving import EXACT, assembled, program_of, same_cost, solved
from target_cases import cheapest_with_targets_usd, target_case
from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.case import Case
from broker.domain.offer import PriceKind
from broker.domain.plan import Status
from broker.verification.check import check
from solver.milp.dump import lines
from solver.milp.optimize import optimize, relaxed_bound_usd
from solver.milp.targets import lacks_commitments

BOX = offer("4")
MONTH = offer("3", kind=PriceKind.RESERVED, term_months=1)
SEEDS = range(30)


@pytest.mark.parametrize("seed", SEEDS)
def test_targets_cost_what_enumeration_finds(seed: int) -> None:
    of = target_case(seed)
    expected = cheapest_with_targets_usd(of)
    found = optimize(of, EXACT)
    if math.isinf(expected):
        assert found.status is Status.INFEASIBLE
        return
    assert same_cost(float(found.total_usd), expected)
    assert same_cost(float(solved(of).total_usd), expected)
    assert check(assembled(of, found), of) == ()
    assert relaxed_bound_usd(of) <= expected * (1 + 1e-6)


def test_some_targets_cost_money_and_some_cannot_be_met() -> None:
    costs = [cheapest_with_targets_usd(target_case(seed)) for seed in SEEDS]
    free = [cheapest_with_targets_usd(_without(target_case(seed))) for seed in SEEDS]
    assert sum(math.isinf(one) for one in costs) > 0
    assert sum(free_usd < usd < math.inf for free_usd, usd in zip(free, costs, strict=True)) > 3


@pytest.mark.parametrize("seed", [1, 7, 19, 21, 24])
def test_with_many_machines_plans_and_targets_no_bound_is_above_the_optimum(seed: int) -> None:
    of = wide_with_plan(seed)
    whole, found = solved(of), optimize(of, EXACT)
    assert found.status is whole.status
    assert same_cost(float(found.total_usd), float(whole.total_usd))
    assert check(assembled(of, found), of) == ()
    if found.purchases:
        assert relaxed_bound_usd(of) <= float(whole.total_usd) * (1 + 1e-6)


def test_a_promise_that_is_just_used_enough_is_not_rounded_up() -> None:
    """A node up for half of the day at 1.5009 USD/h: 1.501 are used for less than half of it."""
    load = {"requests_per_s": {"step": "12 h", "by_size": [[1.0, 0.0]]}}
    file = workloads(
        services=[service_entry(1, 1, traffic=load, min_replicas=0)],
        slot="12 h",
        policy={
            "commitments": {"savings_plans": True},
            "coverage": {"min_commitment_utilization": 0.5},
        },
    )
    of = case(file, [BOX, rate("1.5009")], serving=[serving(BOX, [1])])
    found = optimize(of, EXACT)
    assert check(assembled(of, found), of) == ()
    (plan,) = (one.savings for one in found.purchases if one.savings is not None)
    assert (float(plan.usd_per_hour), plan.utilization) == (1.5, pytest.approx(0.5))


def test_a_share_of_nothing_is_refused_at_once() -> None:
    of = _with(_two_days(), min_committed_share=0.5)
    assert not lacks_commitments(of)
    rented = replace(of, offers=(BOX,))
    assert lacks_commitments(rented)
    found = optimize(rented, EXACT, clock=_no_clock)
    assert (found.status, found.ran_out_of_time) == (Status.INFEASIBLE, False)


def test_work_that_may_all_be_on_spot_needs_no_commitment() -> None:
    """Spot is no firm work, of which the share is asked."""
    spot = offer("1", kind=PriceKind.SPOT)
    for most in (0.9, 1.0):
        file = workloads(
            services=[service_entry(1, 1, spot={"max_share": most})],
            policy={"coverage": {"min_committed_share": 0.5}},
        )
        options = [serving(BOX, [1]), serving(spot, [1], on_spot=True)]
        of = case(file, [BOX, spot], serving=options)
        assert lacks_commitments(of) is (most < 1)
        assert (optimize(of, EXACT).status is Status.INFEASIBLE) is (most < 1)


def test_rows_of_targets() -> None:
    of = _two_days(min_committed_share=0.75, min_commitment_utilization=0.9)
    (share,) = lines(program_of(of), "committed_share")
    assert share == (
        "committed_share[plan]: +24 on_demand_nodes[0,0] +24 on_demand_nodes[0,1]"
        " -6 replicas[0,0] -6 replicas[0,0] -6 replicas[0,1] <= 0"
    )
    assert list(lines(program_of(of), "committed_share")) == [share]
    first, second = (
        f"idle_nodes[0,{period}]: 0 <= +1 idle_nodes[0,{period}] -1 committed_nodes[0]"
        for period in (0, 1)
    )
    assert list(lines(program_of(of), "idle_nodes")) == [
        f"{first} +1 replicas[0,0] +1 replicas[0,1]",
        f"{second} +1 replicas[0,0]",
    ]
    use = "commitment_use[0]: +24 idle_nodes[0,0] +24 idle_nodes[0,1] -4.8 committed_nodes[0] <= 0"
    assert list(lines(program_of(of), "commitment_use")) == [use]


def test_a_savings_plan_is_promised_for_what_is_kept_up_as_is_asked() -> None:
    """The second node is kept up for two thirds of the time, which is less than 0.9."""
    of = two_thirds(rate("2"))
    assert solved(of).total_usd == 96
    of = _with(of, min_commitment_utilization=0.9)
    found = optimize(of, EXACT)
    assert check(assembled(of, found), of) == ()
    (plan,) = (one.savings for one in found.purchases if one.savings)
    assert (plan.usd_per_hour, plan.utilization) == (2, 1)
    assert found.total_usd == 2 * 24 + 4 * 16


def test_a_commitment_that_is_used_too_little_is_refused() -> None:
    plan = assembled(_two_days(), solved(_two_days()))
    of = _with(_two_days(), min_committed_share=0.9)
    broken = check(plan.model_copy(update={"workloads": of.workloads}), of)
    assert [one.rule for one in broken] == ["committed_share"]
    of = two_thirds(rate("2"))
    plan = assembled(of, solved(of))
    of = _with(of, min_commitment_utilization=0.9)
    broken = check(plan.model_copy(update={"workloads": of.workloads}), of)
    assert {one.rule for one in broken} == {"commitment_utilization", "outliving_commitments"}


def test_nodes_that_a_plan_covers_are_committed() -> None:
    """At a rate of 3.9 nothing is promised, unless most of the work must be."""
    of = two_thirds(rate("3.9"))
    of = _with(of, min_committed_share=0.6)
    found = optimize(of, EXACT)
    assert check(assembled(of, found), of) == ()
    assert [one.covered_node_hours for one in found.purchases if not one.savings] == [24]


def _no_clock() -> float:
    raise AssertionError("no time is looked at, as nothing is solved")


def _two_days(**coverage: object) -> Case:
    load = {"requests_per_s": {"step": "24 h", "by_size": [[2.0, 1.0]]}}
    file = workloads(
        services=[service_entry(1, 2, traffic=load)],
        days=2,
        slot="24 h",
        policy={"coverage": coverage},
    )
    return case(file, [BOX, MONTH], serving=[serving(BOX, [1])])


def _with(of: Case, **coverage: object) -> Case:
    policy = of.workloads.policy
    targets = policy.coverage.model_copy(update=coverage)
    policy = policy.model_copy(update={"coverage": targets})
    return replace(of, workloads=of.workloads.model_copy(update={"policy": policy}))


def _without(of: Case) -> Case:
    return _with(of, min_committed_share=0.0, min_commitment_utilization=0.0)
