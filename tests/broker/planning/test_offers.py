import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from price_lists import GATES, NOON, a_reading, after, an_offer

from broker.catalog.listing import listing_of
from broker.catalog.store import open_catalog
from broker.domain.errors import ConfigurationError
from broker.domain.offer import PriceKind
from broker.planning.catalog_view import CatalogSource
from broker.planning.offers import Listed, OfferService, open_offers
from broker.planning.query import OfferQuery
from broker.planning.service import open_service
from broker.reports.formats import plain
from broker.settings import Settings
from broker.store.place import Place, listing_path, store_place

HEADER = "provider,instance_type,gpu_name,gpu_count,region,price_kind,price,currency,observed_on"
ROW = "acme,box,H100-SXM,8,here,on_demand,16.00,USD,2026-05-01"


@pytest.fixture
def settings(store_settings: Settings) -> Settings:
    return store_settings


@pytest.fixture
def service(settings: Settings) -> OfferService:
    return open_offers(settings, clock=lambda: after(10))


def fill(settings: Settings, hours: float, *prices: str, provider: str = "acme") -> None:
    offers = [
        an_offer(usd, name=f"n{number}", provider=provider, seen_at=after(hours))
        for number, usd in enumerate(prices)
    ]
    catalog = open_catalog(store_place(settings))
    catalog.replace(a_reading(*offers, provider=provider), GATES, now=after(hours))


@pytest.fixture(scope="module")
def filled(new_place: Callable[[], Place], tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Fill a store with all recordings, to be read by several tests."""
    place = new_place()
    settings = (
        Settings(data_dir=place.parent)
        if isinstance(place, Path)
        else Settings(data_dir=tmp_path_factory.mktemp("data"), database=place)
    )
    open_service(settings, clock=lambda: after(10)).refresh(recorded=True)
    return settings


def sheet(folder: Path) -> CatalogSource:
    path = folder / "sheet.csv"
    path.write_text(f"{HEADER}\n{ROW}\n")
    return CatalogSource(sheet=path, as_of=datetime(2026, 5, 11, tzinfo=UTC))


def test_the_store_is_answered_from_what_stands_in_it_now(
    service: OfferService, settings: Settings
) -> None:
    fill(settings, 1, "2.00", "3.00")
    assert [row.price.usd_per_hour for row in service.offers(OfferQuery()).rows] == [2, 3]
    fill(settings, 2, "2.10", "3.00", "1.00")
    found = service.offers(OfferQuery(), Listed(most=2))
    assert [row.price.usd_per_hour for row in found.rows] == [1, Decimal("2.10")]
    assert (found.matching, found.listed, found.snapshot) == (3, 3, None)


def test_an_offer_that_did_not_change_has_the_age_of_the_last_reading(
    service: OfferService, settings: Settings
) -> None:
    fill(settings, 1, "2.00")
    fill(settings, 8, "2.00")
    (row,) = service.offers(OfferQuery()).rows
    assert row.seen.age_h == 2.0
    fill(settings, 9, "5.00", provider="zenith")
    assert [row.seen.age_h for row in service.offers(OfferQuery()).rows] == [2.0, 1.0]


def test_the_listing_says_what_the_catalog_says(filled: Settings) -> None:
    """Every field of every recorded offer, through the file and straight from the store."""
    view = open_service(filled, clock=lambda: after(10)).offers_from_store()
    service = open_offers(filled, clock=lambda: after(11))
    found = service.offers(OfferQuery(), Listed(named=True))
    straight = service.offers(OfferQuery(), Listed(named=True), CatalogSource(as_of=after(11)))
    assert found == straight
    assert (found.snapshot, found.as_of) == (view.snapshot, view.as_of)
    assert {row.key for row in found.rows} == {offer.key for offer in view.offers}


def test_a_listing_is_read_and_not_made_where_it_is_up_to_date(
    settings: Settings, service: OfferService
) -> None:
    fill(settings, 1, "2.00")
    service.offers(OfferQuery())
    path = listing_path(settings)
    made = path.stat().st_ino
    open_offers(settings).offers(OfferQuery())
    assert path.stat().st_ino == made
    fill(settings, 2, "2.20")
    open_offers(settings).offers(OfferQuery())
    assert path.stat().st_ino != made


def test_a_listing_that_cannot_be_kept_costs_time_and_no_answer(
    settings: Settings, service: OfferService, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(settings, 1, "2.00")
    listing_path(settings).mkdir(parents=True)
    assert len(service.offers(OfferQuery()).rows) == 1
    printed = capsys.readouterr()  # where logs go depends on what has set them up before
    assert "listing_not_kept" in printed.out + printed.err


def test_the_hash_of_the_store_is_that_of_its_offers_and_kept_with_them(
    settings: Settings, service: OfferService
) -> None:
    fill(settings, 1, "2.00", "3.00")
    first = service.offers(OfferQuery(), Listed(named=True)).snapshot
    assert first == open_catalog(store_place(settings)).snapshot()
    again = open_offers(settings)
    assert again.offers(OfferQuery(), Listed(named=True)).snapshot == first
    fill(settings, 2, "2.00", "3.10")
    assert again.offers(OfferQuery(), Listed(named=True)).snapshot != first


def test_one_of_each_provider_is_its_cheapest_offer(
    settings: Settings, service: OfferService
) -> None:
    fill(settings, 1, "2.00", "3.00")
    fill(settings, 2, "9.00", "4.00", provider="zenith")
    found = service.offers(OfferQuery(), Listed(one_per="provider", most=1))
    assert [row.key for row in found.rows] == ["acme/n0/here@on_demand"]
    assert (found.matching, found.listed) == (4, 2)
    both = service.offers(OfferQuery(), Listed(one_per="provider")).rows
    assert [row.price.usd_per_hour for row in both] == [2, 4]


def test_an_empty_store_is_an_error(service: OfferService) -> None:
    with pytest.raises(ConfigurationError, match="the catalog is empty"):
        service.offers(OfferQuery())
    with pytest.raises(ConfigurationError, match="the catalog is empty"):
        service.status()


def test_ages_count_from_the_instant_that_is_asked_for(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    service = open_offers(settings, clock=lambda: after(10))
    found = service.offers(OfferQuery(), source=sheet(tmp_path))
    assert [row.seen.age_h for row in found.rows] == [240.0]
    assert found.as_of == datetime(2026, 5, 1, tzinfo=UTC)
    assert not settings.data_dir.exists()


def test_an_unknown_provider_in_a_query_is_answered_with_the_nearest(
    service: OfferService, tmp_path: Path
) -> None:
    query = OfferQuery(providers=frozenset({"acne"}))
    with pytest.raises(ConfigurationError, match="unknown provider 'acne'") as error:
        service.offers(query, source=sheet(tmp_path))
    assert error.value.hint == "did you mean one of: acme?"


def test_a_row_has_every_field_of_its_offer(settings: Settings) -> None:
    """What the payload of an offer says must be found in what JSON says of it."""
    planning = open_service(settings, clock=lambda: NOON)
    view = planning.offers_from_recordings()
    rows = open_offers(settings).offers(OfferQuery(), source=CatalogSource(recorded=True)).rows
    by_key = {row.key: row for row in rows}
    for offer in view.offers:
        row = by_key[offer.key]
        told = {
            json.dumps(plain(value))
            for part in (row.place, row.machine, row.price, row.terms, row.seen)
            for value in (getattr(part, name) for name in part.__dataclass_fields__)
        }
        shape, seen, limits = offer.hardware.shape, offer.provenance, offer.limits
        facts: tuple[object, ...] = (
            *(value for name, value in offer.place if name != "region"),
            *(value for _, value in shape),
            *(value for name, value in offer.hardware if name != "shape"),
            *(value for _, value in seen),
            *(value for _, value in limits),
            *(value for _, value in offer.quote),
            *(value for _, value in offer.billing),
            *(value for _, value in offer.commitment or ()),
            *(value for _, value in offer.components or ()),
            *(value for _, value in offer.block or ()),
            *(
                (offer.spot.notice_s, *(offer.spot.monthly_interruption or ()))
                if offer.spot
                else ()
            ),
            offer.operator,
            offer.tier,
            offer.certifications,
            offer.warnings,
        )
        missing = [fact for fact in facts if json.dumps(plain(fact)) not in told]
        assert not missing, offer.key


def test_listing_and_status_agree_on_every_count(filled: Settings) -> None:
    view = open_service(filled, clock=lambda: after(10)).offers_from_store()
    status = open_offers(filled, clock=lambda: after(10)).status()
    assert sum(cell.offers for cell in status.cells) == len(view.offers)
    held = sum(sum(cell.quarantined.values()) for cell in status.cells)
    assert held == len(view.quarantined) == len(listing_of((), view.quarantined))
    spot = [one for one in view.offers if one.price_kind is PriceKind.SPOT]
    assert sum(one.offers for one in status.cells if one.price_kind == "spot") == len(spot)
