"""What exports and reports make of a surcharge: what is billed and in effect holds it.

A node for a day: rented at 2 USD, of which a year costs 0.5 and 876 upfront, and a tenth more.
"""

from decimal import Decimal

import pytest
from changed_cases import with_workloads
from solving import EXACT, assembled
from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import Plan, Term
from broker.exports.charges import ChargeKind, charges
from broker.exports.forms import FORMS, export
from broker.exports.summary import usd_by_term
from broker.planning.differences.lines import line_rows, price_changes
from broker.planning.nightly.window import Window, first_costs
from solver.milp.optimize import optimize

BOX = offer("2")
YEAR = offer("0.5", kind=PriceKind.RESERVED, term_months=12, upfront_usd="876")


def _plan(*offers: Offer, rate: str = "0.1") -> Plan:
    of = case(workloads(services=[service_entry(1, 1)]), offers, serving=[serving(BOX, [1])])
    of = with_workloads(of, {"policy.surcharges": [{"rate": rate, "providers": ["acme"]}]})
    return assembled(of, optimize(of, EXACT))


def test_a_rented_node_is_billed_with_it() -> None:
    (rent,) = charges(_plan(BOX))
    assert (rent.unit_usd, rent.billed_usd, rent.effective_usd) == (
        Decimal("2.2"),
        Decimal("52.8"),
        Decimal("52.8"),
    )


def test_a_commitment_is_billed_with_it_by_the_hour_and_upfront() -> None:
    billed = {one.kind: one.billed_usd for one in charges(_plan(BOX, YEAR))}
    assert billed[ChargeKind.FEE] == Decimal("13.2")
    assert billed[ChargeKind.UPFRONT] == Decimal("963.6")
    assert sum(one.effective_usd for one in charges(_plan(BOX, YEAR))) == Decimal("15.84")


def test_reports_show_it_beside_the_price_of_the_offer() -> None:
    plan = _plan(BOX)
    assert usd_by_term(plan) == (
        ("on-demand", Decimal(48)),
        ("surcharges on nodes", Decimal("4.8")),
    )
    assert {one.term for one in plan.cost_lines} == {Term.ON_DEMAND, Term.SURCHARGE}


def test_a_difference_tells_a_new_surcharge_from_a_new_price() -> None:
    old, new = _plan(BOX), _plan(BOX, rate="0.2")
    (row,) = line_rows(old, new, {BOX.key: BOX})
    assert row.change == "repriced"
    assert (row.old_usd_per_hour, row.new_usd_per_hour) == (Decimal("2.2"), Decimal("2.4"))
    assert dict(price_changes(old, {BOX.key: BOX})) == {BOX.key: 0}
    assert dict(price_changes(old, {BOX.key: offer("3")})) == {BOX.key: Decimal("26.4")}


def test_a_night_counts_it() -> None:
    plan = _plan(BOX)
    horizon = plan.workloads.horizon
    assert first_costs(plan, Window(horizon.start, horizon.end)).after_usd == Decimal("52.8")


@pytest.mark.parametrize("form", FORMS)
def test_every_export_writes_a_plan_with_it(form: str) -> None:
    assert all(file.text for file in export(_plan(BOX, YEAR), form))
