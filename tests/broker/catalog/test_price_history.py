"""What an offer cost on a day is one question."""

from datetime import datetime
from decimal import Decimal

import pytest
from price_lists import GATES, a_reading, after, an_offer, reserved

from broker.catalog.price_history import PriceHistory
from broker.catalog.store import Catalog
from broker.domain.errors import ConfigurationError
from broker.domain.offer import Limits, Offer

KEY = "acme/box/here@on_demand"


def refresh(catalog: Catalog, *offers: Offer, hours: float) -> None:
    seen = [
        one.model_copy(
            update={"provenance": one.provenance.model_copy(update={"observed_at": after(hours)})}
        )
        for one in offers
    ]
    catalog.replace(a_reading(*seen), GATES, now=after(hours))


def history(catalog: Catalog, key: str = KEY) -> PriceHistory:
    found = catalog.price_history(key)
    assert found is not None
    return found


def told(catalog: Catalog) -> list[tuple[float, float | None, str, str]]:
    """Tell each step: from, to in hours after noon, price, why held."""
    noon = after(0)

    def hours(step_at: datetime | None) -> float | None:
        return None if step_at is None else (step_at - noon).total_seconds() / 3600

    return [
        (
            hours(step.from_at) or 0.0,
            hours(step.to_at),
            f"{step.offer.usd_per_hour:.2f}",
            step.held,
        )
        for step in history(catalog).steps
    ]


def test_each_price_is_told_with_its_time(catalog: Catalog) -> None:
    for hours, usd in enumerate(("2.00", "2.00", "2.20", "2.10", "2.10")):
        refresh(catalog, an_offer(usd), hours=hours)
    assert told(catalog) == [
        (0, 2, "2.00", ""),
        (2, 3, "2.20", ""),
        (3, None, "2.10", ""),
    ]
    assert history(catalog).at == after(4)


def test_what_was_held_back_is_told_with_its_reason(catalog: Catalog) -> None:
    for hours, usd in enumerate(("2.00", "4.00", "4.00")):
        refresh(catalog, an_offer(usd), hours=hours)
    assert told(catalog) == [
        (0, 1, "2.00", ""),
        (1, 2, "4.00", "price_jumped"),
        (2, None, "4.00", ""),
    ]


def test_a_time_without_the_offer_is_a_gap(catalog: Catalog) -> None:
    other = an_offer(name="other")
    refresh(catalog, an_offer(), other, an_offer(name="third"), an_offer(name="4"), hours=0)
    refresh(catalog, other, an_offer(name="third"), an_offer(name="4"), hours=1)
    refresh(catalog, an_offer(), other, an_offer(name="third"), hours=2)
    assert told(catalog) == [(0, 1, "2.00", ""), (2, None, "2.00", "")]


def test_what_changes_beside_the_price_makes_no_step(catalog: Catalog) -> None:
    for hours, stock in enumerate((4, 2, 7)):
        limits = Limits(stock_nodes=stock)
        refresh(catalog, an_offer().model_copy(update={"limits": limits}), hours=hours)
    assert told(catalog) == [(0, None, "2.00", "")]


def test_an_upfront_part_makes_a_step(catalog: Catalog) -> None:
    for hours, upfront in enumerate(("8760", "9000")):
        refresh(catalog, reserved("1.50", upfront=upfront), hours=hours)
    (first, second) = history(catalog, "acme/box/here").steps
    assert first.offer.effective_usd_per_hour == Decimal("2.5")
    assert second.offer.effective_usd_per_hour > first.offer.effective_usd_per_hour


def test_a_machine_that_is_sold_in_several_ways_must_be_named_with_one(catalog: Catalog) -> None:
    refresh(catalog, an_offer(), reserved("1.50", upfront="8760"), hours=0)
    with pytest.raises(ConfigurationError, match="is sold in 2 ways") as caught:
        history(catalog, "acme/box/here")
    assert KEY in caught.value.hint


def test_an_unknown_offer_names_the_nearest_of_its_provider(catalog: Catalog) -> None:
    refresh(catalog, an_offer(), an_offer(name="crate"), hours=0)
    with pytest.raises(
        ConfigurationError, match="unknown offer 'acme/bax/here@on_demand'"
    ) as caught:
        history(catalog, "acme/bax/here@on_demand")
    assert caught.value.hint.startswith(f"did you mean one of: {KEY}")


def test_a_part_of_a_key_names_the_offers_that_have_it(catalog: Catalog) -> None:
    long = "a-machine-whose-name-says-all-of-it"
    refresh(catalog, an_offer(), an_offer(name=f"box.{long}"), hours=0)
    with pytest.raises(ConfigurationError, match="unknown offer 'box'") as caught:
        history(catalog, "box")
    assert KEY in caught.value.hint
    assert long in caught.value.hint


def test_an_offer_that_is_gone_still_has_its_past(catalog: Catalog) -> None:
    refresh(
        catalog,
        an_offer(),
        an_offer(name="a"),
        an_offer(name="b"),
        an_offer("9", name="c"),
        hours=0,
    )
    refresh(catalog, an_offer(name="a"), an_offer(name="b"), an_offer("9", name="c"), hours=1)
    assert told(catalog) == [(0, 1, "2.00", "")]


def test_an_empty_catalog_has_no_past(catalog: Catalog) -> None:
    assert catalog.price_history(KEY) is None
