"""Plans over scenarios: whatever figure of a scenario is off, the plan is refused."""

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache

import pytest
from changed_figures import is_accepted, leaves, name_of, off_by_little, replaced
from scenario_cases import hedged_case, scenario_case, without_scenarios
from solving import EXACT, assembled

from broker.domain.case import Case
from broker.domain.plan import Comparison, Plan, ScenarioCosts, ScenarioPlan, Status
from broker.domain.strategies import StrategyName
from broker.verification.check import check
from solver.milp.optimize import optimize

SEEDS = (7, 16, 27)


@cache
def solved(seed: int) -> tuple[Plan, Case]:
    of = scenario_case(seed, measure="cvar")
    return assembled(of, optimize(of, EXACT)), of


@cache
def hedged() -> tuple[Plan, Case]:
    of = hedged_case(probability=0.5)
    return assembled(of, optimize(of, EXACT)), of


def rules(plan: Plan, of: Case) -> set[str]:
    return {one.rule for one in check(plan, of)}


def with_costs(plan: Plan, **changes: object) -> Plan:
    assert plan.scenarios is not None
    return plan.model_copy(update={"scenarios": plan.scenarios.model_copy(update=changes)})


def with_growth(plan: Plan, change: Callable[[ScenarioPlan], Mapping[str, object]]) -> Plan:
    assert plan.scenarios is not None
    forecast, growth = plan.scenarios.scenarios
    return with_costs(plan, scenarios=(forecast, growth.model_copy(update=dict(change(growth)))))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("sign", [1, -1], ids=["more", "less"])
def test_a_plan_with_any_one_figure_of_a_scenario_changed_is_refused(seed: int, sign: int) -> None:
    plan, of = solved(seed)
    root = json.loads(plan.model_dump_json(by_alias=True))
    places = list(leaves(root["scenarios"], ("scenarios",)))
    assert len(places) > 60
    unnoticed = [
        (place, other)
        for place, value in places
        if not (sign > 0 and name_of(place) == "requests_per_s" and "candidate" not in place)
        for other in [off_by_little(name_of(place), value, sign)]
        if is_accepted(replaced(root, place, other), of)
    ]
    assert unnoticed == []


def test_a_plan_that_holds_in_every_scenariois_accepted() -> None:
    for plan, of in (*(solved(seed) for seed in SEEDS), hedged()):
        assert check(plan, of) == ()


def test_scenarios_are_due_where_the_policy_has_them_and_nowhere_else() -> None:
    plan, of = hedged()
    assert "scenarios" in rules(plan.model_copy(update={"scenarios": None}), of)
    plain = without_scenarios(of)
    other = assembled(plain, optimize(plain, EXACT))
    assert check(other, plain) == ()
    stolen = other.model_copy(update={"scenarios": plan.scenarios})
    assert "scenarios" in rules(stolen, plain)


def test_a_plan_of_the_forecast_does_not_pass_as_one_of_all_scenarios() -> None:
    plan, of = hedged()
    plain = without_scenarios(of)
    cheap = assembled(plain, optimize(plain, EXACT))
    parts = {name: getattr(cheap, name) for name in ("purchases", "serving", "cost_lines")}
    mixed = plan.model_copy(update={**parts, "total_usd": cheap.total_usd})
    assert {"scenarios", "scenario_decisions"} <= rules(mixed, of)


def test_each_scenario_carries_its_own_load() -> None:
    plan, of = hedged()
    few = with_growth(plan, lambda growth: {"serving": plan.serving})
    found = [one for one in check(few, of) if one.rule == "serve_load"]
    assert [one.subject for one in found] == ["chat/us-east in scenario 'growth'"]


def test_each_scenario_pays_its_own_prices() -> None:
    plan, of = hedged()

    def cheaply(growth: ScenarioPlan) -> Mapping[str, object]:
        purchases = tuple(
            one.model_copy(update={"usd": one.usd / 10}) if one.price_kind == "on_demand" else one
            for one in growth.purchases
        )
        return {"purchases": purchases}

    assert "purchase_cost" in rules(with_growth(plan, cheaply), of)


def test_a_scenario_has_the_commitments_of_the_plan() -> None:
    plan, of = hedged()

    def uncommitted(growth: ScenarioPlan) -> Mapping[str, object]:
        rented = [one for one in growth.purchases if one.price_kind == "on_demand"]
        return {"purchases": tuple(rented)}

    assert "scenario_decisions" in rules(with_growth(plan, uncommitted), of)


def test_a_node_is_committed_only_if_some_scenario_needs_it() -> None:
    plan, of = hedged()
    assert plan.scenarios is not None
    found = {one.rule for one in check(_doubled(plan), of)}
    assert "scenario_decisions" not in found  # growth needs three nodes
    many = _doubled(_doubled(plan))
    messages = [one.message for one in check(many, of) if one.rule == "scenario_decisions"]
    assert messages == ["1 committed nodes are needed in no scenario"]


def _doubled(plan: Plan) -> Plan:
    """Commit to twice as many nodes in every scenario, whatever that costs."""
    assert plan.scenarios is not None

    def twice(purchases: object) -> object:
        assert isinstance(purchases, tuple)
        return tuple(
            one.model_copy(
                update={
                    "steps": tuple(
                        step.model_copy(update={"nodes": 2 * step.nodes}) for step in one.steps
                    )
                }
            )
            if one.price_kind == "reserved"
            else one
            for one in purchases
        )

    scenarios = tuple(
        one.model_copy(update={"purchases": twice(one.purchases)})
        for one in plan.scenarios.scenarios
    )
    doubled = plan.model_copy(update={"purchases": twice(plan.purchases)})
    return with_costs(doubled, scenarios=scenarios)


def test_bound_and_gap_are_of_the_objective_and_not_of_the_forecast() -> None:
    plan, of = hedged()
    assert plan.bound_usd > plan.total_usd
    assert "proof" in rules(plan.model_copy(update={"bound_usd": plan.total_usd}), of)
    assert plan.scenarios is not None
    cheap = with_costs(plan, objective_usd=plan.total_usd)
    assert {"scenarios", "proof"} <= rules(cheap, of)


def test_a_strategy_is_compared_by_what_is_minimized() -> None:
    plan, of = hedged()

    def told(usd: Decimal) -> set[str]:
        one = Comparison(
            strategy=StrategyName.NO_SPOT.value,
            status=Status.OPTIMAL,
            total_usd=usd,
            bound_usd=usd,
            gap_fraction=0.0,
        )
        return rules(plan.model_copy(update={"comparisons": (one,)}), of)

    assert told(plan.objective_usd) == set()
    assert told(plan.objective_usd + 1) == {"comparisons"}
    assert told(plan.total_usd) == {"comparisons"}


def test_a_scenario_may_not_be_left_out_or_told_of_otherwise() -> None:
    plan, of = hedged()
    costs = plan.scenarios
    assert isinstance(costs, ScenarioCosts)
    assert "scenarios" in rules(with_costs(plan, scenarios=costs.scenarios[:1]), of)
    likelier = with_growth(plan, lambda _: {"probability": Decimal("0.4")})
    assert "scenarios" in rules(likelier, of)
