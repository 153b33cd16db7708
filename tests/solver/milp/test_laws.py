"""Laws between two cases that differ in one thing, on random cases."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
from burst_cases import three_sizes, two_sizes_case
from changed_cases import (
    doubled,
    reversed_workloads,
    shuffled,
    with_another_commitment,
    with_another_machine,
    with_workloads,
    without_runs,
)
from random_cases import random_case
from solving import EXACT, least_usd, no_dearer, program_of, same_cost, solved
from tiny_cases import HOUR, START
from wide_cases import wide_case

from broker.domain.case import Case
from broker.domain.plan import Status
from broker.domain.policy import Sharing
from solver.milp.optimize import optimize, relaxed_bound_usd
from solver.milp.program import to_proto
from solver.milp.solve import Limits

SEEDS = range(45)
FEW_SEEDS = range(20)


def test_a_new_machine_never_raises_the_cost() -> None:
    drawn = [(seed, random_case(seed)) for seed in SEEDS]
    _never_raises((one, with_another_machine(one, seed)) for seed, one in drawn)


def test_a_new_commitment_never_raises_the_cost() -> None:
    drawn = [(seed, wide_case(seed)) for seed in range(20, 60)]
    _never_raises((one, with_another_commitment(one, seed)) for seed, one in drawn)


def test_doubled_prices_double_the_cost() -> None:
    for seed in SEEDS:
        usd = least_usd(random_case(seed))
        assert same_cost(least_usd(doubled(random_case(seed))), 2 * usd), seed


@pytest.mark.parametrize("seed", FEW_SEEDS)
def test_the_order_of_offers_and_options_does_not_change_the_program(seed: int) -> None:
    drawn = wide_case(seed)
    model = to_proto(program_of(drawn)).SerializeToString(deterministic=True)
    other = to_proto(program_of(shuffled(drawn, seed))).SerializeToString(deterministic=True)
    assert model == other


@pytest.mark.parametrize("seed", FEW_SEEDS)
def test_the_order_of_offers_and_options_does_not_change_the_plan(seed: int) -> None:
    drawn = random_case(seed, machines=(3,))
    assert optimize(drawn, EXACT) == optimize(shuffled(drawn, seed), EXACT)


@pytest.mark.parametrize("seed", FEW_SEEDS)
def test_the_order_of_workloads_does_not_change_the_cost(seed: int) -> None:
    drawn = wide_case(seed)
    assert same_cost(least_usd(drawn), least_usd(reversed_workloads(drawn)))


def test_a_larger_quota_never_raises_the_cost() -> None:
    _never_raises(
        (one, with_workloads(one, {"quotas.0.gpus": 6}))
        for one in map(random_case, range(120))
        if one.workloads.quotas
    )


def test_a_larger_spot_share_never_raises_the_cost() -> None:
    _never_raises(
        (one, with_workloads(one, {"services.0.spot.max_share": 1.0}))
        for one in map(random_case, SEEDS)
        if one.workloads.services[0].spot.max_share == 0.5
    )


def test_more_kinds_of_replica_never_raise_the_cost() -> None:
    _never_raises(
        (one, with_workloads(one, {"policy.max_groups": 2}))
        for one in (random_case(seed, machines=(2, 3)) for seed in SEEDS)
        if one.workloads.policy.max_groups == 1
    )


def test_more_burst_kinds_never_raise_the_cost() -> None:
    drawn = [two_sizes_case(seed) for seed in range(45)]
    _never_raises((with_workloads(one, {"policy.burst": None}), one) for one in drawn)
    more = {"policy.burst.max_groups": 3}
    drawn.append(three_sizes(burst={}))
    _never_raises((one, with_workloads(one, more)) for one in drawn)


def test_burst_kinds_that_change_more_often_never_raise_the_cost() -> None:
    every, often = "policy.burst.change_every", "4 h"
    drawn = [with_workloads(two_sizes_case(seed), {every: "16 h"}) for seed in range(45)]
    _never_raises((one, with_workloads(one, {every: often})) for one in drawn)


def test_a_later_deadline_never_raises_the_cost() -> None:
    deadline = "training.0.window.deadline"
    _never_raises(
        (with_workloads(one, {deadline: "2026-12-01T16:00:00Z"}), one)
        for one in map(random_case, SEEDS)
        if one.workloads.training
    )


def test_shared_nodes_never_raise_the_cost() -> None:
    # In the last two a run fits between what a service needs of an owned node.
    _never_raises(
        (one, with_workloads(one, {"policy.sharing": "converged"}))
        for one in map(random_case, (*range(120), 297, 445))
        if one.workloads.policy.sharing is Sharing.SPLIT
    )


def test_a_larger_budget_never_raises_the_cost() -> None:
    _never_raises(
        (one, with_workloads(one, {"policy.budget_usd_per_month": None}))
        for one in map(random_case, range(120))
        if one.workloads.policy.budget_usd_per_month is not None
    )


def test_more_cash_upfront_never_raises_the_cost() -> None:
    _never_raises(
        (one, with_workloads(one, {"policy.commitments": {}}))
        for one in map(random_case, range(120))
        if one.workloads.policy.commitments.max_upfront_usd is not None
    )


def test_a_slot_in_two_halves_changes_nothing_for_a_constant_load() -> None:
    for seed in SEEDS:
        drawn = without_runs(_with_constant_load(random_case(seed)))
        halves = with_workloads(drawn, {"horizon.slot": "PT4H"})
        assert same_cost(least_usd(drawn), least_usd(halves)), seed


def test_a_slot_in_two_halves_never_makes_a_run_dearer() -> None:
    pairs = [_with_constant_load(one) for one in map(random_case, SEEDS) if one.workloads.training]
    _never_raises((one, with_workloads(one, {"horizon.slot": "PT4H"})) for one in pairs)


@pytest.mark.parametrize("seed", range(25))
def test_every_bound_is_under_every_plan(seed: int) -> None:
    drawn = random_case(seed, machines=(2, 3))
    optima = [solved(drawn, Limits(gap, 60)) for gap in (0.9, 0.1, EXACT.gap_fraction)]
    optima += [optimize(drawn, Limits(gap, 60)) for gap in (0.5, EXACT.gap_fraction)]
    if any(one.status is Status.INFEASIBLE for one in optima):
        assert {one.status for one in optima} == {Status.INFEASIBLE}
        return
    totals = [float(one.total_usd) for one in optima]
    bounds = [float(one.bound_usd) for one in optima] + [relaxed_bound_usd(drawn)]
    assert no_dearer(max(bounds), min(totals))


def test_a_wide_gap_leaves_plans_that_are_not_optimal() -> None:
    wide = [solved(random_case(seed, machines=(2, 3)), Limits(0.9, 60)) for seed in range(40)]
    exact = [least_usd(random_case(seed, machines=(2, 3))) for seed in range(40)]
    dearer = [
        float(one.total_usd) > usd * 1.001 for one, usd in zip(wide, exact, strict=True) if usd
    ]
    assert any(dearer)


def _never_raises(pairs: Iterable[tuple[Case, Case]]) -> None:
    """Let the second of each pair cost no more; and less for one of them, or nothing is tested."""
    costs = [(least_usd(before), least_usd(after)) for before, after in pairs]
    assert [pair for pair in costs if not no_dearer(pair[1], pair[0])] == []
    assert any(before > after and not same_cost(before, after) for before, after in costs)


def _with_constant_load(of: Case) -> Case:
    """Let services ask for their peak at any time, and the owned nodes end within the day."""
    changes: dict[str, object] = {}
    for number, service in enumerate(of.workloads.services):
        peak = service.traffic.requests_per_s.peak
        changes[f"services.{number}.traffic.requests_per_s.mean"] = peak
    owned = tuple(replace(one, until=START + 16 * HOUR) for one in of.owned)
    return replace(with_workloads(of, changes), owned=owned)
