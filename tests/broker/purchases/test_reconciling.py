"""Every charge of a bill is of a line of the plan, or told as unexplained; none is lost."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from book_plans import NOON, later

from broker.purchases.bill import BillRow, Costs
from broker.purchases.reconciling import PlannedLine, Reconciliation, Rest, reconcile, savings_rate

TAG = "gpubroker-line"


def costs(*amounts: str) -> Costs:
    return Costs(*(Decimal(one) for one in amounts))


RENTED = PlannedLine("aws/p5@on_demand", "rented-1", "aws", costs("100", "100", "100", "100"))
RESERVED = PlannedLine(
    "aws/p5@reserved", "reserved-2", "aws", costs("90", "90", "60", "0"), references=("ri-7",)
)


def row(usd: Costs, tags: Mapping[str, str] = {}, line: int = 2) -> BillRow:
    end = NOON + timedelta(hours=1)
    return BillRow(line, usd, "Usage", NOON, end, tags, provider="AWS", service="EC2")


def reconciled(*rows: BillRow) -> Reconciliation:
    return reconcile((RENTED, RESERVED), rows, tag=TAG, within=(NOON, later(48)))


@pytest.mark.parametrize(
    "tag", ["gpubroker-line", "user:gpubroker-line", "user_gpubroker_line", "Tags/GpuBroker-Line"]
)
def test_a_charge_is_of_the_line_in_its_tag_whatever_the_provider_makes_of_its_name(
    tag: str,
) -> None:
    found = reconciled(row(costs("10", "9", "8", "7"), {"team": "ml", tag: "rented-1"}))
    (rented, reserved) = found.lines
    assert (rented.planned, rented.rows, rented.billed) == (RENTED, 1, costs("10", "9", "8", "7"))
    assert (reserved.rows, reserved.billed) == (0, Costs())
    assert found.rest == ()


def test_a_charge_without_a_tag_is_of_the_line_whose_reference_it_has() -> None:
    commitment = replace(row(costs("3", "3", "2", "0")), commitment="ri-7")
    resource = replace(row(costs("4", "4", "4", "4")), resource="ri-7")
    found = reconciled(commitment, resource)
    assert found.lines[1].billed == costs("7", "7", "6", "4")


def test_what_is_of_no_line_is_told_with_the_reason() -> None:
    tagged = {TAG: "rented-1"}
    outside = replace(row(costs("1", "1", "1", "1"), tagged, line=5), from_at=later(48))
    found = reconciled(
        row(costs("2", "2", "2", "2"), line=2),
        row(costs("3", "3", "3", "3"), line=3),
        row(costs("4", "4", "4", "4"), {TAG: "other-9"}, line=4),
        outside,
    )
    told = [(one.why, one.label, one.rows, one.first_line) for one in found.rest]
    assert told == [
        (Rest.UNKNOWN, "other-9", 1, 4),
        (Rest.OUTSIDE, "rented-1", 1, 5),
        (Rest.UNTAGGED, "", 2, 2),
    ]
    assert found.unexplained.effective_usd == 10
    assert found.explained == Costs()


def test_the_purchase_of_a_commitment_is_billed_and_not_listed_twice() -> None:
    """A month of a reservation: 90 at list, 60 paid. By hand: saved is 1 − 60 / 90 = a third."""
    tags = {TAG: "reserved-2"}
    purchase = replace(row(costs("60", "60", "0", "60"), tags), category="Purchase")
    usage = row(costs("90", "90", "60", "0"), tags)
    billed = reconciled(purchase, usage).lines[1].billed
    assert billed == costs("90", "90", "60", "60")
    assert savings_rate(billed) == 1 - Decimal(60) / Decimal(90)
    assert savings_rate(Costs()) is None


def test_credits_and_corrections_count() -> None:
    tags = {TAG: "rented-1"}
    found = reconciled(row(costs("9", "9", "9", "9"), tags), row(costs("0", "0", "-2", "-2"), tags))
    assert found.lines[0].billed == costs("9", "9", "7", "7")
    assert found.explained == found.lines[0].billed
