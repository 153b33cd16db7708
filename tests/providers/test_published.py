"""Published price sheets: what stands in them, and that an old price looks old."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from importlib.resources import files

import httpx
import pytest

from broker.domain.errors import ProviderError
from broker.domain.offer import UNKNOWN_REGION, Evidence, Fabric, Offer, PriceKind, Rejection
from broker.domain.policy import Policy
from broker.planning.filters import Freshness, why_not
from broker.specs.load import Specs, load_specs
from providers.kit.access import Access
from providers.published.adapter import PublishedSheet
from providers.published.coreweave import CoreWeave
from providers.published.crusoe import Crusoe
from providers.published.nebius import Nebius

TODAY = Freshness(
    as_of=datetime(2026, 11, 27, tzinfo=UTC), spot=timedelta(hours=24), other=timedelta(days=14)
)
SHEETS = (Nebius, Crusoe, CoreWeave)


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def rows_of(kind: type[PublishedSheet], specs: Specs) -> list[Offer | Rejection]:
    adapter = kind(specs, Access())
    with httpx.Client() as http:
        return list(adapter.offers_in(adapter.fetch(http)))


@pytest.fixture(scope="module")
def offers(specs: Specs) -> dict[str, Offer]:
    rows = [row for kind in SHEETS for row in rows_of(kind, specs)]
    return {row.key: row for row in rows if isinstance(row, Offer)}


@pytest.mark.parametrize("kind", SHEETS)
def test_every_row_of_a_sheet_becomes_an_offer(kind: type[PublishedSheet], specs: Specs) -> None:
    rows = rows_of(kind, specs)
    lines = files("providers.published").joinpath(f"{kind.name}.csv").read_text("utf-8")
    assert [row for row in rows if isinstance(row, Rejection)] == []
    assert len(rows) == lines.count("\n") - 1


def test_a_price_of_one_gpu_is_multiplied_by_those_of_the_node(offers: dict[str, Offer]) -> None:
    h100 = offers["nebius/gpu-h100-sxm_8gpu-128vcpu-1600gb/eu-north1@on_demand"]
    assert h100.usd_per_hour == Decimal("30.80")  # 8 × 3.85
    l40s = offers["crusoe/l40s-48gb.10x/us-east1-a@on_demand"]
    assert l40s.usd_per_hour == Decimal(15)  # 10 × 1.50


def test_an_l40s_of_nebius_costs_its_host_too(offers: dict[str, Offer]) -> None:
    small = offers["nebius/gpu-l40s-a_1gpu-8vcpu-32gb/eu-north1@on_demand"]
    assert small.usd_per_hour == Decimal("1.5484")  # 1.35 + 8 × 0.012 + 32 × 0.0032; "from 1.55"
    amd = offers["nebius/gpu-l40s-d_1gpu-16vcpu-96gb/eu-north1@on_demand"]
    assert amd.usd_per_hour == Decimal("1.8172")  # 1.35 + 16 × 0.010 + 96 × 0.0032; "from 1.82"


def test_a_price_of_a_node_is_taken_as_it_stands(offers: dict[str, Offer]) -> None:
    rack_part = offers["coreweave/gb200-4x/US-EAST-01A@on_demand"]
    assert rack_part.usd_per_hour == Decimal(42)
    assert rack_part.hardware.shape.gpu_count == 4


def test_what_is_sold_by_the_rack_is_not_planned_by_the_node(offers: dict[str, Offer]) -> None:
    for one in offers.values():
        by_rack = one.hardware.shape.gpu == "GB200"
        assert one.limits.min_nodes == (18 if by_rack else 1), one.key
        if by_rack:
            assert why_not(one, Policy(), TODAY) == "sold in larger numbers only"


def test_an_old_price_on_demand_may_be_planned_with_and_shows_its_age(
    offers: dict[str, Offer],
) -> None:
    h200 = offers["coreweave/gd-8xh200ib-i128/US-EAST-04A@on_demand"]
    assert h200.provenance.evidence is Evidence.SHEET
    assert TODAY.as_of - h200.provenance.observed_at == timedelta(days=54)
    assert why_not(h200, Policy(), TODAY) is None


def test_a_spot_price_of_a_page_is_shown_and_not_planned_with(offers: dict[str, Offer]) -> None:
    spot = [one for one in offers.values() if one.price_kind is PriceKind.SPOT]
    assert len(spot) > 20
    for one in spot:
        assert one.provenance.valid_until is not None, one.key
        if one.place.region != UNKNOWN_REGION:
            assert why_not(one, Policy(), TODAY) == "price too old", one.key


def test_what_crusoe_rents_by_reservation_only_says_so_and_is_not_planned_with(
    offers: dict[str, Offer],
) -> None:
    h100 = offers["crusoe/h100-80gb-sxm-ib.8x/unknown@on_demand"]
    assert any("by reservation only" in warning for warning in h100.warnings)
    assert why_not(h100, Policy(), TODAY) == "region unknown"


def test_only_whole_boards_of_nebius_stand_on_infiniband(offers: dict[str, Offer]) -> None:
    for one in offers.values():
        if one.provider == "nebius":
            whole = one.hardware.shape.gpu_count == 8
            assert (one.hardware.shape.fabric is Fabric.INFINIBAND) == whole, one.key


def test_a_row_of_another_provider_is_an_error(specs: Specs) -> None:
    adapter = Crusoe(specs, Access())
    text = (
        "provider,instance_type,gpu_name,gpu_count,on_demand_usd_h,observed_on\n"
        "hyperstack,some-l40,L40,1,1.00,2026-09-20\n"
    )
    reply = httpx.Response(200, text=text, request=httpx.Request("GET", adapter.page))
    with pytest.raises(ProviderError, match="hyperstack"):
        list(adapter.offers_in([reply]))
