"""Machines that their host takes back on a known day."""

from datetime import timedelta

from tiny_cases import START, offer, run_entry, workloads

from broker.catalog.snapshot import canonical
from broker.domain.offer import Limits, Offer, PriceKind
from broker.planning.case import build_case
from broker.planning.filters import GONE_BEFORE, Freshness, why_not_then
from broker.specs.load import load_specs

_DAY = timedelta(days=1)
FRESH = Freshness(as_of=START, spot=_DAY, other=_DAY)


def until(days: float | None, kind: PriceKind = PriceKind.ON_DEMAND) -> Offer:
    ends_at = None if days is None else START + timedelta(days=days)
    one = offer("2", name=f"for {days} days", kind=kind, gpus=8)
    return one.model_copy(update={"limits": Limits(until=ends_at)})


def test_a_machine_has_to_be_there_to_the_end_of_the_horizon() -> None:
    horizon = workloads(training=[run_entry(3600)], days=2, slot="1 h").horizon
    for kind in (PriceKind.ON_DEMAND, PriceKind.SPOT):
        assert why_not_then(until(1.9, kind), horizon) == GONE_BEFORE
        assert why_not_then(until(2, kind), horizon) is None
        assert why_not_then(until(None, kind), horizon) is None


def test_no_case_has_a_machine_that_is_gone_before_its_end() -> None:
    file = workloads(training=[run_entry(3600)], days=2, slot="1 h")
    report = build_case(file, [until(1), until(30)], load_specs(), FRESH)
    assert {one.key for one in report.case.offers} == {until(30).key}
    assert {one.reason: one.example for one in report.rejected}[GONE_BEFORE] == until(1).key


def test_only_an_offer_that_is_taken_back_is_hashed_with_the_day() -> None:
    assert "until" not in canonical(until(None)).replace("valid_until", "")
    assert '"until":"' in canonical(until(2))
