"""Scaleway: euros of whole nodes, a catalog and a stock for each zone, sizes in bytes."""

import json
from decimal import Decimal

import httpx
import pytest
from pydantic import JsonValue, SecretStr

from broker.domain.errors import ProviderError
from broker.domain.offer import Evidence, Link, Offer, PriceKind, Rejection
from broker.specs.load import Specs, load_specs
from providers.kit.access import Access
from providers.kit.adapter import stamp
from providers.kit.http import live_client
from providers.kit.parts import Missing, replies_only
from providers.kit.recorded import RecordedTransport, recorded_client, recordings
from providers.scaleway import PAGE_ROWS, ZONES, Scaleway

TYPES = "https://api.scaleway.com/instance/v1/zones/fr-par-2/products/servers"
SXM = "H100-SXM-8-80G"


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture(scope="module")
def rows(specs: Specs) -> list[Offer | Rejection]:
    cloud = Scaleway(specs, Access())
    with recorded_client("scaleway") as http:
        return list(cloud.offers_in(replies_only(cloud.fetch(http), [])))


def in_zone(rows: list[Offer | Rejection], zone: str) -> dict[str, Offer]:
    found = [row for row in rows if isinstance(row, Offer) and row.place.zone == zone]
    return {row.instance_type: row for row in found}


def rejected(rows: list[Offer | Rejection]) -> dict[str, str]:
    return {row.subject: row.reason for row in rows if isinstance(row, Rejection)}


def reply(url: str, servers: JsonValue) -> httpx.Response:
    body = json.dumps({"servers": servers})
    made = httpx.Response(200, text=body, request=httpx.Request("GET", url))
    stamp(made, observed_at=recordings("scaleway")[0].made_on, evidence=Evidence.COMPOSED)
    return made


def translate(specs: Specs, name: str = SXM, /, **changes: JsonValue) -> list[Offer | Rejection]:
    """Translate one type of eight H100 with fields changed."""
    server: dict[str, JsonValue] = {
        "hourly_price": 25.3308,
        "ncpus": 128,
        "ram": 960 * 2**30,
        "gpu": 8,
        "gpu_info": {
            "gpu_manufacturer": "NVIDIA",
            "gpu_name": "H100-SXM",
            "gpu_memory": 80 * 2**30,
        },
        "mig_profile": None,
        "end_of_service": False,
        **changes,
    }
    return list(Scaleway(specs, Access()).offers_in([reply(TYPES, {name: server})]))


def test_a_price_is_of_the_whole_node_in_euros(rows: list[Offer | Rejection]) -> None:
    offer = in_zone(rows, "fr-par-2")[SXM]
    assert offer.quote.amount == Decimal("25.3308")
    assert offer.quote.currency == "EUR"
    assert offer.usd_per_hour == Decimal("28.618738")  # 25.3308 × 1.1298, the rate of 2026-10-01
    assert offer.price_kind is PriceKind.ON_DEMAND
    assert offer.commitment is None
    assert offer.hardware.shape.gpu == "H100-SXM"
    assert offer.hardware.shape.gpu_count == 8
    assert offer.hardware.shape.link is Link.NVSWITCH
    assert offer.hardware.vcpus == 128
    assert offer.hardware.host_memory_gib == 960
    assert offer.hardware.local_disk_gb == 12_800
    assert offer.billing.step_s == 60


def test_an_offer_lies_in_a_zone_of_a_region(rows: list[Offer | Rejection]) -> None:
    offer = in_zone(rows, "pl-waw-2")["L4-1-24G"]
    assert (offer.place.region, offer.place.country) == ("pl-waw", "PL")
    assert offer.key == "scaleway/L4-1-24G/pl-waw/pl-waw-2@on_demand"


def test_each_zone_has_its_own_stock(rows: list[Offer | Rejection]) -> None:
    stocks = {zone: in_zone(rows, zone)["L4-1-24G"].limits for zone in ZONES}
    assert {zone: limits.stock_level for zone, limits in stocks.items()} == {
        "fr-par-2": "available",
        "fr-par-1": "shortage",
        "pl-waw-2": "available",
    }
    assert stocks["fr-par-1"].stock_nodes == 0
    assert stocks["fr-par-2"].stock_nodes is None
    scarce = in_zone(rows, "pl-waw-2")["L4-2-24G"].limits
    assert (scarce.stock_level, scarce.stock_nodes) == ("scarce", None)


def test_types_without_a_gpu_are_no_offers(rows: list[Offer | Rejection]) -> None:
    assert rejected(rows)["DEV1-S/fr-par-2"] == "not_a_gpu"
    assert rejected(rows)["BASIC2-A2C-4G/pl-waw-2"] == "not_a_gpu"


def test_the_card_of_a_known_type_is_known(specs: Specs, rows: list[Offer | Rejection]) -> None:
    """`P100` alone may be a card or a board; RENDER-S is published as PCIe, by the hour."""
    offer = in_zone(rows, "fr-par-2")["RENDER-S"]
    assert offer.hardware.shape.gpu == "P100-PCIe-16"
    assert offer.billing.step_s == 3600
    info: JsonValue = {"gpu_name": "P100", "gpu_memory": 16 * 2**30}
    assert rejected(translate(specs, "RENDER-M", gpu=1, gpu_info=info)) == {
        "RENDER-M/fr-par-2": "ambiguous_gpu"
    }


def test_h100_of_both_forms_are_told_apart(rows: list[Offer | Rejection]) -> None:
    found = in_zone(rows, "fr-par-2")
    assert found["H100-2-80G"].hardware.shape.gpu == "H100-PCIe"
    assert found["H100-2-80G"].hardware.shape.link is Link.PCIE
    assert found["H100-SXM-2-80G"].hardware.shape.gpu == "H100-SXM"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"mig_profile": "1g.10gb"}, "mig_slice"),
        ({"end_of_service": True}, "end_of_service"),
        ({"gpu": 4}, "contradicts_known_type"),
        ({"hourly_price": 0}, "no_price"),
        ({"hourly_price": None}, "no_price"),
        ({"hourly_price": -1}, "no_price"),
    ],
)
def test_what_is_no_offer_says_why(
    specs: Specs, changes: dict[str, JsonValue], reason: str
) -> None:
    assert rejected(translate(specs, **changes)) == {f"{SXM}/fr-par-2": reason}


def test_a_new_card_is_not_guessed(specs: Specs) -> None:
    info: JsonValue = {"gpu_name": "X1", "gpu_memory": 2**39}
    assert rejected(translate(specs, "X1-8-512G", gpu_info=info)) == {
        "X1-8-512G/fr-par-2": "unknown_gpu"
    }


def test_a_type_without_a_word_of_stock_may_be_had(specs: Specs) -> None:
    (offer,) = translate(specs)
    assert isinstance(offer, Offer)
    assert offer.limits.stock_level is None
    assert offer.limits.stock_nodes is None


def test_pages_are_asked_for_until_all_rows_are_there(specs: Specs) -> None:
    """By the count in the header; without one, until a page is not full."""
    asked: list[str] = []
    full: JsonValue = {f"t{number}": {"gpu": 0} for number in range(PAGE_ROWS)}

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.url.path.rpartition('/')[2]} {request.url.params['page']}")
        first = request.url.params["page"] == "1"
        counted = request.url.path.endswith("servers")
        headers = {"X-Total-Count": str(PAGE_ROWS)} if counted else {}
        return httpx.Response(200, json={"servers": full if first else {}}, headers=headers)

    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        list(Scaleway(specs, Access(regions=("fr-par-2",))).fetch(http))
    assert asked == ["availability 1", "availability 2", "servers 1"]


@pytest.mark.parametrize("headers", [{}, {"X-Total-Count": str(PAGE_ROWS + 50)}])
def test_a_page_that_comes_again_is_not_asked_for_for_ever(
    specs: Specs, headers: dict[str, str]
) -> None:
    """Nor are the rows of the pages that did not come taken for gone."""
    asked: list[str] = []
    full: JsonValue = {f"t{number}": {"gpu": 0} for number in range(PAGE_ROWS)}

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params["page"])
        assert len(asked) < 9, "it is asked for again and again"
        return httpx.Response(200, json={"servers": full}, headers=headers)

    with (
        httpx.Client(transport=httpx.MockTransport(answer)) as http,
        pytest.raises(ProviderError, match=r"fr-par-2.*page 2 has the rows of an earlier one"),
    ):
        list(Scaleway(specs, Access(regions=("fr-par-2",))).fetch(http))
    assert asked == ["1", "2"]


@pytest.mark.parametrize(
    ("zone", "region"), [("fr-par-2", "fr-par"), ("fr-par-1", "fr-par"), ("pl-waw-2", "pl-waw")]
)
def test_a_zone_may_be_missing_alone(specs: Specs, zone: str, region: str) -> None:
    recorded = RecordedTransport("scaleway")
    (outage,) = [one for one in recordings("scaleway") if one.name == "unknown-zone"]

    def answer(request: httpx.Request) -> httpx.Response:
        whole = zone not in request.url.path
        return recorded.handle_request(request) if whole else outage.reply()

    cloud, missing = Scaleway(specs, Access()), list[Missing]()
    inner = httpx.MockTransport(answer)
    with live_client(lambda: outage.made_on, transport=inner) as http:
        found = list(cloud.offers_in(replies_only(cloud.fetch(http), missing)))
    assert [one for one in ZONES if not in_zone(found, one)] == [zone]
    (part,) = missing
    assert part.region == region
    assert "unknown_resource" in part.why


def test_a_provider_without_any_zone_has_failed(specs: Specs) -> None:
    (outage,) = [one for one in recordings("scaleway") if one.name == "unknown-zone"]
    cloud, inner = Scaleway(specs, Access()), httpx.MockTransport(lambda _: outage.reply())
    with (
        live_client(lambda: outage.made_on, transport=inner) as http,
        pytest.raises(ProviderError, match="unknown_resource"),
    ):
        list(cloud.fetch(http))


@pytest.mark.parametrize(
    ("named", "zones"),
    [
        (("pl-waw-2",), {"pl-waw-2"}),
        (("fr-par",), {"fr-par-1", "fr-par-2"}),
        (("fr-par-2", "fr-par"), {"fr-par-1", "fr-par-2"}),
    ],
)
def test_the_setting_names_zones_or_whole_regions(
    specs: Specs, named: tuple[str, ...], zones: set[str]
) -> None:
    cloud, transport = Scaleway(specs, Access(regions=named)), RecordedTransport("scaleway")
    with httpx.Client(transport=transport) as http:
        found = list(cloud.offers_in(replies_only(cloud.fetch(http), [])))
    assert {row.place.zone for row in found if isinstance(row, Offer)} == zones


def test_a_key_is_sent_in_a_header_of_its_own_and_none_is_needed(specs: Specs) -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={"servers": {}})

    cloud = Scaleway(specs, Access({"api_key": SecretStr("s3cr3t")}, ("fr-par-2",)))
    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        list(cloud.fetch(http))
        list(Scaleway(specs, Access(regions=("fr-par-2",))).fetch(http))
    assert [one.headers.get("X-Auth-Token") for one in sent] == ["s3cr3t", "s3cr3t", None, None]
    assert "s3cr3t" not in repr(vars(cloud))
