"""Pools for prompts and answers over scenarios: one way to serve a demand, whatever comes."""

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest
from changed_cases import with_workloads
from inline_snapshot import snapshot
from joint_rows import joint_lines
from oracle_scenarios import cheapest_over_scenarios
from pool_cases import SMALL, large_and_small, pool_case, pooled, without_pools
from scenario_cases import with_scenarios, without_scenarios
from solving import EXACT, assembled

from broker.domain.case import Case
from broker.domain.plan import ServingAssignment, Status
from broker.domain.pool import Role
from broker.verification.check import check
from solver.milp.optimize import optimize, relaxed_bound_usd
from solver.milp.scenarios.joint import build_joint
from solver.milp.scenarios.same_kinds import same_kinds

POOLED = [22, 25, 29, 32, 34, 36, 37]
WHOLE = [0, 7, 21, 30, 39]
NEITHER = [6, 16]
"""Cases by what serves in their cheapest plans; the last have no plan."""
SHORT = {22, 29, 32, 36, 7, 30, 6}


def torn_case() -> Case:
    """Ask for 2 requests/s a day, or for 4: replicas that do both are cheaper for 2, pools for 4.

    A day of a large node is 96 dollars, of a small one 24. For 2 requests/s one large node does
    both; or it works on prompts, and each small node answers 2 of them.
    """
    growth = {"name": "growth", "probability": 0.5, "load": {"chat": 2}}
    changes = {
        "services.0.traffic.requests_per_s": {"mean": 2, "peak": 2},
        "policy.robust": {"scenarios": [growth]},
    }
    return with_workloads(large_and_small(2), changes)


def drawn(seed: int, measure: str = "mean") -> Case:
    return with_scenarios(pool_case(seed), seed, measure=measure)


def each_way(of: Case) -> Iterator[Case]:
    """Give the cases with one way to serve each, in which prompts grow as their service does."""
    robust = of.workloads.policy.robust
    assert robust is not None
    names = [one.name for one in of.workloads.services]
    scenarios = [
        one.model_copy(
            update={"load": one.load | {f"{name}-prompts": one.load_factor(name) for name in names}}
        )
        for one in robust.scenarios
    ]
    robust = robust.model_copy(update={"scenarios": tuple(scenarios)})
    policy = of.workloads.policy.model_copy(update={"robust": robust})
    for way in without_pools(of):
        yield replace(way, workloads=way.workloads.model_copy(update={"policy": policy}))


def cheapest_way_usd(of: Case) -> float:
    ways = [
        cheapest_over_scenarios(way, way.workloads.policy.robust)
        for way in each_way(of)
        if way.workloads.policy.robust is not None
    ]
    return min(ways, default=math.inf)


def roles(serving: tuple[ServingAssignment, ...]) -> set[Role | None]:
    return {one.candidate.pool.role if one.candidate.pool else None for one in serving}


@pytest.mark.parametrize("measure", ["mean", "cvar"])
@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(seed, marks=[pytest.mark.long] * (seed not in SHORT))
        for seed in (*POOLED, *WHOLE, *NEITHER)
    ],
)
def test_pools_over_scenarios_cost_what_enumeration_finds(seed: int, measure: str) -> None:
    of = drawn(seed, measure)
    expected = cheapest_way_usd(of)
    optimum = optimize(of, EXACT)
    assert (optimum.status is Status.INFEASIBLE) == (expected == math.inf)
    served = {None} if seed in WHOLE else set(Role) if seed in POOLED else set()
    assert roles(optimum.serving) == served
    if expected < math.inf:
        assert float(optimum.objective_usd) == pytest.approx(expected, rel=1e-5, abs=1e-4)
        assert relaxed_bound_usd(of) <= expected * (1 + 1e-6) + 1e-6
    assert check(assembled(of, optimum), of) == ()


def test_a_demand_has_pools_in_every_scenario_or_in_none() -> None:
    """Pools cost 96 + 24 or 96 + 48 dollars; to do both costs 96 or 192, the best of each 120."""
    of = torn_case()
    optimum = optimize(of, EXACT)
    assert optimum.objective_usd == (120 + 144) / 2
    assert optimum.scenarios is not None
    _, growth = optimum.scenarios.scenarios
    assert roles(optimum.serving) == roles(growth.serving) == set(Role)
    assert check(assembled(of, optimum), of) == ()


def test_the_check_refuses_pools_in_one_scenario_alone() -> None:
    of = torn_case()
    plan = assembled(of, optimize(of, EXACT))
    plain = optimize(without_scenarios(of), EXACT)
    assert (plain.total_usd, roles(plain.serving)) == (96, {None})
    parts = {name: getattr(plain, name) for name in ("purchases", "serving", "cost_lines")}
    mixed = plan.model_copy(update={**parts, "total_usd": plain.total_usd})
    found = [one.message for one in check(mixed, of) if one.rule == "scenario_decisions"]
    assert found == ["2 kinds of replica serve it in all scenarios, 1 may"] * len(Role)


def test_the_check_refuses_another_pool_for_prompts_in_a_scenario() -> None:
    of = torn_case()
    plan = assembled(of, optimize(of, EXACT))
    assert plan.scenarios is not None
    forecast, growth = plan.scenarios.scenarios
    other = pooled(SMALL, Role.PREFILL, 0.8)
    assert other in of.serving
    serving = tuple(
        one
        if one.candidate.pool and one.candidate.pool.role is Role.DECODE
        else one.model_copy(update={"candidate": other.candidate, "machine": other.machine})
        for one in growth.serving
    )
    changed = (forecast, growth.model_copy(update={"serving": serving}))
    costs = plan.scenarios.model_copy(update={"scenarios": changed})
    mixed = plan.model_copy(update={"scenarios": costs})
    found = [one.message for one in check(mixed, of) if one.rule == "scenario_decisions"]
    assert found == ["2 kinds of replica serve it in all scenarios, 1 may"]


def test_rows_of_same_kinds_with_pools() -> None:
    of = torn_case()
    robust = of.workloads.policy.robust
    assert robust is not None
    joint = build_joint(of, robust)
    rows = joint_lines(joint, same_kinds(joint))
    assert rows[-4:] == snapshot(
        [
            "same_kinds[most,chat] from -inf to 1",
            "    +1 chosen[0] +1 chosen[1]",
            "same_kinds[most,chat] from -inf to 1",
            "    +1 chosen[2] +1 chosen[3]",
        ]
    )
