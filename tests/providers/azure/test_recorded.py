"""Azure: the recordings give the published prices and refuse each trap."""

import csv
from collections import Counter
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import httpx
import pytest

from broker.domain.offer import Offer, PriceKind, Rejection
from broker.specs.load import Specs, load_specs
from providers.azure.adapter import AzureCloud
from providers.kit.access import Access
from providers.kit.parts import replies_only
from providers.kit.recorded import recorded_client, recordings

PUBLISHED = Path(__file__).parents[3] / "../shared/data/prices/offers.csv"


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture(scope="module")
def recorded(specs: Specs) -> tuple[dict[str, Offer], list[Rejection]]:
    azure = AzureCloud(specs, Access())
    with recorded_client("azure") as http:
        results = list(azure.offers_in(replies_only(azure.fetch(http), [])))
    offers = [one for one in results if isinstance(one, Offer)]
    by_key = {offer.key: offer for offer in offers}
    assert len(by_key) == len(offers)
    return by_key, [one for one in results if isinstance(one, Rejection)]


def test_recordings_give_offers_of_every_price_kind_that_azure_sells(
    recorded: tuple[dict[str, Offer], list[Rejection]],
) -> None:
    offers, _ = recorded
    # 584 rows, 35 of them refused: 549 prices; two savings plans hang on each of 18 rows
    assert Counter(offer.price_kind for offer in offers.values()) == {
        PriceKind.ON_DEMAND: 526,
        PriceKind.SPOT: 20,
        PriceKind.RESERVED: 3,
        PriceKind.SAVINGS_PLAN: 36,
    }


def test_recordings_refuse_each_trap_with_its_reason(
    recorded: tuple[dict[str, Offer], list[Rejection]],
) -> None:
    _, rejections = recorded
    assert Counter(rejection.reason for rejection in rejections) == {
        "windows": 9,
        "low_priority": 6,
        "duplicate_key": 5,
        "dev_test_price": 2,
        "ambiguous_spot": 1,
        "cloud_services": 1,
        "dedicated_host": 1,
        "expired": 1,
        "missing_field": 1,
        "no_price": 1,
        "not_in_usd": 1,
        "not_yet_effective": 1,
        "promotional_size": 1,
        "repeated_row": 1,
        "unknown_instance_type": 2,
        "unknown_unit": 1,
    }


@pytest.mark.parametrize(
    ("key", "usd_per_hour"),
    [
        ("ND96isr_H100_v5/eastus@on_demand", "98.32"),
        ("ND96isr_H100_v5/eastus@spot", "18.169536"),
        ("ND96isr_H100_v5/eastus@reserved-12m-no_upfront", "62.924772"),
        ("ND96isr_H100_v5/eastus@reserved-36m-no_upfront", "43.162481"),
        ("ND96isr_H100_v5/westeurope@on_demand", "127.816"),
        ("ND96isr_H200_v5/westus3@on_demand", "84.8"),
        ("ND96asr_v4/eastus@on_demand", "27.197"),
        ("ND96amsr_A100_v4/eastus2@savings_plan-36m-no_upfront-compute", "17.0109"),
        ("ND96isr_MI300X_v5/eastus2@spot", "8.8704"),
        ("NC24ads_A100_v4/francecentral@on_demand", "4.591"),
        ("NC40ads_H100_v5/eastus@savings_plan-12m-no_upfront-compute", "5.8067"),
        ("NC80adis_H100_v5/swedencentral@on_demand", "18.148"),
        ("NC64as_T4_v3/eastus@on_demand", "4.352"),
        ("NC36lds_xl_RTXPRO6000BSE_v6/westus2@spot", "0.2297"),
        ("NV6ads_A10_v5/eastus@on_demand", "0.454"),
        # further regions
        ("ND96isr_H200_v5/australiaeast@on_demand", "122.96"),
        ("ND128isr_NDR_GB200_v6/eastus@on_demand", "108.16"),
    ],
)
def test_recorded_price_is_the_published_figure(
    recorded: tuple[dict[str, Offer], list[Rejection]], key: str, usd_per_hour: str
) -> None:
    offers, _ = recorded
    assert offers[f"azure/Standard_{key}"].usd_per_hour == Decimal(usd_per_hour)


@pytest.mark.parametrize(
    ("size", "gpu", "count"),
    [
        ("ND96isr_H100_v5/eastus", "H100-SXM", 8),
        ("ND96isr_H200_v5/eastus2", "H200-SXM", 8),
        ("ND96asr_v4/eastus", "A100-40-SXM", 8),
        ("ND96amsr_A100_v4/eastus", "A100-80-SXM", 8),
        ("ND96isr_MI300X_v5/eastus2", "MI300X", 8),
        ("ND128isr_NDR_GB200_v6/eastus", "GB200", 4),
        ("NC96ads_A100_v4/eastus", "A100-80-PCIe", 4),
        ("NC80adis_H100_v5/eastus", "H100-NVL", 2),
        ("NC16as_T4_v3/eastus", "T4", 1),
        ("NC64as_T4_v3/eastus", "T4", 4),
        ("NC288ds_xl_RTXPRO6000BSE_v6/eastus", "RTXPRO6000", 2),
        ("NC36ds_xl_RTXPRO6000BSE_v6/eastus", "RTXPRO6000", Fraction(1, 4)),
        ("NV6ads_A10_v5/eastus", "A10", Fraction(1, 6)),
        ("NV12ads_A10_v5/eastus", "A10", Fraction(1, 3)),
        ("NV18ads_A10_v5/eastus", "A10", Fraction(1, 2)),
        ("NV72ads_A10_v5/eastus", "A10", 2),
    ],
)
def test_gpu_and_count_come_from_the_table_of_instance_types(
    recorded: tuple[dict[str, Offer], list[Rejection]], size: str, gpu: str, count: int | Fraction
) -> None:
    shape = recorded[0][f"azure/Standard_{size}@on_demand"].hardware.shape
    assert (shape.gpu, shape.gpu_count) == (gpu, count)


def test_confidential_h100_has_its_linux_price_beside_a_product_named_srs_win(
    recorded: tuple[dict[str, Offer], list[Rejection]],
) -> None:
    offers, _ = recorded
    size = "azure/Standard_NCC40ads_H100_v5"
    assert offers[f"{size}/eastus2@on_demand"].usd_per_hour == Decimal("6.98")  # Windows: 8.82
    assert offers[f"{size}/centralus@on_demand"].usd_per_hour == Decimal("7.89")  # Windows: 9.73


def test_recorded_spot_prices_have_a_known_month_of_the_last_two_years(
    recorded: tuple[dict[str, Offer], list[Rejection]],
) -> None:
    # An undated catalog had A100 spot at half of what the price list says for the same sizes.
    offers, _ = recorded
    spot = [offer for offer in offers.values() if offer.price_kind is PriceKind.SPOT]
    old = [
        offer.key
        for offer in spot
        if offer.provenance.effective_at is None
        or offer.provenance.observed_at - offer.provenance.effective_at > timedelta(days=730)
    ]
    assert spot
    assert old == []


def test_newest_of_two_spot_rows_counts(
    recorded: tuple[dict[str, Offer], list[Rejection]],
) -> None:
    offers, _ = recorded
    spot = offers["azure/Standard_ND96asr_v4/eastus@spot"]
    assert spot.usd_per_hour == Decimal("5.904469")  # 5.98334 started in March 2025


def test_dearer_of_two_spot_rows_of_one_day_counts(
    recorded: tuple[dict[str, Offer], list[Rejection]],
) -> None:
    offers, rejections = recorded
    key = "azure/Standard_NC96ads_A100_v4/swedencentral@spot"
    assert offers[key].usd_per_hour == Decimal("7.3229")
    (lost,) = (one for one in rejections if one.subject == key)
    assert lost.reason == "duplicate_key"
    assert lost.detail == ("5.858000 USD/h from 2026-08-01; kept is 7.322900 USD/h from 2026-08-01")


def test_row_that_two_pages_repeat_is_one_offer(
    recorded: tuple[dict[str, Offer], list[Rejection]],
) -> None:
    offers, rejections = recorded
    key = "azure/Standard_ND96isr_H200_v5/swedencentral@spot"
    assert key in offers
    assert [one.subject for one in rejections if one.reason == "repeated_row"] == [key]


def test_spot_price_equal_to_on_demand_is_kept_as_published(
    recorded: tuple[dict[str, Offer], list[Rejection]],
) -> None:
    offers, _ = recorded
    machine = "azure/Standard_ND96isr_H200_v5/polandcentral"
    assert offers[f"{machine}@spot"].usd_per_hour == offers[f"{machine}@on_demand"].usd_per_hour


def test_government_region_is_in_its_own_partition(
    recorded: tuple[dict[str, Offer], list[Rejection]],
) -> None:
    offers, _ = recorded
    place = offers["azure/Standard_NV36ads_A10_v5/usgovvirginia@on_demand"].place
    assert place.partition == "government"


def test_offers_are_of_fifty_regions(recorded: tuple[dict[str, Offer], list[Rejection]]) -> None:
    places = [offer.place for offer in recorded[0].values()]

    assert len({place.region for place in places}) == 50
    assert [place.region for place in places if place.country is None] == []


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the published prices are not at hand")
def test_every_price_on_demand_of_further_regions_is_a_published_one(specs: Specs) -> None:
    with PUBLISHED.open(newline="") as table:
        published = {
            (row["instance_type"], row["region"]): Decimal(row["on_demand_usd_h"])
            for row in csv.DictReader(table)
            if row["provider"] == "azure" and "karpenter" in row["source"]
        }
    replies = [
        one.reply()
        for one in recordings("azure")
        if one.name in ("nd_page3", "nc_page3", "nv_page2")
    ]
    for reply in replies:
        reply.request = httpx.Request("GET", "https://prices.azure.com/api/retail/prices")
        reply.read()
    offers = [
        one for one in AzureCloud(specs, Access()).offers_in(replies) if isinstance(one, Offer)
    ]

    assert len(offers) == 346
    for one in offers:
        assert one.usd_per_hour == published[one.instance_type, one.place.region], one.key
