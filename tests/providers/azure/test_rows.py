"""Azure: what one row of the price list becomes, and what a page that is none does."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal

import httpx
import pytest
from pydantic import JsonValue

from broker.domain.errors import ProviderError
from broker.domain.offer import Commitment, Evidence, Offer, Payment, PriceKind, Rejection
from broker.specs.load import Specs, load_specs
from providers.azure.adapter import AzureCloud
from providers.azure.pages import first_page
from providers.kit.access import Access
from providers.kit.adapter import stamp

SEEN_AT = datetime(2026, 11, 27, tzinfo=UTC)
ROW: Mapping[str, JsonValue] = {
    "currencyCode": "USD",
    "tierMinimumUnits": 0.0,
    "retailPrice": 98.32,
    "unitPrice": 98.32,
    "armRegionName": "eastus",
    "location": "US East",
    "effectiveStartDate": "2026-10-01T00:00:00Z",
    "meterId": "EXAMPLE-meter-1",
    "meterName": "ND96isrH100v5",
    "productId": "EXAMPLEPROD1",
    "skuId": "EXAMPLEPROD1/0001",
    "productName": "Virtual Machines NDsr H100 v5 Series",
    "skuName": "ND96isrH100v5",
    "serviceName": "Virtual Machines",
    "serviceId": "DZH313Z7MMC8",
    "serviceFamily": "Compute",
    "unitOfMeasure": "1 Hour",
    "type": "Consumption",
    "isPrimaryMeterRegion": True,
    "armSkuName": "Standard_ND96isr_H100_v5",
}
SPOT: Mapping[str, JsonValue] = {
    "skuName": "ND96isrH100v5 Spot",
    "meterName": "ND96isrH100v5 Spot",
}
ONE_YEAR: Mapping[str, JsonValue] = {"type": "Reservation", "reservationTerm": "1 Year"}


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def reply_of(content: bytes) -> httpx.Response:
    reply = httpx.Response(200, content=content, request=httpx.Request("GET", first_page("X")))
    stamp(reply, observed_at=SEEN_AT, evidence=Evidence.RECORDED)
    return reply


def page_of(*rows: Mapping[str, JsonValue]) -> bytes:
    page = {"BillingCurrency": "USD", "Items": rows, "NextPageLink": None, "Count": len(rows)}
    return json.dumps(page).encode()


def read(specs: Specs, *rows: Mapping[str, JsonValue]) -> list[Offer | Rejection]:
    return list(AzureCloud(specs, Access()).offers_in([reply_of(page_of(*rows))]))


def only_offer(specs: Specs, change: Mapping[str, JsonValue]) -> Offer:
    (result,) = read(specs, {**ROW, **change})
    assert isinstance(result, Offer), result
    return result


def refusal(specs: Specs, change: Mapping[str, JsonValue]) -> Rejection:
    (result,) = read(specs, {**ROW, **change})
    assert isinstance(result, Rejection), result
    return result


def test_linux_row_becomes_an_on_demand_offer(specs: Specs) -> None:
    offer = only_offer(specs, {})
    assert offer.key == "azure/Standard_ND96isr_H100_v5/eastus@on_demand"
    assert offer.usd_per_hour == offer.quote.amount == Decimal("98.32")
    assert offer.quote.currency == "USD"
    assert offer.commitment is None
    assert offer.spot is None
    assert offer.place.country == "US"


def test_offer_says_where_and_when_it_was_seen(specs: Specs) -> None:
    seen = only_offer(specs, {"effectiveEndDate": "2026-12-31T00:00:00Z"}).provenance
    assert seen.source == "https://prices.azure.com/api/retail/prices"
    assert seen.observed_at == SEEN_AT
    assert seen.evidence is Evidence.RECORDED
    assert seen.effective_at == datetime(2026, 10, 1, tzinfo=UTC)
    assert seen.valid_until == datetime(2026, 12, 31, tzinfo=UTC)


def test_spot_is_named_in_both_names_and_has_half_a_minute_of_notice(specs: Specs) -> None:
    offer = only_offer(specs, {**SPOT, "retailPrice": 18.169536})
    assert offer.price_kind is PriceKind.SPOT
    assert offer.usd_per_hour == Decimal("18.169536")
    assert offer.spot is not None
    assert offer.spot.notice_s == 30
    assert offer.spot.monthly_interruption is None


def test_reservation_total_is_spread_over_the_hours_of_its_term(specs: Specs) -> None:
    # 551221 ÷ (365 × 24 h = 8760 h) = 62.92477168…, though the row says "1 Hour"
    offer = only_offer(specs, {**ONE_YEAR, "retailPrice": 551221.0})
    assert offer.price_kind is PriceKind.RESERVED
    assert offer.usd_per_hour == Decimal("62.924772")
    assert offer.quote.amount == Decimal("551221.0")
    assert offer.commitment == Commitment(term_months=12, payment=Payment.NO_UPFRONT)
    assert offer.commitment.upfront_usd == 0


def test_reservation_of_five_years_is_spread_over_43800_hours(specs: Specs) -> None:
    # 876000 ÷ (5 × 8760 h = 43800 h) = 20 exactly
    five: Mapping[str, JsonValue] = {"type": "Reservation", "reservationTerm": "5 Years"}
    offer = only_offer(specs, {**five, "retailPrice": 876000.0})
    assert offer.usd_per_hour == 20
    assert offer.commitment is not None
    assert offer.commitment.term_months == 60


@pytest.mark.parametrize("term", ["10 Years", None])
def test_reservation_of_an_unknown_term_is_refused(specs: Specs, term: str | None) -> None:
    change: Mapping[str, JsonValue] = {**ONE_YEAR, "reservationTerm": term, "retailPrice": 1e6}
    assert refusal(specs, change).reason == "unknown_term"


def test_savings_plan_is_per_hour_and_not_a_total(specs: Specs) -> None:
    plans: list[JsonValue] = [
        {"unitPrice": 43.1625, "retailPrice": 43.1625, "term": "3 Years"},
        {"unitPrice": 68.824, "retailPrice": 68.824, "term": "1 Year"},
    ]
    results = read(specs, {**ROW, "savingsPlan": plans})
    prices = {
        one.key.partition("@")[2]: one.usd_per_hour for one in results if isinstance(one, Offer)
    }
    assert prices == {
        "on_demand": Decimal("98.32"),
        "savings_plan-36m-no_upfront-compute": Decimal("43.1625"),
        "savings_plan-12m-no_upfront-compute": Decimal("68.824"),
    }


def test_savings_plan_that_cannot_be_used_leaves_the_on_demand_price(specs: Specs) -> None:
    plans: list[JsonValue] = [
        {"retailPrice": 60.0, "term": "7 Years"},
        {"retailPrice": 60.0, "term": ""},
        {"retailPrice": 0.0, "term": "1 Year"},
        {"retailPrice": None, "term": "1 Year"},
        {"unitPrice": 60.0, "term": "3 Years"},
    ]
    results = read(specs, {**ROW, "savingsPlan": plans})
    assert [one.price_kind for one in results if isinstance(one, Offer)] == ["on_demand"]
    reasons = [one.reason for one in results if isinstance(one, Rejection)]
    assert reasons == [
        "unknown_term",
        "unknown_term",
        "no_price",
        "unreadable_row",
        "missing_field",
    ]


def test_savings_plan_on_a_spot_row_is_no_discount_on_spot(specs: Specs) -> None:
    plans: list[JsonValue] = [{"retailPrice": 60.0, "term": "1 Year"}]
    assert only_offer(specs, {**SPOT, "savingsPlan": plans}).price_kind is PriceKind.SPOT


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"serviceName": "Virtual Machines Licenses"}, "other_service"),
        ({"armSkuName": ""}, "no_instance_type"),
        ({"type": "DevTestConsumption"}, "dev_test_price"),
        ({"type": "Subscription"}, "unknown_price_type"),
        ({"productName": "Virtual Machines NDsr H100 v5 Series Windows"}, "windows"),
        ({"productName": "Virtual Machines NCCadsv5 Srs Win"}, "windows"),
        ({"productName": "NDsr H100 v5 Series Cloud Services"}, "cloud_services"),
        ({"productName": "NDsr H100 v5 Series CloudServices"}, "cloud_services"),
        ({"productName": "NDsr H100 v5 Series Dedicated Host"}, "dedicated_host"),
        ({"skuName": "ND96isrH100v5 Low Priority"}, "low_priority"),
        ({"meterName": "ND96isrH100v5 Low Priority"}, "low_priority"),
        ({"skuName": "ND96isrH100v5 Spot"}, "ambiguous_spot"),
        ({"meterName": "ND96isrH100v5 Spot"}, "ambiguous_spot"),
        ({"armRegionName": "eastus2euap"}, "canary_region"),
        ({"currencyCode": "EUR"}, "not_in_usd"),
        ({"unitOfMeasure": "1 GiB Hour"}, "unknown_unit"),
        ({"tierMinimumUnits": 100.0}, "volume_tier"),
        ({"retailPrice": 0.0}, "no_price"),
        ({"retailPrice": 0.0000001}, "no_price"),
        ({**SPOT, "retailPrice": 0}, "no_price"),
        ({**ONE_YEAR, "retailPrice": 0.0}, "no_price"),
        ({"effectiveStartDate": "2026-11-27T00:00:01Z"}, "not_yet_effective"),
        ({"effectiveEndDate": "2026-11-27T00:00:00Z"}, "expired"),
        ({"effectiveEndDate": "2023-07-31T00:00:00Z", "retailPrice": 0.002}, "expired"),
        ({"armSkuName": "Standard_ND999xyz_v9"}, "unknown_instance_type"),
        ({"armSkuName": "Standard_D2s_v3"}, "unknown_instance_type"),
        ({"armSkuName": "Standard_NC24r_Promo"}, "promotional_size"),
    ],
)
def test_row_that_is_no_linux_price_of_now_is_refused(
    specs: Specs, change: Mapping[str, JsonValue], reason: str
) -> None:
    rejection = refusal(specs, change)
    assert rejection.reason == reason
    assert rejection.provider == "azure"


@pytest.mark.parametrize(
    "change",
    [
        {"isPrimaryMeterRegion": False},
        {"productName": "NDsr H100 v5 Series Linux"},
        {"productName": "Virtual Machines Darwin Series"},  # Win inside a word is no Windows
        {"effectiveStartDate": "2026-11-27T00:00:00Z"},
        {"effectiveEndDate": "2026-11-27T00:00:01Z"},
        {"savingsPlan": None},
        {"armRegionName": "EastUS"},
        {"aFieldThatCameLater": {"nested": [1, 2.5]}},
    ],
)
def test_row_with_an_oddity_that_does_not_matter_stays_the_offer(
    specs: Specs, change: Mapping[str, JsonValue]
) -> None:
    offer = only_offer(specs, change)
    assert offer.key == "azure/Standard_ND96isr_H100_v5/eastus@on_demand"
    assert offer.usd_per_hour == Decimal("98.32")


def test_refusal_names_the_row_and_says_what_was_read(specs: Specs) -> None:
    rejection = refusal(specs, {"effectiveEndDate": "2026-11-01T00:00:00Z"})
    assert rejection.subject == "Standard_ND96isr_H100_v5/eastus: ND96isrH100v5 (Consumption)"
    assert rejection.detail == (
        "Virtual Machines NDsr H100 v5 Series: 98.32 USD per 1 Hour from 2026-10-01 "
        "until 2026-11-01"
    )


@pytest.mark.parametrize(
    "field", ["retailPrice", "armSkuName", "productName", "type", "effectiveStartDate"]
)
def test_row_without_a_field_is_refused_and_its_neighbour_stays(specs: Specs, field: str) -> None:
    lacking = {name: value for name, value in ROW.items() if name != field}
    rejection, offer = read(specs, lacking, ROW)
    assert isinstance(rejection, Rejection)
    assert rejection.reason == "missing_field"
    assert field in rejection.detail
    assert rejection.subject == "page 1, row 1"
    assert isinstance(offer, Offer)


def test_price_that_is_no_number_is_refused(specs: Specs) -> None:
    assert refusal(specs, {"retailPrice": "call us"}).reason == "unreadable_row"


def test_order_of_two_prices_of_one_key_does_not_matter(specs: Specs) -> None:
    older = {**ROW, "retailPrice": 90.0, "effectiveStartDate": "2026-01-01T00:00:00Z"}
    for rows in ((ROW, older), (older, ROW)):
        rejection, offer = read(specs, *rows)
        assert isinstance(rejection, Rejection)
        assert isinstance(offer, Offer)
        assert rejection.reason == "duplicate_key"
        assert offer.usd_per_hour == Decimal("98.32")


@pytest.mark.parametrize(
    "content",
    [
        page_of(ROW)[:-20],
        b"",
        b"{}",
        b"[]",
        b"<html>Too many requests</html>",
        b'{"Error":{"Code":"BadRequest","Message":"Invalid OData parameters supplied"}}',
        b'{"Items": null, "NextPageLink": null}',
    ],
    ids=["truncated", "empty", "no items", "a list", "html", "error", "null items"],
)
def test_page_that_is_no_price_list_is_the_providers_error(specs: Specs, content: bytes) -> None:
    with pytest.raises(ProviderError, match=r"prices\.azure\.com") as raised:
        list(AzureCloud(specs, Access()).offers_in([reply_of(content)]))
    assert raised.value.hint


def test_page_without_rows_gives_nothing(specs: Specs) -> None:
    assert list(AzureCloud(specs, Access()).offers_in([reply_of(page_of())])) == []
