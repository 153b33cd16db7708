"""Every strategy is solved on its own, with a bound of its own, and takes the best plan known."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

import pytest
from random_cases import random_case
from solving import EXACT, assembled, least_usd, no_dearer, same_cost
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads
from two_shops import COSTS_USD, JOINT_USD, two_shops, with_gpu

from broker.domain.case import Case, OwnedNodes
from broker.domain.gpu import GpuModel
from broker.domain.plan import Status
from broker.domain.strategies import StrategyName, split_name
from broker.planning.comparisons import Solved, _with_each_others_plans, solve_beside
from broker.planning.strategies import Choice, Strategy, strategies
from broker.planning.strategy_search import Compared
from broker.specs.load import load_specs
from broker.verification.check import check
from solver.milp.optimize import optimize
from solver.milp.solve import Limits


@pytest.fixture(scope="module")
def gpus() -> Mapping[str, GpuModel]:
    return load_specs().gpus


def solved_beside(
    of: Case,
    gpus: Mapping[str, GpuModel],
    limits: Limits = EXACT,
    *,
    budget_s: float = 2 * EXACT.time_limit_s,
) -> Solved:
    return solve_beside(
        of,
        strategies(of, gpus),
        limits,
        gap=limits.gap_fraction,
        budget_s=budget_s,
        progress=lambda _: None,
    )


def beside_in_no_time(of: Case, gpus: Mapping[str, GpuModel]) -> Solved:
    """Give the joint plan its time, and the strategies none."""
    return solved_beside(of, gpus, budget_s=0)


def strategy(name: StrategyName, of: Case, gpus: Mapping[str, GpuModel]) -> Strategy:
    return next(one for one in strategies(of, gpus) if one.name is name)


def test_every_strategy_costs_what_was_worked_out_by_hand(gpus: Mapping[str, GpuModel]) -> None:
    found = solved_beside(two_shops(), gpus)
    assert found.joint.total_usd == JOINT_USD
    assert found.joint.status is Status.OPTIMAL
    assert {one.strategy: one.total_usd for one in found.comparisons} == COSTS_USD
    assert all(one.status is Status.OPTIMAL for one in found.comparisons)
    assert found.unknown == ()


def test_a_strategy_that_cannot_meet_the_demand_has_no_plan(gpus: Mapping[str, GpuModel]) -> None:
    of = two_shops(owned_nodes=1)
    quota = {"provider": "acme", "price_kind": "on_demand", "gpus": 0}
    data = of.workloads.model_dump(by_alias=True) | {"quotas": [quota]}
    of = replace(of, workloads=type(of.workloads).model_validate(data, strict=False))
    found = {one.strategy: one for one in solved_beside(of, gpus).comparisons}
    kept = found["today's inventory kept"]
    assert (kept.status, kept.total_usd, kept.bound_usd) == (Status.INFEASIBLE, None, None)
    assert found["no spot"].status is Status.OPTIMAL


def test_where_nothing_fits_a_workload_it_is_named(gpus: Mapping[str, GpuModel]) -> None:
    big = offer("4", provider="acme")
    small, cheap = (with_gpu(offer(usd, provider=f"bolt{usd}"), "L4") for usd in ("1", "2"))
    file = workloads(services=[service_entry(1, 1)], training=[run_entry(3600.0)])
    options = [serving(small, [1]), serving(cheap, [1])]
    of = case(file, [big, small, cheap], serving=options, training=[training(big)])
    of = replace(of, owned=(OwnedNodes(small.machine, 1, None),))
    found = solved_beside(of, gpus)
    assert found.joint.total_usd == 8 * 4  # the run, in one slot; chat is on the owned node
    assert found.remarks == (
        "today's inventory kept: nothing in it fits tune",
        "one GPU model for all: there is none that fits every workload",
        "one NVIDIA generation for all: there is none that fits every workload",
    )


def test_a_plan_that_buys_nothing_keeps_to_every_strategy(gpus: Mapping[str, GpuModel]) -> None:
    box = offer("4")
    file = workloads(services=[service_entry(1, 1)])
    of = case(file, [], serving=[serving(box, [1])], owned=[(box, 1)])
    found = solved_beside(of, gpus)
    assert found.joint.status is Status.OPTIMAL
    assert {one.total_usd for one in found.comparisons} == {0}
    assert "best single provider" in {one.strategy for one in found.comparisons}
    plan = assembled(of, found.joint).model_copy(update={"comparisons": found.comparisons})
    assert check(plan, of) == ()


def test_where_the_joint_plan_keeps_the_rules_nothing_is_searched(
    gpus: Mapping[str, GpuModel],
) -> None:
    cheap, dear = offer("3", provider="acme"), offer("4", provider="bolt")
    file = workloads(services=[service_entry(1, 1)])
    of = case(file, [cheap, dear], serving=[serving(cheap, [1]), serving(dear, [1])])
    found = beside_in_no_time(of, gpus)
    assert found.joint.total_usd == 24 * 3
    assert {one.total_usd for one in found.comparisons} == {24 * 3}
    assert "best single provider: acme" in {one.strategy for one in found.comparisons}
    assert {one.bound_usd for one in found.comparisons} == {found.joint.bound_usd}
    assert found.unknown == ()


def test_without_time_what_the_joint_plan_does_not_tell_is_not_compared(
    gpus: Mapping[str, GpuModel],
) -> None:
    found = beside_in_no_time(two_shops(), gpus)
    assert found.joint.total_usd == JOINT_USD
    assert {one.strategy: one.total_usd for one in found.comparisons} == {
        "no sharing of nodes": JOINT_USD
    }
    assert len(found.unknown) == len(COSTS_USD) - 1


def test_where_there_is_no_joint_plan_no_narrower_one_is_searched(
    gpus: Mapping[str, GpuModel],
) -> None:
    box = offer("4", max_nodes=1)
    of = case(workloads(services=[service_entry(2, 2)]), [box], serving=[serving(box, [1])])
    found = beside_in_no_time(of, gpus)
    assert found.joint.status is Status.INFEASIBLE
    assert not found.joint.ran_out_of_time
    assert {one.status for one in found.comparisons} == {Status.INFEASIBLE}
    assert found.unknown == ()


@pytest.mark.parametrize("seed", [3, 11, 26])
def test_the_strategies_of_a_random_case_cost_what_their_cases_cost(
    seed: int, gpus: Mapping[str, GpuModel]
) -> None:
    of = random_case(seed)
    found = solved_beside(of, gpus)
    joint = least_usd(of)
    told = {split_name(one.strategy)[0]: one for one in found.comparisons}
    for one in strategies(of, gpus):
        least = min((least_usd(choice.case) for choice in one.choices), default=float("inf"))
        comparison = told[one.name]
        if comparison.total_usd is None or comparison.bound_usd is None:
            assert least == float("inf"), one.name
            continue
        assert same_cost(float(comparison.total_usd), least), one.name
        assert no_dearer(float(comparison.bound_usd), least), one.name
        assert no_dearer(joint, float(comparison.total_usd)), one.name


def test_a_search_that_is_cut_short_still_gives_a_bound_that_holds(
    gpus: Mapping[str, GpuModel],
) -> None:
    limits = Limits(gap_fraction=0.5, time_limit_s=1e-3)
    found = solved_beside(two_shops(), gpus, limits, budget_s=2)
    told = {split_name(one.strategy)[0] for one in found.comparisons}
    assert {*told, *map(StrategyName, found.unknown)} == {split_name(one)[0] for one in COSTS_USD}
    for one in found.comparisons:
        (least,) = [
            usd
            for name, usd in COSTS_USD.items()
            if split_name(name)[0] == split_name(one.strategy)[0]
        ]
        assert one.total_usd is not None
        assert one.bound_usd is not None
        assert one.bound_usd <= least <= one.total_usd


def test_the_joint_plan_takes_a_cheaper_plan_of_a_narrower_search(
    gpus: Mapping[str, GpuModel],
) -> None:
    of = two_shops()
    no_spot = strategy(StrategyName.NO_SPOT, of, gpus)
    rented = strategy(StrategyName.ON_DEMAND_ONLY, of, gpus)
    worse = optimize(rented.choices[0].case, EXACT)
    better = optimize(no_spot.choices[0].case, EXACT)
    joint = Strategy(StrategyName.JOINT, (Choice("", of),))
    results = [
        Compared(joint, joint.choices[0], worse, Decimal(80)),
        Compared(no_spot, no_spot.choices[0], better, Decimal(70)),
    ]
    first, second = _with_each_others_plans(results)
    assert (first.optimum, first.bound_usd) == (better, Decimal(80))
    assert second.bound_usd == Decimal(80)  # no narrower plan costs less than the joint bound


def test_a_strategy_takes_no_plan_that_breaks_its_rules(gpus: Mapping[str, GpuModel]) -> None:
    of = two_shops()
    no_spot = strategy(StrategyName.NO_SPOT, of, gpus)
    single = strategy(StrategyName.SINGLE_PROVIDER, of, gpus)
    joint = Strategy(StrategyName.JOINT, (Choice("", of),))
    best = optimize(of, EXACT)  # bids for spot, and buys from both
    own = optimize(no_spot.choices[0].case, EXACT)
    first, second, third = _with_each_others_plans(
        [
            Compared(joint, joint.choices[0], best, best.bound_usd),
            Compared(no_spot, no_spot.choices[0], own, own.bound_usd),
            Compared(single, is_settled=False),
        ]
    )
    assert first.optimum == best
    assert second.optimum == own
    assert third.name == "best single provider: acme"  # reserves twice, as the plan without spot
    assert third.optimum == own
