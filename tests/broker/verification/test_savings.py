"""A plan with a savings plan: each claim that is wrong is refused, by the rule that it breaks.

Two nodes at 4 USD an hour are rented for 16 h, one for 8 h; 4 USD/h are promised at a rate of 2, of
which 80 of 96 USD are used.
"""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest
from savings_cases import RENTED, rate, two_thirds
from solving import assembled, solved

from broker.domain.case import Case
from broker.domain.plan import CostLine, Plan, Purchase, SavingsPlan, Term
from broker.verification.check import check

OTHER = rate("3", scope="ec2:p5")


@pytest.fixture(scope="module")
def case() -> Case:
    return two_thirds(rate("2"), OTHER)


@pytest.fixture(scope="module")
def plan(case: Case) -> Plan:
    return assembled(case, solved(case))


def test_a_plan_that_is_right_is_accepted(plan: Plan, case: Case) -> None:
    assert check(plan, case) == ()


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        (lambda one: {"usd_per_hour": Decimal("3.9995")}, "savings_plans"),
        (lambda one: {"usd_per_hour": Decimal(3)}, "savings_coverage"),
        (lambda one: {"usd_per_hour": Decimal(6)}, "outliving_savings"),
        (lambda one: {"usd_per_hour": Decimal(0)}, "savings_figures"),
        (lambda one: {"utilization": 1.0}, "savings_figures"),
        (lambda one: {"steady": ()}, "outliving_savings"),
        (lambda one: {"steady": _more(one, nodes=3)}, "outliving_commitments"),
        (lambda one: {"steady": _more(one, offer=OTHER.key)}, "outliving_savings"),
        (lambda one: {"covers": _cover(one, offer=OTHER.key)}, "savings_plans"),
        (lambda one: {"covers": _cover(one, usd=Decimal(81))}, "savings_figures"),
        (lambda one: {"covers": _cover(one, usd=Decimal("80.000002"))}, "savings_figures"),
        (lambda one: {"covers": _cover(one, node_hours=Decimal(41))}, "savings_figures"),
        (lambda one: {"covers": _cover(one, line="elsewhere")}, "savings_figures"),
        (lambda one: {"covers": _cover(one, steps=one.covers[0].steps[:1])}, "savings_coverage"),
    ],
)
def test_what_the_plan_says_of_itself_is_held_to_its_case(
    plan: Plan, case: Case, changed: Callable[[SavingsPlan], dict[str, object]], rule: str
) -> None:
    def update(one: Purchase) -> dict[str, object]:
        assert one.savings is not None
        return {"savings": one.savings.model_copy(update=changed(one.savings))}

    assert rule in _broken(plan, case, update)


@pytest.mark.parametrize(
    ("update", "rule"),
    [
        ({"id": "acme/compute"}, "savings_plans"),
        ({"node_hours": Decimal(1)}, "savings_plans"),
        ({"breakeven_utilization": 0.6}, "savings_figures"),
        ({"breakeven_utilization": None}, "savings_figures"),
        ({"upfront_usd": Decimal(1)}, "purchase_cost"),
        ({"later_usd": Decimal(1)}, "purchase_cost"),
        ({"usd": Decimal(95)}, "purchase_cost"),
        ({"savings": None}, "savings_plans"),
        ({"savings": None}, "price_kinds"),
    ],
)
def test_the_purchase_is_held_to_what_is_promised(
    plan: Plan, case: Case, update: dict[str, object], rule: str
) -> None:
    assert rule in _broken(plan, case, lambda _: update)


@pytest.mark.parametrize(
    ("policy", "rule"),
    [
        ({"savings_plans": False}, "savings_plans"),
        ({"max_term_months": 6}, "commitment_terms"),
        ({"payments": ("all_upfront",)}, "commitment_terms"),
    ],
)
def test_the_policy_is_kept(plan: Plan, case: Case, policy: dict[str, object], rule: str) -> None:
    commitments = case.workloads.policy.commitments.model_copy(update=policy)
    terms = case.workloads.policy.model_copy(update={"commitments": commitments})
    file = case.workloads.model_copy(update={"policy": terms})
    plan = plan.model_copy(update={"workloads": file})
    assert {one.rule for one in check(plan, replace(case, workloads=file))} == {rule}


def test_covered_hours_are_no_discount_without_a_plan(plan: Plan, case: Case) -> None:
    rented = next(one for one in plan.purchases if one.offer == RENTED.key)
    alone = plan.model_copy(
        update={"purchases": (rented,), "cost_lines": (), "total_usd": 0, "bound_usd": 0}
    )
    assert {one.rule for one in check(alone, case)} == {"savings_coverage"}


def test_the_line_of_a_plan_has_its_own_term(plan: Plan, case: Case) -> None:
    (line,) = plan.cost_lines
    moved = CostLine(term=Term.COMMITMENT_HOURS, subject=line.subject, usd=line.usd)
    other = plan.model_copy(update={"cost_lines": (moved,)})
    assert {one.rule for one in check(other, case)} == {"cost_lines"}


def _more(one: SavingsPlan, **update: object) -> tuple[object, ...]:
    return tuple(steady.model_copy(update=update) for steady in one.steady)


def _cover(one: SavingsPlan, **update: object) -> tuple[object, ...]:
    return tuple(cover.model_copy(update=update) for cover in one.covers)


def _broken(plan: Plan, case: Case, update: Callable[[Purchase], dict[str, object]]) -> set[str]:
    purchases = tuple(
        one.model_copy(update=update(one)) if one.savings else one for one in plan.purchases
    )
    changed = plan.model_copy(update={"purchases": purchases})
    return {one.rule for one in check(changed, case)}
