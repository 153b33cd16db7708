"""What exports and tables make of a capacity block: cash at its start, its hours at no more cost.

A run of 20 h is done in a block of 36 h at 2 USD, paid whole: 72. A day is planned.
"""

import csv
import io
from decimal import Decimal

import pytest
from solving import EXACT, assembled
from tiny_cases import START, case, offer, run_entry, training, workloads

from broker.domain.offer import Block, PriceKind
from broker.domain.plan import Plan
from broker.exports.buying import bought
from broker.exports.charges import ChargeKind, charges
from broker.exports.forms import FORMS, export
from broker.planning.differences.lines import Window, repriced_usd
from broker.planning.differences.steps import steps_between
from broker.reports.plan_rows import buy_rows
from solver.milp.optimize import optimize

LINE = "acme/box/here@capacity_block-20261201T0000Z-36h"


@pytest.fixture(scope="module")
def plan() -> Plan:
    rented = offer("4")
    sold = {"price_kind": PriceKind.CAPACITY_BLOCK, "block": Block(lengths_h=(36,))}
    block = rented.model_copy(update=sold | {"usd_per_hour": Decimal(2)})
    file = workloads(training=[run_entry(20 * 3600)], slot="4 h")
    of = case(file, [rented, block], training=[training(rented)])
    return assembled(of, optimize(of, EXACT))


def test_the_whole_price_is_billed_at_the_start_and_in_effect_over_the_hours(plan: Plan) -> None:
    found = charges(plan)
    kinds = {(one.kind, one.quantity, one.billed_usd, one.effective_usd) for one in found}
    assert kinds == {
        (ChargeKind.UPFRONT, 1, 72, 0),
        (ChargeKind.USED, 20, 0, 60),
        (ChargeKind.UNUSED, 4, 0, 12),
    }
    assert found[0].from_at == START


def test_a_block_is_booked_in_words_and_rows(plan: Plan) -> None:
    (one,) = bought(plan)
    assert one.action == "book"
    assert one.terms == "capacity block of 36 h from 2026-12-01 00:00, prepaid"
    (row,) = buy_rows(plan)
    assert (row.action, row.offer, row.usd, row.upfront_usd) == ("book", LINE, 72, 72)


@pytest.mark.parametrize("form", FORMS)
def test_every_export_writes_a_plan_with_a_block(plan: Plan, form: str) -> None:
    assert all(file.text for file in export(plan, form))


def test_the_charges_of_focus_add_up_to_the_block(plan: Plan) -> None:
    (file, *_) = export(plan, "focus")
    rows = list(csv.DictReader(io.StringIO(file.text)))
    assert sum(Decimal(row["EffectiveCost"]) for row in rows) == 72
    assert sum(Decimal(row["BilledCost"]) for row in rows) == 72


def test_the_part_of_a_block_that_is_left_costs_that_part_of_it(plan: Plan) -> None:
    (purchase,) = plan.purchases
    (block,) = plan.offers
    assert repriced_usd(purchase, block) == 72
    rest = Window(START.replace(hour=16), plan.workloads.horizon.end).clipped(purchase.steps)
    assert repriced_usd(purchase.model_copy(update={"steps": tuple(rest)}), block) == 24
    over = purchase.model_copy(update={"steps": ()})
    assert repriced_usd(over, block) == 0


def test_the_steps_to_a_plan_with_a_block_add_it_where_it_begins(plan: Plan) -> None:
    empty = plan.model_copy(update={"purchases": (), "training": ()})
    (step,) = steps_between(empty, plan)
    assert (step.action, step.line, step.at) == ("add", LINE, START)
