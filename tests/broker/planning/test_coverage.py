from datetime import timedelta

from price_lists import NOON, after, an_offer

from broker.catalog.gates import Quarantined, Reason
from broker.catalog.listing import listing_of
from broker.domain.offer import Evidence, Offer, PriceKind
from broker.planning.coverage import coverage_rows, stale_offers
from broker.planning.freshness import Freshness, is_stale
from broker.reports.rows import CoverageRow

DAY = timedelta(days=1)
FRESH = Freshness(as_of=after(30), spot=DAY, other=14 * DAY)


def until(offer: Offer, hours: float) -> Offer:
    provenance = offer.provenance.model_copy(update={"valid_until": after(hours)})
    return offer.model_copy(update={"provenance": provenance})


def test_each_cell_counts_its_offers_and_what_is_held() -> None:
    offers = [
        an_offer(name="a", seen_at=NOON),
        an_offer(name="b", seen_at=after(20)),
        an_offer(name="a", kind=PriceKind.SPOT, seen_at=NOON),
        an_offer(name="a", gpu="A10"),
        an_offer(name="a", provider="zenith", seen_at=after(29), evidence=Evidence.SHEET),
    ]
    held = [
        Quarantined(an_offer("9.00", name="c"), Reason.PRICE_JUMPED, "jumped"),
        Quarantined(an_offer("9.00", name="d"), Reason.PRICE_JUMPED, "jumped"),
        Quarantined(an_offer("0.01", name="e"), Reason.PRICE_OUT_OF_BAND, "too low"),
        Quarantined(an_offer("0.01", name="f", gpu="B200"), Reason.PRICE_OUT_OF_BAND, "low"),
    ]
    live, sheet = {"live": 1}, {"sheet": 1}
    low, jumped = {"price_out_of_band": 1}, {"price_jumped": 2}
    assert coverage_rows(listing_of(offers, held), FRESH) == (
        CoverageRow("acme", "A10", "on_demand", 1, 0, 30.0, 30.0, live, {}),
        CoverageRow("acme", "B200", "on_demand", 0, 0, None, None, {}, low),
        CoverageRow("acme", "H100-SXM", "on_demand", 2, 0, 10.0, 30.0, {"live": 2}, jumped | low),
        CoverageRow("acme", "H100-SXM", "spot", 1, 1, 30.0, 30.0, live, {}),
        CoverageRow("zenith", "H100-SXM", "on_demand", 1, 0, 1.0, 1.0, sheet, {}),
    )


def test_nothing_covers_nothing() -> None:
    assert coverage_rows(listing_of(()), FRESH) == ()


def test_columns_are_as_stale_as_their_offers() -> None:
    later = Freshness(as_of=after(15 * 24), spot=DAY, other=14 * DAY)
    offers = [
        until(an_offer(name=f"{kind}-{evidence}-{seen}-{last}", kind=kind, evidence=evidence,
                       seen_at=after(seen)), last)
        if last is not None
        else an_offer(name=f"{kind}-{evidence}-{seen}", kind=kind, evidence=evidence,
                      seen_at=after(seen))
        for kind in (PriceKind.SPOT, PriceKind.ON_DEMAND)
        for evidence in (Evidence.LIVE, Evidence.SHEET, Evidence.EXAMPLE)
        for seen in (0, 24, 14 * 24, 15 * 24)
        for last in (None, 14 * 24, 15 * 24, 16 * 24)
    ]  # fmt: skip
    listing = listing_of(offers)
    in_order = [one for one in listing.entries(range(len(listing))) if isinstance(one, Offer)]
    expected = [is_stale(offer, later) for offer in in_order]
    assert stale_offers(listing, later).tolist() == expected
    assert {True, False} == set(expected)


def test_a_price_holds_no_longer_from_its_own_end_on() -> None:
    for evidence in (Evidence.LIVE, Evidence.SHEET):
        quote = an_offer(seen_at=after(29), evidence=evidence)
        assert is_stale(until(quote, 30), FRESH)
        assert not is_stale(until(quote, 30.001), FRESH)


def test_a_listed_price_with_an_end_of_its_own_ages_until_then() -> None:
    spot = an_offer(kind=PriceKind.SPOT, seen_at=NOON)  # 30 hours ago
    assert is_stale(until(spot, 1000), FRESH)
    quote = an_offer(kind=PriceKind.SPOT, seen_at=NOON, evidence=Evidence.SHEET)
    assert not is_stale(until(quote, 1000), FRESH)
