"""Plans over scenarios: against the oracle, against the check, and by laws."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from changed_cases import with_workloads
from inline_snapshot import snapshot
from joint_rows import joint_lines
from oracle_scenarios import cheapest_over_scenarios
from random_cases import budget_case, handover_case, zone_case
from scenario_cases import (
    drawn,
    hedged_case,
    scenario_case,
    torn_case,
    without_scenarios,
)
from solving import EXACT, assembled, no_dearer, same_cost, solved
from surcharge_cases import surcharge_case
from target_cases import target_case
from tenant_cases import tenant_case

from broker.domain.case import Case
from broker.domain.plan import Status
from broker.verification.check import check
from solver.milp.optimize import optimize, relaxed_bound_usd
from solver.milp.optimum import Optimum
from solver.milp.rows import Rows
from solver.milp.scenarios.joint import FORECAST_FAMILIES, Joint, build_joint
from solver.milp.scenarios.mean_cost import mean_cost
from solver.milp.scenarios.program import JOINT_CONSTRAINTS, joint_families, to_joint_proto
from solver.milp.scenarios.same_decisions import same_decisions
from solver.milp.scenarios.same_kinds import same_kinds
from solver.milp.scenarios.tail_cost import tail_cost
from solver.milp.scenarios.tail_excess import tail_excess
from solver.milp.solve import Limits, solve_model

LIMITS = Limits(gap_fraction=1e-7, time_limit_s=60)
SLOW = {7, 11}
SEEDS = [one for one in range(32) if one not in SLOW]
SHORT = 12
LAW_SEEDS = range(12)


def planned(of: Case) -> Optimum:
    return optimize(of, LIMITS)


def usd(optimum: Optimum) -> float:
    return math.inf if optimum.status is Status.INFEASIBLE else float(optimum.objective_usd)


def joint_of(of: Case) -> Joint:
    robust = of.workloads.policy.robust
    assert robust is not None
    return build_joint(of, robust)


def changed(of: Case, **robust: object) -> Case:
    return with_workloads(of, {f"policy.robust.{key}": value for key, value in robust.items()})


@pytest.mark.parametrize("measure", ["mean", "cvar"])
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.long] * (seed > SHORT)) for seed in SEEDS]
)
def test_a_plan_over_scenarios_costs_what_enumeration_finds(seed: int, measure: str) -> None:
    of = scenario_case(seed, measure=measure)
    assert of.workloads.policy.robust is not None
    expected = cheapest_over_scenarios(of, of.workloads.policy.robust)
    optimum = planned(of)
    assert usd(optimum) == pytest.approx(expected, rel=1e-5, abs=1e-4)
    assert check(assembled(of, optimum, LIMITS), of) == ()


@pytest.mark.long
def test_the_drawn_scenarios_change_what_is_committed_and_what_is_rented() -> None:
    pairs = [(planned(scenario_case(seed)), solved(drawn(seed))) for seed in SEEDS]
    over = [(one, other) for one, other in pairs if one.scenarios is not None]
    committed = [
        {line.id: line.steps for line in one.purchases if line.breakeven_utilization}
        != {line.id: line.steps for line in other.purchases if line.breakeven_utilization}
        for one, other in over
    ]
    rented = [
        len({course.rented_node_hours for course in one.scenarios.scenarios}) > 1
        for one, _ in over
        if one.scenarios is not None
    ]
    assert sum(committed) > 1
    assert sum(rented) > 7


BOTH = {
    "measure": "cvar",
    "alpha": 0.5,
    "scenarios": [
        {
            "name": "growth",
            "probability": 0.3,
            "load": {"all": 1.4},
            "prices": {"on_demand": 1.3, "spot": 1.5},
        },
        {"name": "slump", "probability": 0.2, "load": {"all": 0.5}},
    ],
}


@pytest.mark.parametrize(
    ("make", "seeds"),
    [
        (budget_case, (0, 1, 2)),
        (zone_case, (5, 10, 11)),
        (partial(zone_case, spare_zone=True), (5, 10, 11)),
        (handover_case, (0, 1, 2)),
        (target_case, (0, 3)),
        (tenant_case, (0, 1, 2)),
        (surcharge_case, (0, 1, 2)),
    ],
)
def test_rules_of_every_sort_hold_in_every_scenario(
    make: Callable[[int], Case], seeds: tuple[int, ...]
) -> None:
    accepted = 0
    for seed in seeds:
        of = with_workloads(make(seed), {"policy.robust": BOTH})
        optimum = planned(of)
        assert check(assembled(of, optimum, LIMITS), of) == ()
        accepted += optimum.status is not Status.INFEASIBLE
    assert accepted > 0


@pytest.mark.parametrize("seed", LAW_SEEDS)
def test_a_scenario_that_is_the_forecast_changes_no_cost(seed: int) -> None:
    same = {"name": "same", "probability": 0.4}
    over = planned(with_workloads(drawn(seed), {"policy.robust": {"scenarios": [same]}}))
    plain = solved(drawn(seed))
    assert over.status is plain.status
    assert same_cost(float(over.total_usd), float(plain.total_usd))
    assert same_cost(float(over.objective_usd), float(plain.total_usd))


@pytest.mark.parametrize("seed", LAW_SEEDS)
def test_the_mean_costs_no_more_than_the_worst_courses(seed: int) -> None:
    of = scenario_case(seed)
    mean = planned(of)
    worst = planned(changed(of, measure="cvar", alpha=0.7))
    assert no_dearer(usd(mean), usd(worst))
    assert mean.scenarios is None or mean.scenarios.cvar_usd is None
    if worst.scenarios is not None:
        assert worst.scenarios.cvar_usd == worst.scenarios.objective_usd
        assert worst.scenarios.mean_usd <= worst.scenarios.objective_usd


@pytest.mark.parametrize("seed", LAW_SEEDS)
def test_the_worst_of_all_courses_are_all_courses(seed: int) -> None:
    of = scenario_case(seed)
    assert same_cost(usd(planned(of)), usd(planned(changed(of, measure="cvar", alpha=0))))


@pytest.mark.parametrize("seed", LAW_SEEDS)
def test_more_requests_in_a_scenario_never_cost_less(seed: int) -> None:
    of = scenario_case(seed)
    assert of.workloads.policy.robust is not None
    (first, *_) = of.workloads.policy.robust.scenarios
    factor = 1.3 * first.load_factor("chat")
    more = with_workloads(of, {"policy.robust.scenarios.0.load": {"chat": factor}})
    assert no_dearer(usd(planned(of)), usd(planned(more)))


@pytest.mark.parametrize("measure", ["mean", "cvar"])
@pytest.mark.parametrize("seed", LAW_SEEDS)
def test_no_bound_is_above_a_plan(seed: int, measure: str) -> None:
    of = scenario_case(seed, measure=measure)
    optimum = planned(of)
    assert relaxed_bound_usd(of) <= usd(optimum) * (1 + 1e-6) + 1e-6
    assert optimum.bound_usd <= optimum.objective_usd


def test_a_forecast_of_no_probability_is_planned_as_cheaply_as_it_can_be() -> None:
    of = hedged_case(probability=1)
    optimum = planned(of)
    assert optimum.scenarios is not None
    forecast, growth = optimum.scenarios.scenarios
    assert forecast.probability == 0
    assert growth.total_usd == optimum.objective_usd == 60 + 2 * 240
    assert forecast.total_usd == optimum.total_usd == 60


def test_a_demand_keeps_its_kind_of_replica_whatever_comes() -> None:
    optimum = planned(torn_case())
    assert optimum.scenarios is not None
    _, growth = optimum.scenarios.scenarios
    kinds = {one.candidate.id for one in (*optimum.serving, *growth.serving)}
    assert len(kinds) == 1
    assert usd(optimum) == pytest.approx(24 * (1 + 3) / 2)


def test_growth_is_hedged_by_a_commitment_that_the_forecast_alone_would_not_buy() -> None:
    of = hedged_case(probability=0.5)
    plain, over = solved(without_scenarios(of)), planned(of)
    assert [one.price_kind for one in plain.purchases] == ["on_demand"]
    assert [one.price_kind for one in over.purchases] == ["reserved"]
    assert plain.total_usd == 24
    assert over.objective_usd == (60 + 60 + 2 * 240) / 2


@pytest.mark.parametrize("family", [one.__name__ for one in JOINT_CONSTRAINTS])
def test_a_plan_without_the_family_costs_less(family: str) -> None:
    noticed = []
    drawn_cases = (scenario_case(seed, measure="cvar") for seed in range(30))
    for of in (torn_case(), *drawn_cases):
        joint = joint_of(of)
        whole = _objective(joint, joint_families(joint))
        less = [rows for rows in joint_families(joint) if rows.family != family]
        assert len(less) == len(joint_families(joint)) - 1
        without = _objective(joint, less)
        assert no_dearer(without, whole)
        noticed.append(not same_cost(without, whole) and without < whole)
        if noticed[-1]:
            break
    assert any(noticed)


def _objective(joint: Joint, families: list[Rows]) -> float:
    proto = to_joint_proto(joint, families)
    solution = solve_model(proto.SerializeToString(), EXACT)
    objective = dict(
        zip(
            proto.objective.linear_coefficients.ids,
            proto.objective.linear_coefficients.values,
            strict=True,
        )
    )
    if not len(solution.values):
        return math.inf
    return sum(usd * solution.values[column] for column, usd in objective.items())


def test_families_about_later_and_targets_are_asked_of_the_forecast_alone() -> None:
    joint = joint_of(scenario_case(0))
    first, *others = [
        {rows.family for rows in scenario.program.families} for scenario in joint.scenarios
    ]
    assert first >= FORECAST_FAMILIES
    assert all(first - one == FORECAST_FAMILIES for one in others)


def test_order_of_scenarios_changes_no_cost() -> None:
    of = scenario_case(4)
    assert of.workloads.policy.robust is not None
    robust = of.workloads.policy.robust
    turned = robust.model_copy(update={"scenarios": robust.scenarios[::-1]})
    policy = of.workloads.policy.model_copy(update={"robust": turned})
    other = replace(of, workloads=of.workloads.model_copy(update={"policy": policy}))
    assert same_cost(usd(planned(of)), usd(planned(other)))


@pytest.fixture(scope="module")
def joint() -> Joint:
    return joint_of(changed(hedged_case(probability=0.5), measure="cvar", weight=0.4))


def test_rows_of_same_decisions(joint: Joint) -> None:
    assert joint_lines(joint, same_decisions(joint)) == snapshot(
        [
            "same_decisions[1,committed] from 0 to 0",
            "    +1 f.committed_nodes[0] -1 s.committed_nodes[0]",
        ]
    )


def test_rows_of_same_kinds(joint: Joint) -> None:
    assert joint_lines(joint, same_kinds(joint)) == snapshot(
        [
            "same_kinds[used,0] from -inf to 0",
            "    +1 f.kind_used[0] -1 chosen[0]",
            "same_kinds[used,1] from -inf to 0",
            "    +1 s.kind_used[0] -1 chosen[0]",
            "same_kinds[most,chat] from -inf to 1",
            "    +1 chosen[0]",
        ]
    )


def test_rows_of_tail_excess(joint: Joint) -> None:
    assert joint_lines(joint, tail_excess(joint)) == snapshot(
        [
            "tail_excess[0] from 0 to inf",
            "    -24 f.on_demand_nodes[0,0] -60 f.committed_nodes[0] +1 beyond[0] +1 at_risk",
            "tail_excess[1] from 0 to inf",
            "    -240 s.on_demand_nodes[0,0] -60 s.committed_nodes[0] +1 beyond[1] +1 at_risk",
        ]
    )


def test_terms_of_the_objective(joint: Joint) -> None:
    mean, tail = mean_cost(joint), tail_cost(joint)
    assert [round(float(one), 6) for one in mean.usd] == snapshot([7.2, 18.0, 72.0, 18.0])
    assert [round(float(one), 6) for one in tail.usd] == snapshot([0.4, 2.0, 2.0])
