"""Two rows of a reply that describe the same thing: the cheaper one stays, the other is told."""

from decimal import Decimal

from tiny_cases import offer

from broker.domain.offer import Offer, Rejection
from providers.kit.duplicates import cheapest


def test_of_two_alike_the_cheaper_one_stays_and_the_other_says_why() -> None:
    found = list(cheapest([offer("3"), offer("2")]))
    assert [type(one) for one in found] == [Rejection, Offer]
    rejection, kept = found
    assert isinstance(rejection, Rejection)
    assert isinstance(kept, Offer)
    assert kept.usd_per_hour == Decimal(2)
    assert rejection.reason == "duplicate_offer"
    assert rejection.detail == "3.000000 an hour, the same for 2.000000"


def test_what_comes_first_is_kept_of_two_at_one_price() -> None:
    first = offer("2").model_copy(update={"warnings": ("first",)})
    (_, kept) = cheapest([first, offer("2")])
    assert kept == first


def test_others_stay_in_their_order() -> None:
    rejection = Rejection(provider="p", subject="s", reason="no_price", detail="0")
    found = list(cheapest([offer("1", name="b"), rejection, offer("1", name="a")]))
    assert found == [rejection, offer("1", name="b"), offer("1", name="a")]
