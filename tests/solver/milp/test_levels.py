"""Commitments that outlive the horizon: each is held to its own break-even, the dearest first.

A box is 10 an hour on demand. It is needed on two of four days: a commitment that breaks even at
half of the time may be bought for it, one that breaks even later may not.
"""

import pytest
from solving import EXACT, assembled, program_of, solved
from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.case import Case
from broker.domain.offer import Offer, PriceKind
from broker.verification.check import check
from solver.milp.optimize import optimize

BOX = offer("10")
HALF_OF_THE_TIME = {"start": "2026-12-03", "days": 4, "slot": "24 h"}


def _year(usd: str, upfront_usd: str = "0", kind: PriceKind = PriceKind.RESERVED) -> Offer:
    return offer(usd, kind=kind, term_months=12, upfront_usd=upfront_usd)


def _month(usd: str) -> Offer:
    return offer(usd, kind=PriceKind.CONTRACT, term_months=1)


@pytest.mark.parametrize(
    ("offers", "usd"),
    [
        ([], 480),
        # 35,040 over 8,760 h are 4 an hour: 4.9 in all, for 96 h.
        ([_year("0.9", "35040")], 470.4),
        ([_month("6")], 480),
        ([_year("4"), _month("6")], 384),
        ([_year("4"), _month("4.5")], 384),
    ],
    ids=["rented", "just below half", "dear", "cheap and dear", "two cheap ones"],
)
def test_the_cheapest_that_breaks_even_is_bought(offers: list[Offer], usd: float) -> None:
    of = _half_needed([BOX, *offers])
    assert float(solved(of).total_usd) == pytest.approx(usd)
    _both_are_accepted(of)


def test_a_dearer_offer_of_the_same_term_does_not_bar_a_cheaper_one() -> None:
    # The reserved year at 4 an hour pays at half of the time; the contract at 6 does not.
    cheaper, dearer = _year("1", "26280"), _year("6", kind=PriceKind.CONTRACT)
    alone, both = _half_needed([BOX, cheaper]), _half_needed([BOX, cheaper, dearer])
    assert solved(alone).total_usd == solved(both).total_usd == 384
    _both_are_accepted(both)


def test_levels_are_stacked_from_the_highest_break_even() -> None:
    of = _half_needed(
        [
            BOX,
            _year("4"),
            _month("6"),
            _year("5.5", kind=PriceKind.CONTRACT),
        ]
    )
    sets = program_of(of).sets
    shares = [level.breakeven_utilization for level in sets.levels]
    assert shares == pytest.approx([0.6, 0.55, 0.4])
    assert [len(level.members) for level in sets.levels] == [1, 2, 3]


def test_offers_of_one_break_even_are_one_level() -> None:
    twin = _year("4", kind=PriceKind.CONTRACT)
    (level,) = program_of(_half_needed([BOX, _year("4"), twin])).sets.levels
    assert len(level.members) == 2


def test_the_second_node_of_a_level_must_be_needed_as_often_as_the_first() -> None:
    # Two boxes are needed on two days of four, one on the others: at 0.6 one is committed.
    of = _half_needed([BOX, _year("6")], peak=2, weekend_factor=0.5)
    bought = {one.price_kind: one for one in solved(of).purchases}
    assert [step.nodes for step in bought[PriceKind.RESERVED].steps] == [1]
    assert float(bought[PriceKind.ON_DEMAND].usd) == 480
    _both_are_accepted(of)


def _half_needed(offers: list[Offer], *, peak: float = 1, weekend_factor: float = 0) -> Case:
    curve = {"mean": peak, "peak": peak, "weekend_factor": weekend_factor}
    service = service_entry(1, 1, traffic={"requests_per_s": curve}, min_replicas=0)
    file = workloads(services=[service], horizon=HALF_OF_THE_TIME)
    return case(file, offers, serving=[serving(BOX, [1])])


def _both_are_accepted(of: Case) -> None:
    for optimum in (solved(of), optimize(of, EXACT)):
        assert check(assembled(of, optimum), of) == ()
