from dataclasses import replace
from datetime import timedelta

import pytest
from price_lists import GATES, NOON, a_reading, after, an_offer, reserved
from sqlalchemy.exc import DataError

from broker.catalog.gates import Reason
from broker.catalog.runs import Reading, RunOutcome, RunStatus
from broker.catalog.snapshot import snapshot_hash
from broker.catalog.store import Catalog, open_catalog
from broker.domain.errors import ProviderError
from broker.domain.offer import Evidence, Offer, PriceKind, Rejection
from broker.store.place import Place


def refresh(catalog: Catalog, *offers: Offer, hours: float, live: bool = True) -> RunOutcome:
    """Refresh so many hours after noon; live offers are seen then."""
    seen = [_seen(offer, hours) if live else offer for offer in offers]
    return catalog.replace(a_reading(*seen, live=live), GATES, now=after(hours))


def _seen(offer: Offer, hours: float) -> Offer:
    update = {"observed_at": after(hours)}
    return offer.model_copy(update={"provenance": offer.provenance.model_copy(update=update)})


def prices(catalog: Catalog, hours: float | None = None) -> dict[str, str]:
    at = None if hours is None else after(hours)
    return {one.instance_type: f"{one.usd_per_hour:.2f}" for one in catalog.current_offers(at)}


def test_an_offer_comes_back_as_it_went_in(catalog: Catalog) -> None:
    given = (an_offer("2.123456", gpus=8), reserved("1.50", upfront="8760", name="kept"))
    catalog.replace(a_reading(*given), GATES, now=NOON)
    assert catalog.current_offers() == sorted(given, key=lambda one: one.key)


def test_a_refresh_counts_what_is_new_changed_and_gone(catalog: Catalog) -> None:
    refresh(catalog, *(an_offer("2.00", name=name) for name in "abcd"), hours=0)
    outcome = refresh(
        catalog,
        an_offer("2.00", name="a"),
        an_offer("2.20", name="b"),
        an_offer("2.00", name="c"),
        an_offer("2.00", name="e"),
        hours=1,
    )
    assert (outcome.new, outcome.changed, outcome.vanished) == (1, 1, 1)
    assert (outcome.offers, outcome.received) == (4, 4)
    assert prices(catalog) == {"a": "2.00", "b": "2.20", "c": "2.00", "e": "2.00"}


def test_an_unchanged_offer_is_seen_anew_and_its_past_keeps_its_age(catalog: Catalog) -> None:
    refresh(catalog, an_offer(), hours=0)
    outcome = refresh(catalog, an_offer(), hours=5)
    assert (outcome.new, outcome.changed, outcome.vanished) == (0, 0, 0)
    assert catalog.current_offers()[0].provenance.observed_at == after(5)
    assert catalog.current_offers(after(4))[0].provenance.observed_at == after(0)


def test_an_unchanged_offer_is_no_younger_than_the_oldest_reply_of_its_refresh(
    catalog: Catalog,
) -> None:
    refresh(catalog, an_offer(name="a"), an_offer(name="b"), hours=0)
    early, late = _seen(an_offer(name="a"), 5), _seen(an_offer(name="b"), 6)
    catalog.replace(a_reading(early, late), GATES, now=after(7))
    assert [one.provenance.observed_at for one in catalog.current_offers()] == [after(5)] * 2


def test_what_stood_at_an_instant_can_be_asked_for(catalog: Catalog) -> None:
    refresh(catalog, an_offer("2.00", name="a"), an_offer(name="b"), hours=0)
    refresh(catalog, an_offer("2.10", name="a"), an_offer(name="b"), hours=1)
    refresh(catalog, an_offer("2.20", name="a"), an_offer(name="c"), hours=2)
    assert prices(catalog, hours=-1) == {}
    assert prices(catalog, hours=0.5) == {"a": "2.00", "b": "2.00"}
    assert prices(catalog, hours=1.5) == {"a": "2.10", "b": "2.00"}
    assert prices(catalog, hours=99) == {"a": "2.20", "c": "2.00"}


def test_another_provider_is_left_alone(catalog: Catalog) -> None:
    refresh(catalog, an_offer(name="a"), hours=0)
    other = Reading("other", True, NOON, (an_offer(name="z", provider="other"),), ())
    catalog.replace(other, GATES, now=after(1))
    refresh(catalog, an_offer(name="b"), hours=2)
    assert set(prices(catalog)) == {"b", "z"}


def test_a_clock_that_goes_back_does_not_change_the_past(catalog: Catalog) -> None:
    refresh(catalog, an_offer("2.00"), hours=10)
    outcome = refresh(catalog, an_offer("2.10"), hours=3)
    assert outcome.finished_at == after(10) + timedelta(microseconds=1)
    assert prices(catalog, hours=10) == {"box": "2.00"}
    assert prices(catalog) == {"box": "2.10"}


def test_a_failed_provider_keeps_its_offers_with_their_true_age(catalog: Catalog) -> None:
    refresh(catalog, an_offer(), hours=0)
    error = ProviderError("acme answered 503", hint="try again")
    outcome = catalog.keep(a_reading(), error, now=after(30))
    assert outcome.status is RunStatus.FAILED
    assert (outcome.offers, outcome.newest_observed_at) == (1, after(0))
    assert (outcome.error, outcome.hint) == ("acme answered 503", "try again")
    assert catalog.current_offers()[0].provenance.observed_at == after(0)


def test_an_offer_whose_price_jumped_is_held_until_a_second_refresh_confirms_it(
    catalog: Catalog,
) -> None:
    refresh(catalog, an_offer("2.00"), hours=0)
    held = refresh(catalog, an_offer("4.00"), hours=1)
    assert held.quarantined == {"price_jumped": 1}
    assert prices(catalog) == {}  # not at its old price either: nobody asks that now
    state = catalog.state()
    assert state is not None
    assert [(one.reason, one.detail) for one in state.quarantined] == [
        (Reason.PRICE_JUMPED, "from 2 to 4 $/h since the last reading")
    ]
    confirmed = refresh(catalog, an_offer("4.00"), hours=2)
    assert confirmed.quarantined == {}
    assert prices(catalog) == {"box": "4.00"}
    assert refresh(catalog, an_offer("4.00"), hours=3).changed == 0


def test_a_price_that_falls_back_is_let_through_at_once(catalog: Catalog) -> None:
    refresh(catalog, an_offer("2.00"), hours=0)
    refresh(catalog, an_offer("4.00"), hours=1)
    assert refresh(catalog, an_offer("2.10"), hours=2).quarantined == {}
    assert prices(catalog) == {"box": "2.10"}


def test_confirmed_spot_without_discount_is_not_held_again(catalog: Catalog) -> None:
    pair = (an_offer("2.00"), an_offer("2.00", kind=PriceKind.SPOT))
    assert refresh(catalog, *pair, hours=0).quarantined == {"spot_not_below_on_demand": 1}
    for hours in (1, 2, 3):
        assert refresh(catalog, *pair, hours=hours).quarantined == {}
    assert len(catalog.current_offers()) == 2


def test_what_was_held_at_an_instant_can_be_asked_for(catalog: Catalog) -> None:
    refresh(catalog, an_offer("0.001"), hours=0)
    refresh(catalog, an_offer("2.00"), hours=1)
    before, now = catalog.state(after(0.5)), catalog.state()
    assert before is not None
    assert now is not None
    assert (len(before.quarantined), len(before.offers)) == (1, 0)
    assert (len(now.quarantined), len(now.offers)) == (0, 1)


def test_a_provider_that_lists_far_less_keeps_its_offers_until_it_does_so_twice(
    catalog: Catalog,
) -> None:
    many = tuple(an_offer(name=f"box{number}") for number in range(10))
    refresh(catalog, *many, hours=0)
    doubted = refresh(catalog, *many[:6], hours=1)
    assert doubted.status is RunStatus.TOO_FEW
    assert (doubted.offers, doubted.received, doubted.newest_observed_at) == (10, 6, after(0))
    assert len(catalog.current_offers()) == 10
    confirmed = refresh(catalog, *many[:6], hours=2)
    assert (confirmed.status, confirmed.offers, confirmed.vanished) == (RunStatus.REFRESHED, 6, 4)


def test_recordings_never_replace_newer_offers(catalog: Catalog) -> None:
    refresh(catalog, an_offer("2.00"), hours=0)
    old = an_offer("1.50", evidence=Evidence.RECORDED, seen_at=after(-48))
    outcome = refresh(catalog, old, hours=1, live=False)
    assert outcome.status is RunStatus.OLDER
    assert outcome.error == "recorded 2026-10-30, but the catalog has offers of 2026-11-01"
    assert prices(catalog) == {"box": "2.00"}


def test_recordings_read_twice_change_nothing(catalog: Catalog) -> None:
    pair = (
        an_offer("2.00", evidence=Evidence.COMPOSED),
        an_offer("1.00", name="other", evidence=Evidence.COMPOSED, seen_at=after(-24)),
    )
    refresh(catalog, *pair, hours=1, live=False)
    first = catalog.snapshot()
    outcome = refresh(catalog, *pair, hours=2, live=False)
    assert (outcome.status, outcome.changed) == (RunStatus.REFRESHED, 0)
    assert catalog.snapshot() == first


def test_a_live_refresh_may_bring_fewer_rows_than_the_recordings(catalog: Catalog) -> None:
    many = [an_offer(name=f"box{number}", evidence=Evidence.COMPOSED) for number in range(10)]
    refresh(catalog, *many, hours=0, live=False)
    assert refresh(catalog, an_offer(name="box1"), hours=1).status is RunStatus.REFRESHED


def test_a_snapshot_names_the_offers_and_finds_them_again(catalog: Catalog) -> None:
    refresh(catalog, an_offer("2.00"), hours=0)
    before = catalog.snapshot()
    refresh(catalog, an_offer("2.10"), hours=1)
    assert catalog.snapshot() != before
    at = catalog.instant_of(before)
    assert at is not None
    assert snapshot_hash(catalog.current_offers(at)) == before
    assert catalog.instant_of("unknown") is None


def test_equal_offers_have_one_hash_in_any_order() -> None:
    one, two = an_offer(name="a"), an_offer(name="b")
    assert snapshot_hash([one, two]) == snapshot_hash([two, one])
    assert snapshot_hash([one]) != snapshot_hash([one, two])


def test_the_last_run_of_each_provider_is_told_with_its_rejections(catalog: Catalog) -> None:
    rejected = tuple(
        Rejection(provider="acme", subject=str(number), reason=reason)
        for number, reason in enumerate(("no_price", "unknown_gpu", "no_price"))
    )
    given = a_reading(an_offer(), an_offer("0.001", name="odd"), rejections=rejected)
    outcome = catalog.replace(given, GATES, now=after(0))
    assert outcome.rejected == {"no_price": 2, "unknown_gpu": 1}
    assert catalog.last_runs() == (outcome,)


def test_an_empty_catalog_says_so(catalog: Catalog) -> None:
    assert catalog.state() is None
    assert catalog.current_offers() == []
    assert catalog.last_runs() == ()


def test_what_was_written_is_there_after_opening_again(place: Place) -> None:
    refresh(open_catalog(place), an_offer("2.00"), hours=0)
    assert prices(open_catalog(place)) == {"box": "2.00"}


def test_a_refresh_that_breaks_in_between_leaves_everything_as_it_was(catalog: Catalog) -> None:
    refresh(catalog, an_offer("2.00", name="a"), an_offer("2.00", name="b"), hours=0)
    before = catalog.state()
    # The second offer has a price that the column cannot hold: the insert fails after the ends
    # of the old rows are written.
    huge = an_offer("9" * 20, name="c", kind=PriceKind.OWNED)
    with pytest.raises((OverflowError, DataError)):
        refresh(catalog, an_offer("2.50", name="a"), huge, hours=1)
    assert catalog.state() == before
    assert len(catalog.last_runs()) == 1


def test_the_gates_of_the_settings_are_those_that_hold(catalog: Catalog) -> None:
    least = GATES.bands.min_usd_per_gpu_hour
    strict = replace(GATES, bands=replace(GATES.bands, max_usd_per_gpu_hour=least))
    outcome = catalog.replace(a_reading(an_offer("2.00")), strict, now=NOON)
    assert outcome.quarantined == {"price_out_of_band": 1}
