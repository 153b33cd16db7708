"""Vast.ai: prices of whole rows, memory that tells cards apart, hosts that are not worth a plan."""

import json
import math
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import httpx
import pytest
from pydantic import JsonValue

from broker.domain.errors import ProviderError
from broker.domain.offer import (
    UNKNOWN_REGION,
    Offer,
    PriceKind,
    Rejection,
    Virtualization,
)
from broker.specs.load import Specs, load_specs
from providers.kit.access import Access
from providers.kit.http import live_client
from providers.kit.parts import Missing, replies_only
from providers.kit.recorded import RecordedTransport, recordings
from providers.vast import Vast

Row = dict[str, JsonValue]


class Edited(httpx.BaseTransport):
    """Answers from the recordings, with the rows edited by `edit`."""

    def __init__(self, edit: Callable[[list[Row]], None]) -> None:
        self._inner = RecordedTransport("vast")
        self._edit = edit

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        reply = self._inner.handle_request(request)
        body = json.loads(reply.read())
        self._edit(body["offers"])
        return httpx.Response(200, content=json.dumps(body), extensions=reply.extensions)


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def run(
    specs: Specs, edit: Callable[[list[Row]], None] = lambda rows: None
) -> list[Offer | Rejection]:
    market = Vast(specs, Access())
    with httpx.Client(transport=Edited(edit)) as http:
        return list(market.offers_in(replies_only(market.fetch(http), [])))


@pytest.fixture(scope="module")
def rows(specs: Specs) -> list[Offer | Rejection]:
    return run(specs)


@pytest.fixture(scope="module")
def offers(rows: list[Offer | Rejection]) -> list[Offer]:
    return [row for row in rows if isinstance(row, Offer)]


def one(offers: list[Offer], instance_type: str, kind: PriceKind = PriceKind.ON_DEMAND) -> Offer:
    (found,) = [
        offer
        for offer in offers
        if offer.instance_type == instance_type and offer.price_kind is kind
    ]
    return found


def alone(specs: Specs, **changes: JsonValue) -> list[Offer | Rejection]:
    """Translate the first row, an H100 in Texas, alone and on demand, with fields changed."""

    def edit(rows: list[Row]) -> None:
        first = rows[0]
        rows.clear()
        if first["machine_id"] == 4321:
            rows.append({**first, **changes})

    return run(specs, edit)


@pytest.mark.parametrize("field", ["duration", "cpu_cores_effective", "cpu_ram", "dph_total"])
def test_a_number_that_is_none_costs_its_row_at_the_most(specs: Specs, field: str) -> None:
    rows = run(specs, lambda rows: rows[0].update({field: math.nan}))
    assert len([row for row in rows if isinstance(row, Offer)]) > 20


def test_a_price_is_of_the_whole_row(offers: list[Offer]) -> None:
    offer = one(offers, "m4422-8xA100-80-SXM")
    assert offer.usd_per_hour == Decimal("6.512")  # 8 × 0.814
    assert offer.hardware.shape.gpu_count == Fraction(8)


def test_spot_comes_from_the_search_for_bids(offers: list[Offer]) -> None:
    spot = one(offers, "m4403-2xH100-SXM", PriceKind.SPOT)
    firm = one(offers, "m4403-2xH100-SXM")
    assert (spot.usd_per_hour, firm.usd_per_hour) == (Decimal("3.2"), Decimal("4.4026"))
    assert spot.machine == firm.machine
    assert spot.spot is not None


def test_spot_says_that_it_is_the_least_bid_and_on_demand_does_not(offers: list[Offer]) -> None:
    for offer in offers:
        bids = any("least bid" in warning for warning in offer.warnings)
        assert bids is (offer.price_kind is PriceKind.SPOT), offer.key


def test_memory_tells_cards_of_one_name_apart(offers: list[Offer]) -> None:
    assert one(offers, "m4420-1xA100-40-SXM").hardware.gpu_memory_gib < 40.1
    assert one(offers, "m4421-1xA100-80-SXM").hardware.gpu_memory_gib > 79


def test_a_modified_card_is_rejected(rows: list[Offer | Rejection]) -> None:
    (found,) = [
        row
        for row in rows
        if isinstance(row, Rejection) and row.subject.startswith("offer 20000051")
    ]
    assert found.reason == "unknown_gpu"
    assert "47.98" in found.detail


def test_an_ambiguous_card_is_rejected(specs: Specs) -> None:
    (found,) = alone(specs, gpu_name="Tesla V100", gpu_ram=16384)
    assert isinstance(found, Rejection)
    assert found.reason == "ambiguous_gpu"


def test_sizes_of_one_machine_are_offers_of_their_own_that_say_so(offers: list[Offer]) -> None:
    sizes = [offer for offer in offers if offer.instance_type.startswith("m4400-")]
    assert [offer.instance_type for offer in sizes] == [
        f"m4400-{count}xH200-SXM" for count in (1, 2, 4, 8)
    ]
    for offer in sizes:
        assert (offer.limits.stock_nodes, offer.limits.max_nodes) == (1, 1)
        assert "machine 4400" in offer.warnings[0]


def test_of_two_rows_alike_the_cheaper_one_stays(specs: Specs) -> None:
    def twice(rows: list[Row]) -> None:
        first = rows[0]
        rows.clear()
        rows += [first, {**first, "id": 1, "dph_total": 1.5, "min_bid": 0.4}]

    found = run(specs, twice)
    prices = {row.key: row.usd_per_hour for row in found if isinstance(row, Offer)}
    assert prices["vast/m4321-1xH100-SXM/Texas, US@on_demand"] == Decimal("1.5")
    assert [row.reason for row in found if isinstance(row, Rejection)].count("duplicate_offer") == 2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"verification": "unverified"}, "unverified"),
        ({"verification": None}, "unverified"),
        ({"rentable": False}, "not_rentable"),
        ({"rented": True}, "not_rentable"),
        ({"external": True}, "external"),
        ({"reliability": 0.6}, "unreliable_host"),
        ({"reliability": None}, "unreliable_host"),
        ({"dph_total": 0}, "no_price"),
        ({"dph_total": None}, "no_price"),
        ({"dph_total": "?"}, "unreadable_row"),
        ({"num_gpus": 0}, "not_a_gpu"),
        ({"gpu_name": "RTX 9999"}, "unknown_gpu"),
        ({"gpu_name": None}, "unreadable_row"),
    ],
)
def test_a_row_that_is_no_offer_says_why(
    specs: Specs, changes: dict[str, JsonValue], reason: str
) -> None:
    (found,) = alone(specs, **changes)
    assert isinstance(found, Rejection)
    assert found.reason == reason


def test_the_other_name_of_reliability_is_read(specs: Specs) -> None:
    (found,) = alone(specs, reliability=None, reliability2=0.99)
    assert isinstance(found, Offer)


@pytest.mark.parametrize("floor", [0, None])
def test_a_host_that_takes_no_bid_sells_no_spot(specs: Specs, floor: JsonValue) -> None:
    def clear(rows: list[Row]) -> None:
        for row in rows:
            row["min_bid"] = floor

    found = run(specs, clear)
    assert not [row for row in found if isinstance(row, Offer) and row.spot]
    assert [row for row in found if isinstance(row, Offer)]


def test_a_bid_below_its_floor_is_rejected(specs: Specs) -> None:
    def lower(rows: list[Row]) -> None:
        for row in rows:
            row["min_bid"] = 1000

    reasons = {row.reason for row in run(specs, lower) if isinstance(row, Rejection)}
    assert "price_below_floor" in reasons


def test_host_memory_is_the_share_of_the_rows_cores(specs: Specs) -> None:
    (found,) = alone(specs, cpu_ram=1547900, cpu_cores=192, cpu_cores_effective=24)
    assert isinstance(found, Offer)
    assert found.hardware.host_memory_gib == pytest.approx(1547900e6 / 8 / 2**30)
    assert found.hardware.vcpus == 24


@pytest.mark.parametrize("cores", [0, None])
def test_unknown_cores_leave_the_host_unknown(specs: Specs, cores: JsonValue) -> None:
    (found,) = alone(specs, cpu_cores=cores, cpu_cores_effective=cores)
    assert isinstance(found, Offer)
    assert found.hardware.host_memory_gib is None
    assert found.hardware.vcpus is None


@pytest.mark.parametrize(
    ("text", "country"),
    [("Texas, US", "US"), (", CN", "CN"), ("CZ", "CZ"), ("Hafnarfjarðarkaupstaður, IS", "IS")],
)
def test_a_place_is_at_least_in_its_country(specs: Specs, text: str, country: str) -> None:
    (found,) = alone(specs, geolocation=text)
    assert isinstance(found, Offer)
    assert found.place.country == country
    assert found.place.region == text.strip(" ,")


@pytest.mark.parametrize("text", [None, "", ", "])
def test_a_place_without_a_name_is_unknown(specs: Specs, text: JsonValue) -> None:
    (found,) = alone(specs, geolocation=text)
    assert isinstance(found, Offer)
    assert (found.place.region, found.place.country) == (UNKNOWN_REGION, None)


def test_containers_and_machines_are_told_apart(specs: Specs) -> None:
    (container,) = alone(specs, vms_enabled=False)
    (machine,) = alone(specs, vms_enabled=True)
    assert isinstance(container, Offer)
    assert isinstance(machine, Offer)
    assert container.hardware.virtualization is Virtualization.CONTAINER
    assert machine.hardware.virtualization is Virtualization.VM


def test_the_end_of_the_host_is_told(specs: Specs) -> None:
    (found,) = alone(specs, duration=259200.0)
    assert isinstance(found, Offer)
    assert any("3.0 days" in warning for warning in found.warnings)
    seen = found.provenance.observed_at
    assert found.limits.until is not None
    assert timedelta(0) <= seen + timedelta(days=3) - found.limits.until < timedelta(hours=1)
    (for_ever,) = alone(specs, duration=None)
    assert isinstance(for_ever, Offer)
    assert for_ever.limits.until is None


def test_a_price_is_split_into_gpus_and_disk(specs: Specs) -> None:
    (found,) = alone(specs, dph_base=1.86, dph_total=1.87)
    assert isinstance(found, Offer)
    assert found.components is not None
    assert found.components.gpus_usd == Decimal("1.86")
    assert found.components.disk_usd == Decimal("0.01")
    assert found.usd_per_hour == Decimal("1.87")


@pytest.mark.parametrize("base", [None, 0, 2])
def test_parts_that_make_no_sense_are_left_out(specs: Specs, base: JsonValue) -> None:
    (found,) = alone(specs, dph_base=base, dph_total=1.87)
    assert isinstance(found, Offer)
    assert found.components is None
    assert found.usd_per_hour == Decimal("1.87")


def test_what_the_host_takes_for_disk_and_traffic_is_told(specs: Specs) -> None:
    (found,) = alone(specs, storage_cost=0.15, inet_down_cost=0.001953125, inet_up_cost=0.02)
    assert isinstance(found, Offer)
    assert "disk beyond 8 GB costs 0.15 USD for a GB and month, while it is stopped too" in (
        found.warnings
    )
    assert "traffic costs 0.001953 USD a GB in and 0.02 USD a GB out" in found.warnings


@pytest.mark.parametrize("free", [0, None])
def test_what_costs_nothing_is_no_warning(specs: Specs, free: JsonValue) -> None:
    (found,) = alone(specs, storage_cost=free, inet_down_cost=free, inet_up_cost=free)
    assert isinstance(found, Offer)
    assert not any("costs" in warning for warning in found.warnings)


def test_a_rate_limit_is_waited_for_as_told(specs: Specs) -> None:
    (limited,) = [one for one in recordings("vast") if one.name == "rate-limited"]
    replies = [limited.reply(), httpx.Response(200, json={"offers": []})]
    answer = httpx.MockTransport(lambda _: replies.pop(0) if len(replies) > 1 else replies[0])
    pauses: list[float] = []
    with live_client(lambda: limited.made_on, transport=answer, sleep=pauses.append) as http:
        assert len(list(Vast(specs, Access()).fetch(http))) == 2
    assert pauses == [6.0]


@pytest.mark.parametrize("status", [400, 200])
def test_a_search_that_fails_is_missing_and_the_other_one_is_there(
    specs: Specs, status: int
) -> None:
    """With status 200, as what cannot be read."""
    inner = RecordedTransport("vast")

    def answer(request: httpx.Request) -> httpx.Response:
        if b'"bid"' in request.read():
            return httpx.Response(status, json={"success": False, "error": "quota"})
        return inner.handle_request(request)

    market, missing = Vast(specs, Access()), list[Missing]()
    transport = httpx.MockTransport(answer)
    with live_client(lambda: recordings("vast")[0].made_on, transport=transport) as http:
        rows = list(market.offers_in(replies_only(market.fetch(http), missing)))
    kinds = {row.price_kind for row in rows if isinstance(row, Offer)}
    assert kinds == {PriceKind.ON_DEMAND}
    assert [one.price_kinds for one in missing] == [(PriceKind.SPOT,)]


def test_an_error_body_is_a_provider_error(specs: Specs) -> None:
    (wrong,) = [one for one in recordings("vast") if one.name == "error"]
    answer = httpx.MockTransport(lambda _: wrong.reply())
    with (
        live_client(lambda: wrong.made_on, transport=answer) as http,
        pytest.raises(ProviderError, match="unknown operator"),
    ):
        list(Vast(specs, Access()).fetch(http))
