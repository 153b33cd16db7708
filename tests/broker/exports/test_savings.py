"""A savings plan in what is made of a plan: 4 USD/h promised for a day, of which 80 of 96 are used.

Half of it is paid at the start. Two nodes are covered for 16 h and one for 8 h.
"""

import csv
import io
from collections.abc import Iterator
from decimal import Decimal
from itertools import groupby

import pytest
from rich.console import Console
from savings_cases import RENTED, rate, two_thirds
from solving import assembled, solved

from broker.domain.offer import PriceKind
from broker.domain.plan import Plan
from broker.exports.buying import bought
from broker.exports.charges import ChargeKind, charges
from broker.exports.forms import FORMS, export
from broker.exports.reasons import reasons
from broker.planning.differences.lines import Window, line_rows, promised_usd, repriced_usd
from broker.planning.explaining.commitments import commitment_reasons
from broker.planning.explaining.rivals import used_up
from broker.planning.nightly.window import first_costs
from broker.reports.plan_rows import buy_rows
from broker.reports.plan_view import plan_page

PLAN = "acme/compute@savings_plan-12m-partial_upfront"
CASE = two_thirds(rate("1", upfront_usd="8760"))


@pytest.fixture(scope="module")
def plan() -> Plan:
    return assembled(CASE, solved(CASE))


def test_charges_add_up_to_the_total_and_tell_what_is_not_used(plan: Plan) -> None:
    found = charges(plan)
    assert sum(one.effective_usd for one in found) == plan.total_usd == 96
    by_kind = {
        kind: sum(one.effective_usd for one in same)
        for kind, same in groupby(sorted(found, key=lambda one: one.kind), key=lambda one: one.kind)
    }
    assert by_kind[ChargeKind.USED] == 80
    assert by_kind[ChargeKind.UNUSED] == 16
    billed = {one.kind: one.billed_usd for one in found if one.billed_usd}
    assert billed == {ChargeKind.UPFRONT: 4 * 8760 // 2, ChargeKind.FEE: 48}


def test_every_form_is_written_but_terraform_as_it_knows_no_such_provider(plan: Plan) -> None:
    files = {form: export(plan, form) for form in FORMS}
    assert [form for form, found in files.items() if not found] == ["terraform"]
    assert all(one.text for found in files.values() for one in found)


@pytest.mark.parametrize("form", ["skypilot", "dstack", "kubernetes"])
def test_what_launches_nodes_says_that_the_promise_is_bought_by_hand(plan: Plan, form: str) -> None:
    (text,) = (one.text for one in export(plan, form) if one.name == "README.md")
    assert f"- `{PLAN}`: a savings plan of 4.000 USD an hour is bought by hand.  \n" in text
    done = export(plan, form, executed={PLAN: "it was executed already by Ana"})
    (text,) = (one.text for one in done if one.name == "README.md")
    assert f"- `{PLAN}`: it was executed already by Ana.  \n" in text


def test_focus_says_that_it_is_a_commitment_to_spend(plan: Plan) -> None:
    (file,) = export(plan, "focus")
    rows = list(csv.DictReader(io.StringIO(file.text)))
    own = [row for row in rows if row["x_PlanLine"] == PLAN]
    assert {row["CommitmentDiscountCategory"] for row in own} == {"Spend"}
    assert sum(Decimal(row["EffectiveCost"]) for row in rows) == 96


def test_the_buyer_reads_what_to_promise_and_how_much_is_used(plan: Plan) -> None:
    row = next(one for one in buy_rows(plan) if one.action == "commit")
    assert (row.instance_type, row.promised_usd_per_hour, row.workloads) == (
        "all machines",
        4,
        "chat",
    )
    assert row.utilization == pytest.approx(5 / 6)
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(plan_page(plan))
    shown = console.export_text()
    assert "4.000 USD/h on" in shown
    assert "83% used, 50% is even" in shown
    assert "savings plans, by the hour" in shown
    one = next(one for one in bought(plan) if one.purchase.savings)
    assert one.gpus == "4.000 USD/h"
    assert one.terms == "savings plan 1 year, part upfront; 83% used, 50% is even"
    assert (one.where, one.workloads) == ("acme", ("chat",))


def test_a_plan_is_no_line_with_nodes_elsewhere(plan: Plan) -> None:
    assert commitment_reasons(plan, CASE) == ()
    assert list(used_up(plan, CASE, (PLAN,))) == []


def test_two_plans_that_promise_differently_differ(plan: Plan) -> None:
    less = tuple(_promising_less(plan))
    other = plan.model_copy(update={"purchases": less})
    prices = {offer.key: offer for offer in plan.offers}
    change = {row.line: row.change for row in line_rows(plan, other, prices)}
    assert change == {PLAN: "changed", RENTED.key: "unchanged"}
    assert [repriced_usd(one, prices[one.offer]) for one in plan.purchases] == [
        one.usd for one in plan.purchases
    ]


def _promising_less(plan: Plan) -> Iterator[object]:
    for one in plan.purchases:
        if one.price_kind is PriceKind.SAVINGS_PLAN and one.savings is not None:
            savings = one.savings.model_copy(update={"usd_per_hour": Decimal(3)})
            yield one.model_copy(update={"savings": savings})
        else:
            yield one


def test_a_plan_is_charged_for_the_window_that_is_looked_at(plan: Plan) -> None:
    promise = next(one for one in plan.purchases if one.savings)
    horizon = plan.workloads.horizon
    half = Window(horizon.start, horizon.start + (horizon.end - horizon.start) / 2)
    assert promised_usd(promise, half) == 48
    assert first_costs(plan, half).after[PLAN] == 48


def test_reasons_say_what_is_promised_and_what_it_pays_for(plan: Plan) -> None:
    said = {one.subject: one.sentences for one in reasons(plan)}
    first, *others = said[PLAN]
    assert first.startswith("4.000 USD are promised for every hour of its term, used or not; 83%")
    assert others == [
        f"It pays for 40 node-hours of {RENTED.key}: 80.00 USD.",
        "It pays off where more than 50% of the promise is used.",
        "34,944.00 USD of its cost fall after the horizon.",
    ]
    assert "Of these, 40 are paid for by savings plans." in said[RENTED.key]
