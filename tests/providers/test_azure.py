"""Azure: the recordings give the published prices, and fetching asks for every page, slowly."""

import json
from collections import Counter
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import httpx
import pytest

from broker.domain.errors import ProviderError
from broker.domain.offer import Offer, PriceKind, Rejection
from broker.specs.load import Specs, load_specs
from providers.azure import BLOCK_S, PAUSE_S, SERIES, AzureCloud, first_page
from providers.kit.access import Access
from providers.kit.http import check_status
from providers.kit.recorded import RecordedTransport, recorded_client, recordings


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture(scope="module")
def recorded(specs: Specs) -> tuple[dict[str, Offer], list[Rejection]]:
    azure = AzureCloud(specs, Access())
    with recorded_client("azure") as http:
        results = list(azure.offers_in(azure.fetch(http)))
    offers = [one for one in results if isinstance(one, Offer)]
    by_key = {offer.key: offer for offer in offers}
    assert len(by_key) == len(offers)
    return by_key, [one for one in results if isinstance(one, Rejection)]


def linking_to(link: str | None) -> bytes:
    return json.dumps({"Items": [], "NextPageLink": link, "Count": 0}).encode()


# The recordings


def test_recordings_give_offers_of_every_price_kind_that_azure_sells(
    recorded: tuple[dict[str, Offer], list[Rejection]],
) -> None:
    offers, _ = recorded
    # 236 rows, 33 of them refused: 203 prices; two savings plans hang on each of 18 rows
    assert Counter(offer.price_kind for offer in offers.values()) == {
        PriceKind.ON_DEMAND: 180,
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
        "repeated_row": 1,
        "unknown_instance_type": 1,
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
        ("ND96amsr_A100_v4/eastus2@savings_plan-36m-no_upfront", "17.0109"),
        ("ND96isr_MI300X_v5/eastus2@spot", "8.8704"),
        ("NC24ads_A100_v4/francecentral@on_demand", "4.591"),
        ("NC40ads_H100_v5/eastus@savings_plan-12m-no_upfront", "5.8067"),
        ("NC80adis_H100_v5/swedencentral@on_demand", "18.148"),
        ("NC64as_T4_v3/eastus@on_demand", "4.352"),
        ("NC36lds_xl_RTXPRO6000BSE_v6/westus2@spot", "0.2297"),
        ("NV6ads_A10_v5/eastus@on_demand", "0.454"),
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


def test_every_recorded_request_is_made(specs: Specs) -> None:
    transport = RecordedTransport("azure")
    with httpx.Client(transport=transport) as http:
        pages = [str(reply.request.url) for reply in AzureCloud(specs, Access()).fetch(http)]
    assert len(pages) == 5
    assert transport.unused() == ()


# Fetching


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bad_request", "400 Bad Request.*Invalid OData parameters supplied"),
        ("throttled", "429 Too Many Requests.*retry after 60 seconds"),
    ],
)
def test_recorded_error_is_told_in_the_words_of_azure(specs: Specs, name: str, said: str) -> None:
    (failed,) = (one for one in recordings("azure") if one.name == name)

    def answer(request: httpx.Request) -> httpx.Response:
        reply = failed.reply()
        check_status(reply, request)
        return reply

    with (
        httpx.Client(transport=httpx.MockTransport(answer)) as http,
        pytest.raises(ProviderError, match=said),
    ):
        list(AzureCloud(specs, Access()).fetch(http))


def test_fetch_follows_links_through_the_port_until_there_is_none(specs: Specs) -> None:
    linked = str(first_page(SERIES[0])).replace(".com/", ".com:443/") + "&$skip=1000"
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params.get("$skip", request.url.params["$filter"]))
        first = len(asked) == 1
        return httpx.Response(200, content=linking_to(linked if first else None))

    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        replies = list(AzureCloud(specs, Access()).fetch(http))
    wanted = "serviceName eq 'Virtual Machines' and contains(armSkuName, '{}')"
    assert asked == [
        wanted.format("Standard_ND"),
        "1000",
        wanted.format("Standard_NC"),
        wanted.format("Standard_NV"),
    ]
    assert len(replies) == 4


def test_query_asks_for_dollars_and_for_the_version_with_savings_plans() -> None:
    params = first_page("Standard_ND").params
    assert params["currencyCode"] == "USD"
    assert params["api-version"] == "2023-01-01-preview"
    assert "meterRegion" not in params  # it would drop valid rows


@pytest.mark.parametrize(
    "link",
    [
        "https://prices.azure.com.example.org/api/retail/prices?$skip=1000",
        "http://prices.azure.com/api/retail/prices?$skip=1000",
        "/api/retail/prices?$skip=1000",
        str(first_page(SERIES[0])),
    ],
    ids=["other host", "no TLS", "relative", "a page already read"],
)
def test_link_that_leads_astray_is_the_providers_error(specs: Specs, link: str) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=linking_to(link))

    with (
        httpx.Client(transport=httpx.MockTransport(answer)) as http,
        pytest.raises(ProviderError, match="NextPageLink"),
    ):
        list(AzureCloud(specs, Access()).fetch(http))


@pytest.mark.parametrize(
    ("headers", "pause_s"),
    [
        ({}, None),
        ({"x-ms-ratelimit-remaining-retailPrices-requests": "9"}, PAUSE_S),
        ({"x-ms-ratelimit-remaining-retailPrices-requests": "0"}, BLOCK_S),
        (
            {
                "x-ms-ratelimit-remaining-retailPrices-requests": "0",
                "x-ms-ratelimit-retailPrices-retry-after": "45",
            },
            45.0,
        ),
    ],
    ids=["a recording", "some left", "none left", "none left, for a stated time"],
)
def test_requests_are_spaced_as_the_rate_headers_ask(
    specs: Specs, headers: dict[str, str], pause_s: float | None
) -> None:
    pauses: list[float] = []

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=linking_to(None), headers=headers)

    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        list(AzureCloud(specs, Access(), pause=pauses.append).fetch(http))
    between = len(SERIES) - 1
    assert pauses == ([] if pause_s is None else [pause_s] * between)
