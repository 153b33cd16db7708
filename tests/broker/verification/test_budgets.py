"""Budgets held against the plan that all tests start from, by figures worked out from plan.yaml.

By the hour: p5 at 40 USD, on spot at 15; committed p5 at 14 and 5 of its 43,800 upfront, lab's
contract at 20 and 1 of its 730.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from broker.domain.case import Case
from broker.domain.offer import PriceKind
from broker.domain.plan import CostLine, Plan, Status, Term
from broker.verification.check import check

Under = Callable[[Mapping[str, object]], tuple[Plan, Case]]


def _found(under: Under, *budgets: dict[str, object], rule: str = "budgets") -> list[str]:
    plan, case = under({"policy.budgets": list(budgets)})
    assert {one.rule for one in check(plan, case)} <= {rule}
    return [one.message for one in check(plan, case)]


def test_what_an_hour_costs_counts_committed_nodes_with_their_upfront_part(under: Under) -> None:
    plan, case = under({})
    hourly = {one.key: one.effective_usd_per_hour for one in case.offers}
    held = [
        (step, step.nodes * hourly.get(one.offer, Decimal(0)))
        for one in plan.purchases
        for step in one.steps
    ]
    most = max(
        sum((usd for step, usd in held if step.from_at <= other.from_at < step.to_at), Decimal(0))
        for other, _ in held
    )
    assert _found(under, {"usd_per_hour": float(most)}) == []
    (message,) = _found(under, {"usd_per_hour": float(most) - 0.01})
    assert message.startswith(f"the plan spends {most:,.6f} an hour at ")


@pytest.mark.parametrize("provider", ["aws", "lab"])
def test_a_provider_is_charged_its_own_purchases(under: Under, provider: str) -> None:
    plan, _ = under({})
    usd = sum(one.usd for one in plan.purchases if one.offer.startswith(provider))
    assert _found(under, {"provider": provider, "usd": float(usd)}) == []
    (message,) = _found(under, {"provider": provider, "usd": float(usd) - 1})
    assert message.startswith(f"provider {provider} spends {usd:,.6f} in the horizon; ")


def test_a_run_is_charged_its_nodes_at_list_prices_and_its_data(under: Under) -> None:
    """`tune` holds 2 rented nodes of 40 USD, and its data comes for 90."""
    plan, _ = under({})
    (tune,) = (one for one in plan.training if one.run == "tune")
    hours = sum((step.to_at - step.from_at).total_seconds() / 3600 for step in tune.steps)
    usd = 2 * 40 * hours + 90
    assert _found(under, {"workload": "tune", "usd": usd}) == []
    (message,) = _found(under, {"workload": "tune", "usd": usd - 1})
    assert message.startswith(f"workload tune spends {usd:,.6f} in the horizon; ")


def test_a_month_has_730_hours(under: Under) -> None:
    plan, case = under({})
    a_month = float(plan.total_usd) / case.workloads.horizon.hours * 730
    assert _found(under, {"usd_per_month": a_month + 1}) == []
    assert len(_found(under, {"usd_per_month": a_month - 1})) == 1


def test_a_month_of_the_calendar_has_the_cash_that_falls_due_in_it(under: Under) -> None:
    """Of 32 days 31 are December's, and so are all upfront parts; data is no part of it."""
    plan, case = under({})
    hourly = {one.key: one.usd_per_hour for one in case.offers}
    january = datetime(2027, 1, 1, tzinfo=UTC)
    usd = Decimal(0)
    for one in plan.purchases:
        if one.price_kind is not PriceKind.OWNED and one.offer.startswith("lab"):
            usd += one.upfront_usd
            for step in one.steps:
                span_s = (min(step.to_at, january) - min(step.from_at, january)).total_seconds()
                usd += step.nodes * hourly[one.offer] * Decimal(span_s) / 3600
    due = float(usd)
    budget = {"provider": "lab", "usd_per_calendar_month": due}
    assert _found(under, budget, rule="month_budgets") == []
    budget = {"provider": "lab", "usd_per_calendar_month": due - 1}
    (message,) = _found(under, budget, rule="month_budgets")
    assert message == (
        f"provider lab has {due:,.6f} fall due in 2026-12; {due - 1:,.6f} is the budget of a month"
    )


def test_a_runs_data_falls_due_where_its_window_begins(under: Under) -> None:
    """`tune` holds 2 rented nodes of 40 USD in December, and its data comes for 90."""
    plan, _ = under({})
    (tune,) = (one for one in plan.training if one.run == "tune")
    hours = sum((step.to_at - step.from_at).total_seconds() / 3600 for step in tune.steps)
    usd = 2 * 40 * hours + 90
    budget = {"workload": "tune", "usd_per_calendar_month": usd}
    assert _found(under, budget, rule="month_budgets") == []
    budget = {"workload": "tune", "usd_per_calendar_month": usd - 1}
    assert len(_found(under, budget, rule="month_budgets")) == 1


def test_what_is_over_a_soft_budget_must_be_counted(under: Under) -> None:
    plan, case = under({"policy.budgets": [{"usd": 1000, "over_usd_per_usd": 0.5}]})
    due = (plan.total_usd - 1000) / 2
    (found,) = check(plan, case)
    assert (found.rule, found.subject) == ("cost_lines", "policy.budgets[0]")
    assert found.message == f"the over_budget line is missing; it is due {due:.6f}"
    line = CostLine(term=Term.OVER_BUDGET, subject="policy.budgets[0]", usd=due)
    total = plan.total_usd + due
    counted = plan.model_copy(
        update={
            "cost_lines": (*plan.cost_lines, line),
            "total_usd": total,
            "status": Status.FEASIBLE,
            "gap_fraction": float((total - plan.bound_usd) / total),
        }
    )
    assert check(counted, case) == ()
