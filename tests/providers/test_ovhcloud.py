"""OVHcloud: price books in 10^-8, hours beside months, regions from a list or of today."""

import json
from decimal import Decimal

import httpx
import pytest
from pydantic import JsonValue, SecretStr

from broker.domain.errors import ProviderError
from broker.domain.offer import (
    UNKNOWN_REGION,
    Evidence,
    Link,
    Offer,
    Payment,
    PriceKind,
    Rejection,
)
from broker.specs.load import Specs, load_specs
from providers.kit.access import Access
from providers.kit.adapter import stamp
from providers.kit.http import live_client
from providers.kit.parts import Missing, replies_only
from providers.kit.recorded import RecordedTransport, Recording, recorded_client, recordings
from providers.ovhcloud import BOOK, PLACES, TOKEN, US_BOOK, OvhCloud

KEYS = Access({"client_id": SecretStr("an-id"), "client_secret": SecretStr("s3cr3t")})


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture(scope="module")
def rows(specs: Specs) -> list[Offer | Rejection]:
    cloud = OvhCloud(specs, Access())
    with recorded_client("ovhcloud") as http:
        return list(cloud.offers_in(replies_only(cloud.fetch(http), [])))


def offers(rows: list[Offer | Rejection]) -> dict[str, Offer]:
    return {row.key: row for row in rows if isinstance(row, Offer)}


def rejected(rows: list[Offer | Rejection]) -> dict[str, str]:
    return {row.subject: row.reason for row in rows if isinstance(row, Rejection)}


def recording(name: str) -> Recording:
    (found,) = [one for one in recordings("ovhcloud") if one.name == name]
    return found


def addon(**changes: JsonValue) -> dict[str, JsonValue]:
    """Make a plan of one H100 by the hour; `technical` and `pricing` change what is inside."""
    technical: dict[str, JsonValue] = {
        "gpu": {"model": "H100", "number": 1, "memory": {"size": 80}},
        "os": {"family": "linux"},
        **(inside if isinstance(inside := changes.pop("technical", {}), dict) else {}),
    }
    pricing: dict[str, JsonValue] = {
        "price": 280_000_000,
        "intervalUnit": "hour",
        "formattedPrice": "2.80 €",
        **(inside if isinstance(inside := changes.pop("pricing", {}), dict) else {}),
    }
    return {
        "planCode": "h100-380.consumption",
        "pricings": [pricing],
        "configurations": [],
        "blobs": {
            "commercial": {"brick": changes.pop("brick", "gpu")},
            "tags": changes.pop("tags", ["active"]),
            "technical": technical,
        },
        **changes,
    }


def translate(
    specs: Specs, *addons: JsonValue, url: str = BOOK, currency: str = "EUR"
) -> list[Offer | Rejection]:
    body = json.dumps({"locale": {"currencyCode": currency}, "addons": addons})
    reply = httpx.Response(200, text=body, request=httpx.Request("GET", url))
    stamp(reply, observed_at=recording("book-fr").made_on, evidence=Evidence.COMPOSED)
    return list(OvhCloud(specs, Access()).offers_in([reply]))


def test_a_price_is_of_the_whole_node_in_hundred_millionths(
    rows: list[Offer | Rejection],
) -> None:
    offer = offers(rows)["ovhcloud/h100-760/GRA11@on_demand"]
    assert offer.quote.amount == Decimal("5.60")  # 560,000,000 × 10⁻⁸
    assert offer.quote.currency == "EUR"
    assert offer.usd_per_hour == Decimal("6.385680")  # 5.60 × 1.1403, the rate of 2026-09-25
    assert offer.hardware.shape.gpu == "H100-PCIe"
    assert offer.hardware.shape.gpu_count == 2
    assert offer.hardware.shape.link is Link.PCIE
    assert offer.hardware.vcpus == 60
    assert offer.hardware.host_memory_gib == 760
    assert offer.hardware.local_disk_gb == 200 + 2 * 3840


def test_a_month_is_a_commitment_of_one_month(rows: list[Offer | Rejection]) -> None:
    offer = offers(rows)["ovhcloud/h100-380/GRA11@reserved-1m-monthly"]
    assert offer.price_kind is PriceKind.RESERVED
    assert offer.commitment is not None
    assert (offer.commitment.term_months, offer.commitment.payment) == (1, Payment.MONTHLY)
    assert offer.commitment.upfront_usd == 0
    assert offer.quote.amount == Decimal("2.657534")  # EUR 1,940 ÷ 730
    assert offer.usd_per_hour == Decimal("3.030386")  # × 1.1403
    assert any("calendar month" in warning for warning in offer.warnings)


def test_the_us_book_has_its_own_prices_currency_and_regions(
    rows: list[Offer | Rejection],
) -> None:
    offer = offers(rows)["ovhcloud/l40s-90/US-WEST-OR-1@on_demand"]
    assert offer.usd_per_hour == Decimal("1.80")
    assert offer.quote.currency == "USD"
    assert not any("published list" in warning for warning in offer.warnings)
    assert rejected(rows)["t2-45.consumption"] == "no_region"


def test_regions_of_the_french_book_are_those_of_a_published_list(
    rows: list[Offer | Rejection],
) -> None:
    found = [one for one in offers(rows).values() if one.instance_type == "t2-le-45"]
    assert [one.place.region for one in found] == ["BHS5", "DE1", "GRA7", "UK1", "WAW1"]
    assert all(any("published list" in text for text in one.warnings) for one in found)


def test_a_flavor_in_no_list_has_no_known_region(specs: Specs) -> None:
    row = addon(
        planCode="rtx5000-84.consumption",
        technical={"gpu": {"model": "Quadro-RTX5000", "number": 3, "memory": {"size": 16}}},
    )
    (offer,) = offers(translate(specs, row)).values()
    assert offer.place.region == UNKNOWN_REGION
    assert offer.hardware.shape.gpu_count == 3


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("a100-180.consumption", "ambiguous_gpu"),
        ("h200-1920.consumption", "ambiguous_gpu"),
        ("a10-45.consumption", "not_active"),
        ("rtx5000-84.consumption", "not_active"),
        ("t1-45.consumption", "not_active"),
        ("win-t1-45.consumption", "windows"),
        ("win-l4-90.monthly.postpaid", "windows"),
        ("l4-90.consumption.LZ.EU", "no_region"),
        ("ai-serving-engine-l4.consumption", "managed_service"),
    ],
)
def test_a_trap_of_the_book_is_no_offer(
    rows: list[Offer | Rejection], code: str, reason: str
) -> None:
    assert rejected(rows)[code] == reason


def test_rows_without_a_gpu_are_passed_over_in_silence(rows: list[Offer | Rejection]) -> None:
    assert not any("b3-8" in subject for subject in rejected(rows))


@pytest.mark.parametrize(
    ("pricing", "reason"),
    [
        ({"price": 0, "formattedPrice": "0.00 €"}, "no_price"),
        ({"price": -1, "formattedPrice": ""}, "no_price"),
        ({"price": None}, "unreadable_row"),
        ({"price": 2_800_000}, "contradicts_its_text"),
        ({"price": 28_000_000_000}, "contradicts_its_text"),
        ({"intervalUnit": "month"}, "unknown_unit"),
        ({"intervalUnit": "day"}, "unknown_unit"),
    ],
)
def test_a_price_that_cannot_be_trusted_is_no_price(
    specs: Specs, pricing: dict[str, JsonValue], reason: str
) -> None:
    assert rejected(translate(specs, addon(pricing=pricing))) == {"h100-380.consumption": reason}


@pytest.mark.parametrize(
    ("price", "text"),
    [
        (155_819_000, "$1.56 USD"),
        (97_760_000, "0.98 €"),
        (138_700_000_000, "$1,387.00 USD"),
        (138_700_000_000, "1 387,00 €"),
        (280_000_000, "€ 2.80"),
        (280_000_000, "2.8000 €"),
        (280_000_000, ""),
    ],
)
def test_the_text_of_a_price_may_be_rounded_and_written_in_several_ways(
    specs: Specs, price: int, text: str
) -> None:
    row = addon(pricing={"price": price, "formattedPrice": text})
    found = offers(translate(specs, row))
    amounts = {one.quote.amount for one in found.values()}
    assert amounts == {Decimal(price).scaleb(-8)}


def test_several_prices_of_one_plan_are_not_chosen_from(specs: Specs) -> None:
    prices: JsonValue = [{"price": 1, "intervalUnit": "hour"}, {"price": 2, "intervalUnit": "hour"}]
    found = translate(specs, addon(pricings=prices))
    assert rejected(found) == {"h100-380.consumption": "several_prices"}


def test_windows_is_seen_without_its_name(specs: Specs) -> None:
    found = translate(specs, addon(technical={"os": {"family": "windows"}}))
    assert rejected(found) == {"h100-380.consumption": "windows"}


def test_a_new_kind_of_plan_is_not_taken_for_an_hour(specs: Specs) -> None:
    found = translate(specs, addon(planCode="h100-380.upfront36"))
    assert rejected(found) == {"h100-380.upfront36": "unknown_plan_code"}


def test_a_count_that_contradicts_the_flavor_is_rejected(specs: Specs) -> None:
    two: JsonValue = {"gpu": {"model": "H100", "number": 2, "memory": {"size": 80}}}
    found = translate(specs, addon(technical=two))
    assert rejected(found) == {"h100-380.consumption": "contradicts_known_type"}


def test_a_currency_without_a_rate_makes_no_offer(specs: Specs) -> None:
    assert rejected(translate(specs, addon(), currency="XTS")) == {
        "h100-380.consumption": "unknown_currency"
    }


def test_a_book_with_gpus_that_are_not_described_says_so(specs: Specs) -> None:
    bare: JsonValue = {"commercial": {"brick": "gpu"}, "tags": ["active"]}
    found = translate(specs, addon(blobs=bare))
    assert rejected(found) == {"h100-380.consumption": "missing_field"}


def test_keys_are_exchanged_for_the_regions_of_today(specs: Specs) -> None:
    recorded = RecordedTransport("ovhcloud")
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        match str(request.url.copy_with(query=None)):
            case url if url == TOKEN:
                return recording("token").reply()
            case url if url == PLACES:
                return recording("regions").reply()
            case _:
                return recorded.handle_request(request)

    cloud = OvhCloud(specs, KEYS)
    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        found = list(cloud.offers_in(replies_only(cloud.fetch(http), [])))
    hosts = [(one.url.host, one.headers.get("Authorization", "")[:6].strip()) for one in sent]
    assert hosts == [
        ("www.ovh.com", "Basic"),
        ("eu.api.ovh.com", "Bearer"),
        ("eu.api.ovh.com", ""),
        ("api.us.ovhcloud.com", ""),
    ]
    assert sent[0].read() == b"grant_type=client_credentials&scope=all"
    assert set(offers(found)) == {
        "ovhcloud/h100-380/GRA9@on_demand",
        "ovhcloud/h100-380/GRA11@on_demand",
        "ovhcloud/h100-380/GRA11@reserved-1m-monthly",
        "ovhcloud/l4-90/EU-WEST-PAR@on_demand",
        "ovhcloud/l40s-90/US-WEST-OR-1@on_demand",
    }
    assert rejected(found)["l40s-90.consumption"] == "no_region"
    assert not any("published" in text for one in offers(found).values() for text in one.warnings)
    assert "s3cr3t" not in repr(vars(cloud))


def test_a_wrong_secret_fails_and_is_not_printed(specs: Specs) -> None:
    refused = httpx.MockTransport(lambda _: httpx.Response(401, json={"error": "invalid_client"}))
    now = recording("token").made_on
    with (
        live_client(lambda: now, transport=refused) as http,
        pytest.raises(ProviderError, match="invalid_client") as error,
    ):
        list(OvhCloud(specs, KEYS).fetch(http))
    assert "s3cr3t" not in str(error.value)


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (recording("unknown-subsidiary").reply(), "BadRequest"),
        (httpx.Response(200, text="<html>maintenance</html>"), "cannot be read"),
        (httpx.Response(200, json={"addons": []}), "locale"),
    ],
)
def test_the_us_book_may_be_missing_alone(specs: Specs, failure: httpx.Response, said: str) -> None:
    recorded, now = RecordedTransport("ovhcloud"), recording("book-us").made_on

    def answer(request: httpx.Request) -> httpx.Response:
        us = request.url.host == httpx.URL(US_BOOK).host
        return failure if us else recorded.handle_request(request)

    cloud, missing = OvhCloud(specs, Access()), list[Missing]()
    with live_client(lambda: now, transport=httpx.MockTransport(answer)) as http:
        found = list(cloud.offers_in(replies_only(cloud.fetch(http), missing)))
    assert "ovhcloud/h100-380/GRA9@on_demand" in offers(found)
    assert [part.region for part in missing] == ["US-EAST-VA-1", "US-WEST-OR-1"]
    assert all(said in part.why for part in missing)
