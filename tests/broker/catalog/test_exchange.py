"""A catalog that travels: whole, checked, and under the same hash."""

import gzip
from collections.abc import Callable
from dataclasses import replace

import pytest
from price_lists import GATES, NOON, a_reading, after, an_offer, reserved

from broker.catalog.exchange import read_catalog, write_catalog
from broker.catalog.runs import Reading, RunStatus
from broker.catalog.snapshot import snapshot_hash
from broker.catalog.state import CatalogState
from broker.catalog.store import Catalog, open_catalog
from broker.domain.errors import ConfigurationError
from broker.domain.offer import Evidence, Offer, PriceKind
from broker.store.place import Place


@pytest.fixture
def other(new_place: Callable[[], Place]) -> Catalog:
    return open_catalog(new_place())


def filled(catalog: Catalog, *, hours: float = 0, usd: str = "2.123456") -> CatalogState:
    """Fill a catalog with two providers, seen at different times, and something held."""
    offers = (
        an_offer(usd, gpus=8, seen_at=after(hours)),
        reserved("1.50", upfront="8760", name="kept"),
        an_offer("0.001", name="odd"),
    )
    catalog.replace(a_reading(*offers), GATES, now=after(hours))
    zenith = an_offer(
        name="z", provider="zenith", seen_at=after(hours - 30), evidence=Evidence.RECORDED
    )
    catalog.replace(Reading("zenith", False, NOON, (zenith,), ()), GATES, now=after(hours + 1))
    state = catalog.state()
    assert state is not None
    return state


def bring_in(catalog: Catalog, state: CatalogState, hours: float = 50) -> dict[str, RunStatus]:
    outcomes = catalog.bring_in(read_catalog(write_catalog(state), "file"), now=after(hours))
    return {one.provider: one.status for one in outcomes}


def test_what_is_written_is_read_as_it_was(catalog: Catalog) -> None:
    state = filled(catalog)
    assert read_catalog(write_catalog(state), "file") == state
    assert write_catalog(state) == write_catalog(state)


def test_an_empty_machine_has_the_hash_of_the_exported_catalog(
    catalog: Catalog, other: Catalog
) -> None:
    state = filled(catalog)
    assert bring_in(other, state) == {
        "acme": RunStatus.IMPORTED,
        "zenith": RunStatus.IMPORTED,
    }
    snapshot = other.snapshot()
    assert snapshot == snapshot_hash(state.offers) == catalog.snapshot()
    at = other.instant_of(snapshot)
    assert at is not None
    assert tuple(other.current_offers(at)) == state.offers


def test_age_and_evidence_travel_and_what_is_held_back_stays_held(
    catalog: Catalog, other: Catalog
) -> None:
    state = filled(catalog)
    bring_in(other, state)
    brought = other.state()
    assert brought is not None
    seen = {one.provider: one.provenance for one in brought.offers}
    assert (seen["zenith"].evidence, seen["zenith"].observed_at) == ("recorded", after(-30))
    assert [one.detail for one in brought.quarantined] == ["0.001 $/GPU-h is not within 0.02 to 60"]


def test_a_machine_that_lives_of_imports_has_each_exported_hash_in_turn(
    catalog: Catalog, other: Catalog
) -> None:
    first = filled(catalog)
    bring_in(other, first, hours=2)
    second = filled(catalog, hours=10, usd="2.20")
    bring_in(other, second, hours=12)
    third = filled(catalog, hours=20, usd="2.20")  # nothing but the ages is new
    bring_in(other, third, hours=22)
    for state in (first, second, third):
        other.remember(snapshot_hash(state.offers), state.at)
    assert other.snapshot() == snapshot_hash(third.offers)
    assert tuple(other.current_offers(after(12) + (after(1) - NOON))) == second.offers


def test_newer_offers_of_the_machine_are_kept(catalog: Catalog, other: Catalog) -> None:
    state = filled(catalog)
    other.replace(a_reading(an_offer("2.50", seen_at=after(9))), GATES, now=after(9))
    assert bring_in(other, state) == {"acme": RunStatus.OLDER, "zenith": RunStatus.IMPORTED}
    assert [f"{one.usd_per_hour:.2f}" for one in other.current_offers()] == ["2.50", "2.00"]


def test_other_providers_of_the_machine_are_left_alone(catalog: Catalog, other: Catalog) -> None:
    mine = Reading("mine", True, NOON, (an_offer(name="m", provider="mine"),), ())
    other.replace(mine, GATES, now=after(0))
    bring_in(other, filled(catalog))
    assert {one.provider for one in other.current_offers()} == {"acme", "mine", "zenith"}


def test_an_import_ends_the_release_of_what_it_changes(catalog: Catalog, other: Catalog) -> None:
    other.replace(a_reading(an_offer("0.002", name="odd")), GATES, now=after(-2))
    other.release(["acme/odd/here@on_demand"], by="ann", note="", now=after(-1))
    bring_in(other, filled(catalog))
    assert other.releases()[0].until is not None


def test_the_next_refresh_judges_imported_offers_anew(catalog: Catalog, other: Catalog) -> None:
    spot = an_offer("2.00", kind=PriceKind.SPOT)
    for hours in (0, 1):
        pair = (an_offer("2.00", seen_at=after(hours)), _seen(spot, hours))
        catalog.replace(a_reading(*pair), GATES, now=after(hours))
    state = catalog.state()
    assert state is not None
    bring_in(other, state)
    assert len(other.current_offers()) == 2  # confirmed there, so it stands here
    pair = (an_offer("2.00", seen_at=after(60)), _seen(spot, 60))
    outcome = other.replace(a_reading(*pair), GATES, now=after(60))
    assert outcome.quarantined == {"spot_not_below_on_demand": 1}


def _seen(offer: Offer, hours: float) -> Offer:
    seen = offer.provenance.model_copy(update={"observed_at": after(hours)})
    return offer.model_copy(update={"provenance": seen})


def refused(content: bytes) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        read_catalog(content, "c.gz")
    return caught.value


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.99])
def test_a_file_that_is_cut_short_is_refused(share: float, catalog: Catalog) -> None:
    content = write_catalog(filled(catalog))
    assert "c.gz" in str(refused(content[: int(len(content) * share)]))


def test_a_file_with_any_byte_changed_is_refused(catalog: Catalog) -> None:
    content = write_catalog(filled(catalog))
    for at in range(20, len(content), 37):
        refused(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b'"usd_per_hour":"2.123456"', b'"usd_per_hour":"1.123456"', "not those that were written"),
        (b'"offers":3', b'"offers":2', "not those that were written"),
        (b'"at":"2026', b'"at":"2027', "not those that were written"),
        (b'gpubroker.catalog/1"', b'gpubroker.catalog/2"', "newer version"),
        (b'gpubroker.catalog/1"', b'something.else/1"', "it is no catalog"),
        (b'{"schema"', b'["schema"', "Invalid JSON"),
    ],
)
def test_a_file_that_somebody_edited_is_refused(
    old: bytes, new: bytes, why: str, catalog: Catalog
) -> None:
    text = gzip.decompress(write_catalog(filled(catalog)))
    assert old in text
    assert why in str(refused(gzip.compress(text.replace(old, new, 1))))


def test_a_newer_form_says_to_update(catalog: Catalog) -> None:
    text = gzip.decompress(write_catalog(filled(catalog)))
    error = refused(gzip.compress(text.replace(b"gpubroker.catalog/1", b"gpubroker.catalog/7")))
    assert "form 7, this one knows 1" in str(error)
    assert "update gpubroker" in error.hint


@pytest.mark.parametrize(
    "content",
    [b"", b"no gzip", gzip.compress(b"", mtime=0), gzip.compress(b"{}", mtime=0)],
    ids=["nothing", "no gzip", "nothing in gzip", "an empty object"],
)
def test_a_file_of_another_kind_is_refused(content: bytes) -> None:
    assert "cannot be used" in str(refused(content))


def test_a_catalog_that_names_a_key_twice_is_refused(catalog: Catalog) -> None:
    state = filled(catalog)
    twice = replace(state, offers=(state.offers[0], *state.offers))
    assert "its offers are not those of" in str(refused(write_catalog(twice)))


def test_a_file_that_is_refused_changes_nothing(catalog: Catalog, other: Catalog) -> None:
    content = write_catalog(filled(catalog))
    with pytest.raises(ConfigurationError):
        other.bring_in(read_catalog(content[:-20], "c.gz"), now=NOON)
    assert other.state() is None
