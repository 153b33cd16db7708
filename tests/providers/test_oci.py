"""OCI: which parts of the list are GPUs, what a shape costs, and where it is offered."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import httpx
import pytest
from pydantic import JsonValue

from broker.domain.errors import ProviderError
from broker.domain.offer import (
    UNKNOWN_REGION,
    Evidence,
    Fabric,
    Link,
    Offer,
    PriceKind,
    Rejection,
    Virtualization,
)
from broker.specs.load import Specs, load_specs
from providers.kit.access import Access
from providers.kit.http import live_client
from providers.kit.recorded import recorded_client
from providers.oci import URL, OracleCloud

NOW = datetime(2026, 11, 27, tzinfo=UTC)


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture(scope="module")
def rows(specs: Specs) -> list[Offer | Rejection]:
    adapter = OracleCloud(specs, Access())
    with recorded_client("oci") as http:
        return list(adapter.offers_in(adapter.fetch(http)))


@pytest.fixture(scope="module")
def offers(rows: list[Offer | Rejection]) -> dict[str, Offer]:
    found = [row for row in rows if isinstance(row, Offer)]
    return {f"{one.instance_type}@{one.price_kind}": one for one in found}


@pytest.fixture(scope="module")
def refused(rows: list[Offer | Rejection]) -> dict[str, str]:
    found = [row for row in rows if isinstance(row, Rejection)]
    return {one.subject.partition(":")[0]: one.reason for one in found}


def product(**changes: JsonValue) -> dict[str, JsonValue]:
    prices: list[JsonValue] = [{"model": "PAY_AS_YOU_GO", "value": 10}]
    return {
        "partNumber": "B98415",
        "displayName": "OCI - Compute - GPU - H100",
        "metricName": "GPU Per Hour",
        "serviceCategory": "Compute - GPU",
        "currencyCodeLocalizations": [{"currencyCode": "USD", "prices": prices}],
        **changes,
    }


def priced(*values: JsonValue, currency: str = "USD") -> list[JsonValue]:
    prices: list[JsonValue] = [{"model": "PAY_AS_YOU_GO", "value": value} for value in values]
    return [{"currencyCode": currency, "prices": prices}]


def read(
    specs: Specs, *pages: dict[str, JsonValue], regions: tuple[str, ...] = ()
) -> list[Offer | Rejection]:
    """Translate pages that are served one after the other, whatever is asked."""
    left = iter(pages)
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=next(left)))
    adapter = OracleCloud(specs, Access(regions=regions))
    with live_client(lambda: NOW, transport=transport) as http:
        return list(adapter.offers_in(adapter.fetch(http)))


def test_a_shape_costs_its_gpus(offers: dict[str, Offer]) -> None:
    assert offers["BM.GPU.H100.8@on_demand"].usd_per_hour == Decimal(80)  # 8 × 10
    assert offers["BM.GPU4.8@on_demand"].usd_per_hour == Decimal("24.40")  # 8 × 3.05
    assert offers["VM.GPU.A10.2@on_demand"].usd_per_hour == Decimal(4)  # 2 × 2
    assert offers["BM.GPU.MI355X.8@on_demand"].usd_per_hour == Decimal("68.80")  # 8 × 8.6
    assert offers["BM.GPU.GB200.4@on_demand"].usd_per_hour == Decimal(64)  # 4 × 16, not 72


def test_only_shapes_that_may_be_preemptible_have_a_spot_price_of_half(
    offers: dict[str, Offer],
) -> None:
    spot = {one.instance_type: one for one in offers.values() if one.price_kind is PriceKind.SPOT}
    assert set(spot) == {"VM.GPU2.1", "VM.GPU3.1", "VM.GPU3.2", "VM.GPU3.4"}
    assert spot["VM.GPU3.1"].usd_per_hour == Decimal("1.475")  # 2.95 / 2
    assert spot["VM.GPU3.4"].usd_per_hour == Decimal("5.90")  # 4 × 2.95 / 2
    assert "by Oracle's rule" in spot["VM.GPU3.1"].warnings[1]


def test_licences_and_other_products_at_a_price_per_gpu_are_no_gpus(
    refused: dict[str, str],
) -> None:
    assert refused["B111824"] == "software_licence"  # 2.50 beside an H100's 10
    assert refused["B111831"] == "software_licence"
    assert refused["B111455"] == "other_product"  # Cloud@Customer
    assert refused["B108806"] == "other_product"  # VMware, per node
    assert refused["B109493"] == "other_product"  # per day
    assert refused["B109480"] == "unknown_part"  # H100T
    assert "B108776" not in refused  # no GPU at all


def test_a_shape_has_the_hardware_of_its_table_row(offers: dict[str, Offer]) -> None:
    h100 = offers["BM.GPU.H100.8@on_demand"].hardware
    assert (h100.shape.gpu, h100.shape.gpu_count) == ("H100-SXM", 8)
    assert (h100.shape.link, h100.shape.fabric) == (Link.NVSWITCH, Fabric.ROCE)
    assert h100.virtualization is Virtualization.BARE_METAL
    assert offers["VM.GPU.A10.1@on_demand"].hardware.virtualization is Virtualization.VM
    assert offers["BM.GPU.A100-v2.8@on_demand"].hardware.shape.gpu == "A100-80-SXM"
    assert offers["BM.GPU.B4.8@on_demand"].hardware.shape.gpu == "A100-40-SXM"
    assert offers["BM.GPU.GB300.4@on_demand"].hardware.cpu_architecture == "arm64"


def test_without_regions_an_offer_is_shown_and_cannot_be_planned_with(
    offers: dict[str, Offer],
) -> None:
    assert {one.place.region for one in offers.values()} == {UNKNOWN_REGION}


def test_the_regions_that_the_user_names_have_each_shape_at_one_price(specs: Specs) -> None:
    rows = read(specs, {"items": [product()]}, regions=("us-ashburn-1", "eu-frankfurt-1"))
    found = [row for row in rows if isinstance(row, Offer)]
    assert [(one.place.region, one.place.country) for one in found] == [
        ("us-ashburn-1", "US"),
        ("eu-frankfurt-1", "DE"),
    ]
    assert {one.usd_per_hour for one in found} == {Decimal(80)}
    assert "does not say which have the shape" in found[0].warnings[0]


@pytest.mark.parametrize(
    ("region", "reason"),
    [("us-asburn-1", "unknown_region"), ("us-gov-ashburn-1", "other_realm")],
)
def test_a_region_where_the_list_does_not_hold_is_refused(
    specs: Specs, region: str, reason: str
) -> None:
    rows = read(specs, {"items": [product()]}, regions=(region,))
    assert [(row.subject, row.reason) for row in rows if isinstance(row, Rejection)] == [
        (region, reason)
    ]
    assert len(rows) == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"displayName": "OCI - Compute - GPU - H200"}, "part_renamed"),
        ({"displayName": "OCI - Compute - GPU - H100T"}, "part_renamed"),
        ({"partNumber": "B999999"}, "unknown_part"),
        ({"serviceCategory": "Compute Cloud@Customer"}, "other_product"),
        ({"currencyCodeLocalizations": []}, "no_price"),
        ({"currencyCodeLocalizations": priced(9, currency="EUR")}, "no_price"),
        ({"currencyCodeLocalizations": priced(0)}, "no_price"),
        ({"currencyCodeLocalizations": priced(-1)}, "no_price"),
        ({"currencyCodeLocalizations": priced(None)}, "no_price"),
        ({"currencyCodeLocalizations": priced(10, 8)}, "ambiguous_price"),
        ({"currencyCodeLocalizations": priced("ten")}, "unreadable_row"),
    ],
)
def test_what_is_no_price_of_a_known_gpu_is_refused(
    specs: Specs, changes: dict[str, JsonValue], reason: str
) -> None:
    (row,) = read(specs, {"items": [product(**changes)]})
    assert isinstance(row, Rejection)
    assert row.reason == reason
    assert row.detail


@pytest.mark.parametrize(
    "name",
    [
        "Oracle Cloud Infrastructure - Compute - GPU - H100",
        "OCI- Compute - GPU - H100",
        "Compute  - GPU - H100",
    ],
)
def test_a_name_may_be_written_in_any_way(specs: Specs, name: str) -> None:
    (row,) = read(specs, {"items": [product(displayName=name)]})
    assert isinstance(row, Offer)


def test_a_price_of_another_model_than_pay_as_you_go_is_left_out(specs: Specs) -> None:
    prices: list[JsonValue] = [
        {"model": "MONTHLY_COMMIT", "value": 7},
        {"model": "PAY_AS_YOU_GO", "value": 10},
    ]
    (row,) = read(
        specs,
        {"items": [product(currencyCodeLocalizations=[{"currencyCode": "USD", "prices": prices}])]},
    )
    assert isinstance(row, Offer)
    assert row.usd_per_hour == Decimal(80)


def test_the_list_says_since_when_it_holds(offers: dict[str, Offer]) -> None:
    seen = offers["BM.GPU.H100.8@on_demand"].provenance
    assert seen.effective_at == datetime(2026, 8, 14, 9, 9, 55, 872000, tzinfo=UTC)
    assert seen.evidence is Evidence.RECORDED


def test_a_page_that_is_linked_is_read_too(specs: Specs) -> None:
    link: list[JsonValue] = [{"rel": "next", "href": f"{URL}&offset=1"}]
    h200 = product(partNumber="B110519", displayName="OCI - Compute - GPU - H200")
    rows = read(specs, {"items": [product()], "links": link}, {"items": [h200], "links": []})
    assert [row.instance_type for row in rows if isinstance(row, Offer)] == [
        "BM.GPU.H100.8",
        "BM.GPU.H200.8",
    ]


@pytest.mark.parametrize("href", [str(URL), "https://elsewhere.example/products/?page=2"])
def test_a_link_that_leads_nowhere_new_is_an_error(specs: Specs, href: str) -> None:
    page: dict[str, JsonValue] = {"items": [], "links": [{"rel": "next", "href": href}]}
    with pytest.raises(ProviderError, match="links to"):
        read(specs, page, page)


def test_a_price_is_read_digit_for_digit(specs: Specs) -> None:
    body = json.dumps({"items": [product(currencyCodeLocalizations=priced(8.1))]})
    (row,) = read(specs, json.loads(body))
    assert isinstance(row, Offer)
    assert row.quote.amount == Decimal("64.8")  # 8 × 8.1 as decimals
