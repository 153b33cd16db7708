"""What a person let through stands until it says something else; who did it is kept."""

import pytest
from price_lists import GATES, a_reading, after, an_offer

from broker.catalog.store import Catalog
from broker.domain.errors import ConfigurationError
from broker.domain.offer import Limits, Offer, PriceKind

KEY = "acme/odd/here@on_demand"


def refresh(catalog: Catalog, *offers: Offer, hours: float) -> dict[str, int]:
    """Refresh so many hours after noon, and count what is held."""
    seen = [
        one.model_copy(
            update={"provenance": one.provenance.model_copy(update={"observed_at": after(hours)})}
        )
        for one in offers
    ]
    return dict(catalog.replace(a_reading(*seen), GATES, now=after(hours)).quarantined)


def odd(usd: str = "0.001", stock: int = 4) -> Offer:
    """Make an offer at a price that no GPU has."""
    offer = an_offer(usd, name="odd")
    return offer.model_copy(update={"limits": Limits(stock_nodes=stock)})


def release(catalog: Catalog, *keys: str, hours: float = 1) -> None:
    catalog.release(keys, by="ann", note="asked them", now=after(hours))


def standing(catalog: Catalog, hours: float | None = None) -> list[str]:
    at = None if hours is None else after(hours)
    return [one.instance_type for one in catalog.current_offers(at)]


def test_a_released_offer_stands_at_once_and_at_the_next_refresh(catalog: Catalog) -> None:
    assert refresh(catalog, odd(), hours=0) == {"price_out_of_band": 1}
    release(catalog, KEY)
    assert standing(catalog) == ["odd"]
    assert catalog.held() == ()
    assert refresh(catalog, odd(), hours=2) == {}
    assert standing(catalog) == ["odd"]


def test_who_released_which_terms_when_and_why_is_kept(catalog: Catalog) -> None:
    refresh(catalog, odd(), hours=0)
    release(catalog, KEY)
    (one,) = catalog.releases()
    assert (one.offer_key, one.released_by, one.note) == (KEY, "ann", "asked them")
    assert (one.at, one.until) == (after(1), None)
    assert (one.reason, one.detail) == (
        "price_out_of_band",
        "0.001 $/GPU-h is not within 0.02 to 60",
    )
    assert len(one.digest) == 64


def test_a_release_ends_when_the_offer_says_something_else(catalog: Catalog) -> None:
    refresh(catalog, odd("0.001"), hours=0)
    release(catalog, KEY)
    assert refresh(catalog, odd("0.002"), hours=2)["price_out_of_band"] == 1
    assert catalog.releases()[0].until == after(2)
    assert refresh(catalog, odd("0.001"), hours=3)["price_out_of_band"] == 1  # not once more


def test_how_many_there_are_and_when_they_were_seen_is_not_what_was_released(
    catalog: Catalog,
) -> None:
    refresh(catalog, odd(stock=4), hours=0)
    release(catalog, KEY)
    assert refresh(catalog, odd(stock=2), hours=2) == {}
    assert refresh(catalog, odd(stock=9), hours=3) == {}
    assert catalog.releases()[0].until is None


def test_a_release_outlasts_a_refresh_that_does_not_list_the_offer(catalog: Catalog) -> None:
    refresh(catalog, odd(), an_offer(name="a"), hours=0)
    release(catalog, KEY)
    refresh(catalog, an_offer(name="a"), an_offer(name="b"), hours=2)
    assert standing(catalog) == ["a", "b"]
    assert refresh(catalog, odd(), an_offer(name="a"), hours=3) == {}


def test_a_release_does_not_change_the_past_and_counts_as_an_instant(catalog: Catalog) -> None:
    refresh(catalog, odd(), hours=0)
    before = catalog.state()
    release(catalog, KEY, hours=-5)  # the clock went back
    assert before is not None
    assert catalog.state(before.at) == before
    now = catalog.state()
    assert now is not None
    assert now.at > before.at


def test_a_released_offer_is_no_younger_than_its_last_reading(catalog: Catalog) -> None:
    refresh(catalog, odd(), hours=0)
    refresh(catalog, odd(), hours=5)
    release(catalog, KEY, hours=9)
    (offer,) = catalog.current_offers()
    assert offer.provenance.observed_at == after(5)


def test_a_release_of_an_unknown_offer_names_the_nearest_held_one(catalog: Catalog) -> None:
    refresh(catalog, odd(), an_offer(name="fine"), hours=0)
    with pytest.raises(ConfigurationError, match="unknown quarantined offer") as caught:
        release(catalog, "acme/od/here@on_demand")
    assert caught.value.hint == f"did you mean one of: {KEY}?"
    assert catalog.releases() == ()


def test_releases_are_all_done_or_none(catalog: Catalog) -> None:
    refresh(catalog, odd(), hours=0)
    with pytest.raises(ConfigurationError):
        release(catalog, KEY, "acme/other/here@on_demand")
    assert standing(catalog) == []
    assert catalog.releases() == ()
    assert [one.held.offer.key for one in catalog.held()] == [KEY]


def test_a_second_row_of_a_key_cannot_be_released(catalog: Catalog) -> None:
    refresh(catalog, an_offer("2.00", name="odd"), an_offer("2.50", name="odd"), hours=0)
    with pytest.raises(ConfigurationError, match=r"second row.*the row at 2\.5 \$/h is kept"):
        release(catalog, KEY)


def test_every_doubt_is_told_to_who_may_release_it(catalog: Catalog) -> None:
    cheap = an_offer("0.001", name="odd", kind=PriceKind.SPOT)
    refresh(catalog, an_offer("2.00", name="odd"), cheap, hours=0)
    (one,) = catalog.held()
    assert one.held.detail == (
        "0.001 $/GPU-h is not within 0.02 to 60; spot 0.001, on demand 2 $/h"
    )
    assert one.since == after(0)


def test_a_machine_of_one_kind_may_be_named_without_it(catalog: Catalog) -> None:
    refresh(catalog, odd(), hours=0)
    release(catalog, "ACME/odd/here")
    assert standing(catalog) == ["odd"]
