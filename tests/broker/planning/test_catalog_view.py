from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from price_lists import NOON, after

from broker.catalog.gates import Reason
from broker.domain.errors import ConfigurationError
from broker.planning.catalog_view import CatalogSource
from broker.planning.offers import open_offers
from broker.planning.service import PlanningService, open_service
from broker.planning.shown import status_rows
from broker.settings import Settings

HEADER = "provider,instance_type,gpu_name,gpu_count,region,price_kind,price,currency,observed_on"


@pytest.fixture
def service(tmp_path: Path) -> PlanningService:
    return open_service(Settings(data_dir=tmp_path / "data"), clock=lambda: after(10_000))


def sheet(folder: Path, *rows: str) -> Path:
    path = folder / "sheet.csv"
    path.write_text("\n".join((HEADER, *rows, "")))
    return path


def test_a_sheet_is_seen_at_its_newest_date_and_the_store_is_not_touched(
    service: PlanningService, tmp_path: Path
) -> None:
    path = sheet(
        tmp_path,
        "acme,box,H100-SXM,8,here,on_demand,16.00,USD,2026-05-01",
        "acme,cube,H100-SXM,1,here,on_demand,2.50,USD,2026-05-03",
    )
    view = service.view(CatalogSource(sheet=path))
    assert [offer.usd_per_hour for offer in view.offers] == [16, Decimal("2.5")]
    assert view.now == view.as_of == datetime(2026, 5, 3, tzinfo=UTC)
    assert not (tmp_path / "data").exists()


def test_a_sheet_goes_through_the_trust_gates(service: PlanningService, tmp_path: Path) -> None:
    path = sheet(
        tmp_path,
        "acme,box,H100-SXM,8,here,on_demand,16.00,USD,2026-05-01",
        "acme,odd,H100-SXM,8,here,on_demand,0.08,USD,2026-05-01",
    )
    view = service.view(CatalogSource(sheet=path))
    assert [offer.instance_type for offer in view.offers] == ["box"]
    assert [(one.offer.instance_type, one.reason) for one in view.quarantined] == [
        ("odd", Reason.PRICE_OUT_OF_BAND)
    ]


def test_a_sheet_without_an_offer_is_an_error(service: PlanningService, tmp_path: Path) -> None:
    path = sheet(tmp_path, "acme,box,H100-SXM,8,here,on_demand,0,USD,2026-05-01")
    with pytest.raises(ConfigurationError, match="there is no offer in it"):
        service.view(CatalogSource(sheet=path))


def test_a_sheet_has_one_hash_until_a_price_in_it_changes(
    service: PlanningService, tmp_path: Path
) -> None:
    row = "acme,box,H100-SXM,8,here,on_demand,{},USD,2026-05-01"
    first = service.offers_from_sheet(sheet(tmp_path, row.format("16.00"))).snapshot
    assert service.offers_from_sheet(sheet(tmp_path, row.format("16.00"))).snapshot == first
    assert service.offers_from_sheet(sheet(tmp_path, row.format("16.01"))).snapshot != first


def test_the_status_of_recordings_counts_every_offer_once(
    service: PlanningService, tmp_path: Path
) -> None:
    service.refresh(recorded=True)
    view = service.offers_from_store()
    status = open_offers(Settings(data_dir=tmp_path / "data")).status()
    rows = status_rows(status)
    assert [row.provider for row in rows] == sorted(service.asked(recorded=True))
    assert sum(row.offers for row in rows) == len(view.offers)
    assert sum(sum(row.price_kinds.values()) for row in rows) == len(view.offers)
    assert sum(sum(row.evidence.values()) for row in rows) == len(view.offers)
    held = sum(sum(row.quarantined.values()) for row in rows)
    assert held == len(view.quarantined)


def test_the_catalog_is_readable_while_all_of_it_is_held(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, max_usd_per_gpu_hour=Decimal("0.021"))
    service = open_service(settings, clock=lambda: NOON)
    service.refresh(["lambda"], recorded=True)
    view = service.offers_from_store()
    assert view.offers == ()
    assert {one.reason for one in view.quarantined} == {Reason.PRICE_OUT_OF_BAND}
