"""Promises over scenarios: the same in each, used somewhere, and stated as each one has it."""

import json
from collections.abc import Callable
from decimal import Decimal
from functools import cache

import pytest
from changed_figures import is_accepted, leaves, name_of, off_by_little, replaced
from random_cases import savings_case
from scenario_cases import owned_until_growth, with_scenarios
from solving import EXACT, assembled

from broker.domain.case import Case
from broker.domain.plan import Plan, Purchase, SavingsPlan, SteadyNodes
from broker.verification.check import check
from solver.milp.optimize import optimize

RULE = "scenario_decisions"
COARSE = {"nodes": "0.00001", "usd": "0.01"}
"""What the rules can tell of covered nodes and their dollars."""


@cache
def idle_as_forecast() -> tuple[Plan, Case]:
    of = owned_until_growth()
    return assembled(of, optimize(of, EXACT)), of


@cache
def outliving() -> tuple[Plan, Case]:
    of = with_scenarios(savings_case(13), 13, measure="mean")
    return assembled(of, optimize(of, EXACT)), of


def with_promises(
    plan: Plan, change: Callable[[SavingsPlan], SavingsPlan], *, forecast: bool, growth: bool
) -> Plan:
    """Change what savings plans say of themselves, as forecast or in the other scenario."""

    def changed(some: tuple[Purchase, ...]) -> tuple[Purchase, ...]:
        return tuple(
            one.model_copy(update={"savings": change(one.savings)}) if one.savings else one
            for one in some
        )

    assert plan.scenarios is not None
    first, other = plan.scenarios.scenarios
    if growth:
        other = other.model_copy(update={"purchases": changed(other.purchases)})
    costs = plan.scenarios.model_copy(update={"scenarios": (first, other)})
    purchases = changed(plan.purchases) if forecast else plan.purchases
    return plan.model_copy(update={"scenarios": costs, "purchases": purchases})


def messages(plan: Plan, of: Case, rule: str) -> list[str]:
    return [one.message for one in check(plan, of) if one.rule == rule]


def test_a_plan_that_is_right_is_accepted() -> None:
    for plan, of in (idle_as_forecast(), outliving()):
        assert check(plan, of) == ()
        assert any(one.savings for one in plan.purchases)


def test_as_much_is_promised_in_every_scenario() -> None:
    plan, of = outliving()

    def more(one: SavingsPlan) -> SavingsPlan:
        return one.model_copy(update={"usd_per_hour": one.usd_per_hour + Decimal("0.001")})

    found = messages(with_promises(plan, more, forecast=False, growth=True), of, RULE)
    assert found == ["is committed to otherwise in scenario 'growth'"]


def test_a_promise_covers_something_in_a_scenario() -> None:
    plan, of = idle_as_forecast()

    def nothing(one: SavingsPlan) -> SavingsPlan:
        return one.model_copy(update={"covers": ()})

    found = messages(with_promises(plan, nothing, forecast=False, growth=True), of, RULE)
    assert found == ["promises dollars that cover nothing in any scenario"]


def test_steady_nodes_are_those_that_are_forecast() -> None:
    plan, of = outliving()
    (rate, *_) = [one.savings.steady[0] for one in plan.purchases if one.savings]

    def steady(one: SavingsPlan) -> SavingsPlan:
        return one.model_copy(update={"steady": (SteadyNodes(offer=rate.offer, nodes=1),)})

    found = messages(with_promises(plan, steady, forecast=False, growth=True), of, RULE)
    assert found == ["states steady nodes in scenario 'growth', not as forecast"]

    def unsteady(one: SavingsPlan) -> SavingsPlan:
        return one.model_copy(update={"steady": ()})

    changed = with_promises(plan, unsteady, forecast=True, growth=False)
    assert messages(changed, of, "outliving_savings") != []


@pytest.mark.parametrize("sign", [1, -1], ids=["more", "less"])
def test_no_figure_of_a_promise_in_a_scenario_may_be_off(sign: int) -> None:
    plan, of = outliving()
    root = json.loads(plan.model_dump_json(by_alias=True))
    purchases = root["scenarios"]["scenarios"][1]["purchases"]
    (at,) = [number for number, one in enumerate(purchases) if one["savings"]]
    where = ("scenarios", "scenarios", 1, "purchases", at)
    places = list(leaves(purchases[at], where))
    assert len(places) > 9
    unnoticed = [
        (place, other)
        for place, value in places
        for other in [
            str(Decimal(value) + sign * Decimal(COARSE[name_of(place)]))
            if name_of(place) in COARSE
            else off_by_little(name_of(place), value, sign)
        ]
        if is_accepted(replaced(root, place, other), of)
    ]
    assert unnoticed == []
