"""Verda: three prices of a type, long terms off the fixed one, and what a reply may leave out."""

from collections.abc import Callable
from decimal import Decimal

import httpx
import pytest
from pydantic import JsonValue, SecretStr
from reply_changes import Altered, Record, json_change
from reply_changes import changed as altered

from broker.domain.errors import ProviderError
from broker.domain.offer import UNKNOWN_REGION, Offer, Payment, PriceKind, Rejection, Virtualization
from broker.specs.load import Specs, load_specs
from providers.kit.access import Access
from providers.kit.http import check_status
from providers.kit.parts import Missing, replies_only
from providers.kit.recorded import RecordedTransport, recordings
from providers.verda.cloud import PERIODS, PLACES, TOKEN, TYPES, Verda

Edit = Callable[[Record], None]
H100 = "8H100.80S.176V"


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def asked(specs: Specs, transport: httpx.BaseTransport, access: Access) -> list[Offer | Rejection]:
    return _run(specs, transport, access)[0]


def _run(
    specs: Specs, transport: httpx.BaseTransport, access: Access
) -> tuple[list[Offer | Rejection], list[Missing]]:
    cloud, missing = Verda(specs, access), list[Missing]()
    with httpx.Client(transport=transport) as http:
        return list(cloud.offers_in(replies_only(cloud.fetch(http), missing))), missing


def rows(specs: Specs, edit: Edit = lambda row: None) -> list[Offer | Rejection]:
    """Translate the recordings with each row of each reply edited."""

    def change(body: JsonValue) -> JsonValue:
        assert isinstance(body, list)
        for row in body:
            assert isinstance(row, dict)
            edit(row)
        return body

    return asked(specs, Altered(RecordedTransport("verda"), json_change(change)), Access())


def of_type(found: list[Offer | Rejection], name: str, kind: PriceKind) -> list[Offer]:
    return [
        one
        for one in found
        if isinstance(one, Offer) and one.instance_type == name and one.price_kind is kind
    ]


def reasons(found: list[Offer | Rejection], subject: str) -> set[str]:
    return {one.reason for one in found if isinstance(one, Rejection) and one.subject == subject}


def changed(name: str, **fields: JsonValue) -> Edit:
    def edit(row: Record) -> None:
        if row.get("instance_type") == name:
            row.update(fields)

    return edit


class Without(httpx.BaseTransport):
    """Answers from recordings, but for URLs that need a token, which it refuses."""

    def __init__(self, *refused: str) -> None:
        self._refused = refused
        self._inner = RecordedTransport("verda")

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if any(str(request.url).startswith(url) for url in self._refused):
            check_status(httpx.Response(401, json={"code": "unauthorized_request"}), request)
        return self._inner.handle_request(request)


def test_prices_are_of_the_whole_instance(specs: Specs) -> None:
    found = rows(specs)
    firm = of_type(found, H100, PriceKind.ON_DEMAND)
    spot = of_type(found, H100, PriceKind.SPOT)
    assert {one.place.region for one in firm} == {"FIN-02", "ICE-01"}
    assert {one.usd_per_hour for one in firm} == {Decimal("27.06")}
    assert [(one.place.region, one.usd_per_hour) for one in spot] == [("ICE-01", Decimal("13.53"))]
    assert all(one.hardware.shape.gpu_count == 8 for one in firm + spot)
    assert spot[0].machine in {one.machine for one in firm}


def test_a_long_term_is_the_fixed_price_less_its_discount_paid_in_advance(specs: Specs) -> None:
    terms = {
        one.commitment.term_months: one
        for one in of_type(rows(specs), H100, PriceKind.RESERVED)
        if one.commitment and one.place.region == "ICE-01"
    }
    assert sorted(terms) == [1, 3, 6, 12, 24]
    year = terms[12]
    assert year.commitment is not None
    assert year.commitment.payment is Payment.ALL_UPFRONT
    # 27.06 less 8 % is 24.8952 an hour, for 12 months of 730 hours
    assert year.quote.amount == Decimal("24.8952")
    assert year.commitment.upfront_usd == Decimal("218081.952")
    assert year.usd_per_hour == 0
    assert year.effective_usd_per_hour == Decimal("24.8952")
    # 27.06 less 25 %
    assert terms[24].effective_usd_per_hour == Decimal("20.295")


def test_a_missing_spot_price_is_never_filled(specs: Specs) -> None:
    found = rows(specs, changed(H100, spot_price=None))
    assert of_type(found, H100, PriceKind.SPOT) == []
    assert len(of_type(found, H100, PriceKind.ON_DEMAND)) == 2
    assert reasons(found, H100) == {"no_price"}


@pytest.mark.parametrize("price", ["0", "0.00", None])
def test_without_a_fixed_price_there_is_no_long_term_either(
    specs: Specs, price: str | None
) -> None:
    found = rows(specs, changed(H100, price_per_hour=price))
    assert of_type(found, H100, PriceKind.ON_DEMAND) == []
    assert of_type(found, H100, PriceKind.RESERVED) == []
    assert len(of_type(found, H100, PriceKind.SPOT)) == 1


def test_dynamic_and_serverless_prices_are_not_read(specs: Specs) -> None:
    other = changed(H100, dynamic_price="1.00", max_dynamic_price="2.00", serverless_price="3.00")
    assert rows(specs, other) == rows(specs)


def test_the_memory_of_all_gpus_is_not_that_of_one(specs: Specs) -> None:
    (offer,) = of_type(rows(specs), "4RTXPRO6000.120V", PriceKind.ON_DEMAND)
    assert offer.hardware.shape.gpu == "RTXPRO6000"
    assert offer.hardware.gpu_memory_gib < 96.5


def test_a_type_that_denies_what_is_known_of_it_is_refused(specs: Specs) -> None:
    one = changed(H100, gpu={"description": "4x H100 SXM5 80GB", "number_of_gpus": 4})
    assert reasons(rows(specs, one), H100) == {"contradicts_known_type"}
    other = changed(H100, gpu={"description": "8x A100 SXM4 80GB", "number_of_gpus": 8})
    assert reasons(rows(specs, other), H100) == {"contradicts_known_type"}


def test_a_cpu_type_is_no_offer(specs: Specs) -> None:
    assert reasons(rows(specs), "CPU.4V.16G") == {"not_a_gpu"}


def test_a_type_that_no_location_has_is_no_offer(specs: Specs) -> None:
    assert reasons(rows(specs), "1GB300.32V") == {"no_capacity"}


def test_confidential_computing_is_a_tier_of_its_own(specs: Specs) -> None:
    def place(row: Record) -> None:
        if row.get("location_code") == "FIN-03":
            row["availabilities"] = ["4B300.120V.CC", "4B300.120V"]

    found = rows(specs, place)
    (plain,) = of_type(found, "4B300.120V", PriceKind.ON_DEMAND)
    (secret,) = of_type(found, "4B300.120V.CC", PriceKind.ON_DEMAND)
    assert (plain.tier, secret.tier) == ("", "confidential")
    assert secret.hardware.shape == plain.hardware.shape
    assert secret.usd_per_hour == Decimal("33.14")


def test_a_machine_with_a_grace_cpu_is_arm(specs: Specs) -> None:
    def place(row: Record) -> None:
        if row.get("location_code") == "FIN-03":
            row["availabilities"] = ["1GB300.32V"]

    (offer,) = of_type(rows(specs, place), "1GB300.32V", PriceKind.ON_DEMAND)
    assert offer.hardware.cpu_architecture == "arm64"
    assert offer.hardware.virtualization is Virtualization.VM


def test_a_price_in_euros_keeps_its_quote(specs: Specs) -> None:
    (spot,) = of_type(
        rows(specs, changed(H100, currency="eur", spot_price="10.00")), H100, PriceKind.SPOT
    )
    assert (spot.quote.amount, spot.quote.currency) == (Decimal("10.00"), "EUR")
    assert spot.usd_per_hour == round(10 * spot.quote.usd_per_unit, 6)
    assert spot.usd_per_hour > 10


def test_a_currency_without_a_rate_is_no_price(specs: Specs) -> None:
    assert reasons(rows(specs, changed(H100, currency="xyz")), H100) == {"no_price"}


def test_a_system_volume_that_is_bought_apart_is_told(specs: Specs) -> None:
    found = rows(specs)
    (dynamic,) = of_type(found, H100, PriceKind.SPOT)
    (local, *_) = of_type(found, "1V100.6V", PriceKind.ON_DEMAND)
    assert any("volume" in text for text in dynamic.warnings)
    assert local.warnings == ()


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"is_enabled": False}, "not_sold"),
        ({"unit_name": "fortnight"}, "unknown_term"),
        ({"unit_value": 1.5}, "unknown_term"),
        ({"unit_value": 0}, "unknown_term"),
        ({"discount_percentage": 100}, "no_price"),
        ({"discount_percentage": -3}, "no_price"),
        ({"discount_percentage": None}, "unreadable_row"),
    ],
)
def test_a_period_that_is_not_sold_or_not_understood_is_no_term(
    specs: Specs, fields: Record, reason: str
) -> None:
    def edit(row: Record) -> None:
        if row.get("code") == "12_MONTHS":
            row.update(fields)

    found = rows(specs, edit)
    months = {
        one.commitment.term_months for one in found if isinstance(one, Offer) and one.commitment
    }
    assert months == {1, 3, 6, 24}
    assert reason in reasons(found, "12_MONTHS") | reasons(found, "a period")


def test_a_term_in_years_is_one_in_months(specs: Specs) -> None:
    def edit(row: Record) -> None:
        if row.get("code") == "24_MONTHS":
            row.update(unit_name="years", unit_value=2)

    assert rows(specs, edit) == rows(specs)


class Garbled(httpx.BaseTransport):
    """Answers from recordings, but for one URL, whose body is no JSON."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._inner = RecordedTransport("verda")

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        reply = self._inner.handle_request(request)
        if not str(request.url).startswith(self._url):
            return reply
        return altered(reply, lambda _: b"<html>maintenance</html>")


@pytest.mark.parametrize("failing", [Without, Garbled])
def test_without_the_long_terms_the_other_kinds_are_there(
    specs: Specs, failing: Callable[[str], httpx.BaseTransport]
) -> None:
    found, missing = _run(specs, failing(PERIODS), Access())
    kinds = {one.price_kind for one in found if isinstance(one, Offer)}
    assert kinds == {PriceKind.ON_DEMAND, PriceKind.SPOT}
    assert [one.price_kinds for one in missing] == [(PriceKind.RESERVED,)]


@pytest.mark.parametrize("failing", [Without, Garbled])
def test_without_the_places_an_offer_is_shown_and_cannot_be_planned_with(
    specs: Specs, failing: Callable[[str], httpx.BaseTransport]
) -> None:
    found, missing = _run(specs, failing(PLACES), Access())
    offers = [one for one in found if isinstance(one, Offer)]
    assert offers
    assert {one.place.region for one in offers} == {UNKNOWN_REGION}
    assert all(any("list of places" in text for text in one.warnings) for one in offers)
    assert {kind for part in missing for kind in part.price_kinds} == {
        PriceKind.ON_DEMAND,
        PriceKind.RESERVED,
        PriceKind.SPOT,
    }


def test_an_empty_list_of_places_is_no_missing_one(specs: Specs) -> None:
    def nowhere(row: Record) -> None:
        if "availabilities" in row:
            row["availabilities"] = []

    assert not [one for one in rows(specs, nowhere) if isinstance(one, Offer)]


class Portal(httpx.BaseTransport):
    """Gives the recorded token, and lets whoever has it ask the rest."""

    def __init__(self) -> None:
        (self._token,) = [one for one in recordings("verda") if one.name == "token"]
        self._inner = RecordedTransport("verda")
        self.asked: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if str(request.url) == TOKEN:
            return self._token.reply()
        return self._inner.handle_request(request)


def test_client_id_and_secret_are_exchanged_for_a_token_that_the_rest_is_asked_with(
    specs: Specs,
) -> None:
    portal = Portal()
    keys = {"client_id": SecretStr("example-id"), "client_secret": SecretStr("example-secret")}
    found = asked(specs, portal, Access(keys))
    first, exchange, *rest = portal.asked
    assert str(first.url).startswith(TYPES)
    assert "Authorization" not in first.headers
    assert exchange.method == "POST"
    assert b'"grant_type":"client_credentials"' in exchange.content.replace(b" ", b"")
    assert b"example-secret" in exchange.content
    assert len(rest) == 3
    assert {one.headers["Authorization"] for one in rest} == {"Bearer example-token"}
    assert found == rows(specs)


def test_half_of_the_credentials_is_none(specs: Specs) -> None:
    portal = Portal()
    asked(specs, portal, Access({"client_id": SecretStr("example-id")}))
    assert TOKEN not in {str(one.url) for one in portal.asked}


def test_a_secret_that_is_refused_is_an_error_and_no_catalog_without_places(specs: Specs) -> None:
    keys = {"client_id": SecretStr("example-id"), "client_secret": SecretStr("s3cr3t")}
    with pytest.raises(ProviderError, match="401") as error:
        asked(specs, Without(TOKEN), Access(keys))
    assert "s3cr3t" not in str(error.value)
