"""Pools for prompts and answers: the cheapest plan among all ways to have them, or not."""

import math
from dataclasses import replace

import numpy as np
import pytest
from changed_cases import with_workloads
from oracle import INFEASIBLE, Tiny, cheapest_usd
from pool_cases import (
    SMALL,
    large_and_small,
    pool_case,
    pooled,
    pools_of_two,
    without_pools,
)
from priced_out import as_if_large, one_of_each_first, penalties_held, same_bound
from solving import EXACT, assembled, least_usd, no_dearer, program_of, same_cost, solved

from broker.domain.case import Case
from broker.domain.gpu import Precision
from broker.domain.plan import Status
from broker.domain.pool import Role
from broker.verification.check import check
from solver.milp.branch import branch
from solver.milp.build import build_sets
from solver.milp.drafted import holds, values_of
from solver.milp.dump import lines
from solver.milp.forced import forced_optimum
from solver.milp.local_search import search
from solver.milp.optimize import optimize
from solver.milp.pairs import ways_by_demand
from solver.milp.price_out import relaxed_over_all
from solver.milp.program import build_program
from solver.milp.prune import prune
from solver.milp.sets import Sets, has_hopeless_workload

MANY = [*(pool_case(seed, machines=(3, 5)) for seed in range(25)), *map(pools_of_two, range(25))]
"""Cases that are too large to try everything."""


def test_pools_of_two_gpu_models_are_taken_where_they_are_cheapest() -> None:
    """A day of one large and two small nodes is 144 dollars; of two large ones 192."""
    of = large_and_small(2)
    optimum = optimize(of, EXACT)
    assert optimum.total_usd == 144
    pools = {one.candidate.pool.role: one for one in optimum.serving if one.candidate.pool}
    assert pools[Role.PREFILL].candidate.gpu == "H100-SXM"
    assert pools[Role.DECODE].candidate.gpu == "L40S"
    assert [step.replicas for step in pools[Role.DECODE].steps] == [2]
    assert [step.requests_per_s for one in pools.values() for step in one.steps] == [(4,), (4,)]
    assert check(assembled(of, optimum), of) == ()


def test_replicas_that_do_both_are_taken_where_they_are_cheapest() -> None:
    of = large_and_small(4)
    optimum = optimize(of, EXACT)
    assert optimum.total_usd == 96
    assert [one.candidate.pool for one in optimum.serving] == [None]
    assert check(assembled(of, optimum), of) == ()


@pytest.mark.parametrize(
    "apart", [{"precision": Precision.FP8}, {"link": 16.0}], ids=["format", "link"]
)
def test_pools_that_do_not_fit_together_serve_nobody(apart: dict[str, object]) -> None:
    of = large_and_small(2)
    changed = [
        pooled(SMALL, Role.DECODE, 2, **apart)  # type: ignore[arg-type]
        if one.candidate.pool and one.candidate.pool.role is Role.DECODE
        else one
        for one in of.serving
    ]
    assert optimize(replace(of, serving=tuple(changed)), EXACT).total_usd == 192


def test_a_service_that_does_not_ask_for_pools_has_none() -> None:
    of = with_workloads(large_and_small(2), {"services.0.disaggregated": False})
    assert optimize(of, EXACT).total_usd == 192


def test_rows_of_pools_together() -> None:
    """Kinds 0 and 3 do both, on a large and on a small node; those that decode come before."""
    of = large_and_small(2)
    row = "pools_together[chat,us-east,acme/here,infiniband,cuda,,bf16,32.0]"
    assert list(lines(program_of(of), "pools_together")) == [
        f"{row}: 0 <= -1 kind_used[1] +1 kind_used[2] -1 kind_used[4] +1 kind_used[5] <= 0",
    ]
    assert list(lines(program_of(of), "kind_limit")) == [
        "kind_limit[0]: 1 <= +1 kind_used[0] +1 kind_used[1] +1 kind_used[3] +1 kind_used[4] <= 1",
        "kind_limit[1]: 0 <= +1 kind_used[2] +1 kind_used[5] <= 1",
    ]


def cheapest_way_usd(of: Case) -> float:
    ways = (cheapest_usd(Tiny(one, most_committed=6)) for one in without_pools(of))
    return min(ways, default=INFEASIBLE)


@pytest.mark.parametrize("seed", range(40))
def test_pools_cost_what_enumeration_finds(seed: int) -> None:
    tiny = pool_case(seed)
    expected = cheapest_way_usd(tiny)
    optimum = solved(tiny)
    if expected == INFEASIBLE:
        assert optimum.status is Status.INFEASIBLE
    else:
        assert float(optimum.total_usd) == pytest.approx(expected, rel=1e-5, abs=1e-4)
        assert check(assembled(tiny, optimum), tiny) == ()


def test_pools_are_used_where_they_are_cheaper_and_are_of_other_gpus() -> None:
    optima = [solved(pool_case(seed)) for seed in range(40)]
    pooled = [one for one in optima if any(each.candidate.pool for each in one.serving)]
    mixed = [one for one in pooled if len({each.candidate.gpu for each in one.serving}) > 1]
    whole = [one for one in optima if one.serving and one not in pooled]
    assert len(pooled) > 5
    assert len(mixed) > 2
    assert len(whole) > 9


def test_two_services_cost_what_the_best_of_all_their_ways_costs() -> None:
    for of in map(pools_of_two, range(8)):
        ways = [least_usd(one) for one in without_pools(of)]
        assert same_cost(least_usd(of), min(ways))


@pytest.mark.parametrize("number", range(len(MANY)))
def test_the_search_finds_the_cheapest_plan_and_proves_it(number: int) -> None:
    of = MANY[number]
    whole, found = solved(of), optimize(of, EXACT)
    assert found.status is whole.status
    assert check(assembled(of, found), of) == ()
    assert same_cost(float(found.total_usd), float(whole.total_usd))


def hopeful() -> list[Sets]:
    found = [build_sets(one) for one in MANY]
    return [one for one in found if not has_hopeless_workload(one)]


def test_the_bound_is_that_of_the_whole_relaxed_program() -> None:
    with one_of_each_first():
        assert sum(same_bound(one) is not None for one in hopeful()[::2]) > 10
        for one in hopeful()[::2]:
            early = relaxed_over_all(one, 0.0)
            usd = least_usd(one.case)
            assert early is None or no_dearer(early.bound_usd, usd)


def test_penalties_hold_for_every_plan_with_the_kind() -> None:
    with one_of_each_first():
        assert sum(penalties_held(one) for one in hopeful()[::5]) > 20


def test_adding_up_hours_gives_a_bound_too() -> None:
    with one_of_each_first(), as_if_large():
        for one in hopeful()[::3]:
            found = relaxed_over_all(one, 1e9)
            assert found is None or no_dearer(found.bound_usd, least_usd(one.case))


def test_pruning_never_changes_the_optimal_cost() -> None:
    pruned = [(of, prune(of).case) for of in MANY]
    for of, less in pruned:
        first, second = least_usd(of), least_usd(less)
        assert same_cost(first, second)
    assert sum(len(less.serving) < len(of.serving) for of, less in pruned) > 10


@pytest.mark.long
def test_branching_bounds_every_plan_and_finds_the_cheapest() -> None:
    for one in hopeful()[::3]:
        usd = least_usd(one.case)
        if usd == INFEASIBLE:
            continue
        program = build_program(one)
        found = branch(program, usd * 1.2 + 1, replace(EXACT, gap_fraction=1e-5))
        assert found.solution is not None
        found_usd = float(program.cost @ found.solution.values)
        assert same_cost(found_usd, usd)
        assert found.bound_usd <= usd * (1 + 1e-6) + 1e-4
        assert found.bound_usd >= usd * (1 - 1e-4) - 1e-3


def test_a_plan_that_must_use_an_offer_is_the_cheapest_of_those() -> None:
    held = 0
    for of in map(pool_case, range(0, 12, 3)):
        for key in [one.key for one in of.offers]:
            found = forced_optimum(of, key, EXACT)
            if found.status is not Status.INFEASIBLE:
                ways = [forced_optimum(one, key, EXACT) for one in without_pools(of)]
                plans = [
                    float(one.total_usd) for one in ways if one.status is not Status.INFEASIBLE
                ]
                assert same_cost(float(found.total_usd), min(plans))
                held += 1
    assert held > 3


def test_the_local_search_places_both_pools_of_one_class_or_none() -> None:
    drafts = pooled_ones = best = 0
    for sets in hopeful()[::4]:
        program = build_program(sets)
        found = search(sets, ways_by_demand(sets), seed=0, ends_at=math.inf)
        if found is None:
            continue
        values = values_of(program, found)
        together = next(one for one in program.families if one.family == "pools_together").entries
        rows = np.bincount(together.row, together.coefficient * values[together.column])
        assert not rows.any()
        if holds(program, values):
            usd, least = float(program.cost @ values), least_usd(sets.case)
            assert no_dearer(least, usd)
            drafts += 1
            pooled_ones += any(sets.demands[one].is_prompts for one in found.draft.kinds)
            best += usd <= least * 1.02
    assert drafts > 5
    assert pooled_ones > 2
    assert best > 0.8 * drafts
