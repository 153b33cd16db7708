"""Machines that are paid for some hours at the least, which a plan of slots does not count."""

from datetime import timedelta

import pytest
from tiny_cases import START, offer, run_entry, workloads

from broker.domain.offer import Billing, Block, Offer, PriceKind
from broker.planning.case import build_case
from broker.planning.filters import BOUND_FOR_LONGER, Freshness, why_not_then
from broker.specs.load import load_specs

_DAY = timedelta(days=1)
FRESH = Freshness(as_of=START, spot=_DAY, other=_DAY)


def bound(hours: float | None, kind: PriceKind = PriceKind.ON_DEMAND, **more: object) -> Offer:
    update = {"billing": Billing(minimum_h=hours)} | more
    return offer("2", name=f"for {hours} h", kind=kind, gpus=8).model_copy(update=update)


@pytest.mark.parametrize(
    ("hours", "slot", "reason"),
    [
        (None, "1 h", None),
        (1 / 60, "1 h", None),
        (1, "1 h", None),
        (1.5, "1 h", BOUND_FOR_LONGER),
        (8, "6 h", BOUND_FOR_LONGER),
        (8, "8 h", None),
        (168, "24 h", BOUND_FOR_LONGER),
    ],
)
def test_a_slot_has_to_be_as_long_as_the_shortest_rental(
    hours: float | None, slot: str, reason: str | None
) -> None:
    horizon = workloads(training=[run_entry(3600)], days=2, slot=slot).horizon
    assert why_not_then(bound(hours), horizon) == reason
    assert why_not_then(bound(hours, PriceKind.SPOT), horizon) == reason


@pytest.mark.parametrize(
    ("step_s", "slot", "reason"),
    [
        (60, "15 min", None),
        (3600, "1 h", None),
        (3600, "6 h", None),
        (3600, "15 min", BOUND_FOR_LONGER),
        (3600, "90 min", BOUND_FOR_LONGER),
    ],
)
def test_a_slot_is_a_whole_number_of_billing_steps(
    step_s: float, slot: str, reason: str | None
) -> None:
    horizon = workloads(training=[run_entry(3600)], days=2, slot=slot).horizon
    assert why_not_then(bound(None, billing=Billing(step_s=step_s)), horizon) == reason


@pytest.mark.parametrize(
    ("hours", "slot", "reason"),
    [(None, "1 h", BOUND_FOR_LONGER), (None, "24 h", BOUND_FOR_LONGER), (1, "1 h", None)],
)
def test_what_is_paid_ahead_for_a_time_unknown_fits_no_slot(
    hours: float | None, slot: str, reason: str | None
) -> None:
    horizon = workloads(training=[run_entry(3600)], days=2, slot=slot).horizon
    ahead = bound(None, billing=Billing(minimum_h=hours, prepaid=True))
    assert why_not_then(ahead, horizon) == reason


def test_a_block_has_lengths_of_its_own() -> None:
    block = bound(3, PriceKind.CAPACITY_BLOCK, block=Block(lengths_h=(3, 4)))
    horizon = workloads(training=[run_entry(3600)], days=2).horizon
    assert why_not_then(block, horizon) is None


def test_no_case_has_a_machine_whose_bill_would_be_above_its_plan() -> None:
    file = workloads(training=[run_entry(3600)], days=2, slot="1 h")
    report = build_case(file, [bound(8), bound(0.5)], load_specs(), FRESH)
    assert {one.key for one in report.case.offers} == {bound(0.5).key}
    assert {one.reason: one.example for one in report.rejected}[BOUND_FOR_LONGER] == bound(8).key
