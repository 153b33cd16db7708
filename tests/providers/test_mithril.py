"""Mithril: an auction's price is one, its floor is none; reservations are blocks of hours."""

from collections.abc import Callable
from decimal import Decimal

import httpx
import pytest
from pydantic import JsonValue
from reply_changes import Altered, Record, changed, json_change

from broker.domain.errors import ProviderError
from broker.domain.offer import Fabric, Offer, PriceKind, Rejection
from broker.specs.load import Specs, load_specs
from providers.kit.access import Access
from providers.kit.parts import Missing, replies_only
from providers.kit.recorded import RecordedTransport
from providers.mithril import Mithril

Edit = Callable[[Record], None]
H100 = "h100-80gb.sxm.8x"


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def run(
    specs: Specs, of_prices: Edit = lambda prices: None, of_types: Edit = lambda row: None
) -> list[Offer | Rejection]:
    """Translate the recordings with each price list and each type edited."""

    def change(body: JsonValue) -> JsonValue:
        for row in body if isinstance(body, list) else [body]:
            assert isinstance(row, dict)
            if "minimum_price_cents" in row:
                of_prices(row)
            elif "num_gpus" in row:
                of_types(row)
        return body

    cloud = Mithril(specs, Access())
    with httpx.Client(transport=Altered(RecordedTransport("mithril"), json_change(change))) as http:
        return list(cloud.offers_in(replies_only(cloud.fetch(http), [])))


def offers(rows: list[Offer | Rejection]) -> list[Offer]:
    return [row for row in rows if isinstance(row, Offer)]


def reasons(rows: list[Offer | Rejection]) -> dict[str, str]:
    return {row.subject: row.reason for row in rows if isinstance(row, Rejection)}


def test_a_price_above_the_floor_is_spot_in_cents_of_the_whole_instance(specs: Specs) -> None:
    found = {row.instance_type: row for row in offers(run(specs))}
    assert found[H100].usd_per_hour == Decimal("12.03")
    assert found["ccs-h200.sxm.8x"].usd_per_hour == Decimal("17.26")
    assert found["ccs-h200.sxm.1x"].usd_per_hour == Decimal("1.01")
    assert {row.price_kind for row in found.values()} == {PriceKind.SPOT}


@pytest.mark.parametrize("subject", ["h100-80gb.sxm.1x in us-central2-a", "a100-80gb.sxm.8x in us"])
def test_a_price_on_the_floor_is_no_offer_whatever_the_floor(specs: Specs, subject: str) -> None:
    """1.00 a GPU is the floor of some auctions, 0.50 that of others."""
    found = [row for row in run(specs) if isinstance(row, Rejection)]
    (floor,) = [
        row for row in found if row.subject.startswith(subject) and row.subject.endswith("spot")
    ]
    assert floor.reason == "auction_floor"


@pytest.mark.parametrize(
    ("floor", "reason"), [(1203, "auction_floor"), (2000, "auction_floor"), (None, "unknown_floor")]
)
def test_without_a_floor_below_it_there_is_no_price(
    specs: Specs, floor: JsonValue, reason: str
) -> None:
    found = run(specs, lambda prices: prices.update(minimum_price_cents=floor))
    assert H100 not in {row.instance_type for row in offers(found)}
    assert reasons(found)[f"{H100} in us-central2-a spot"] == reason


@pytest.mark.parametrize("cents", [None, 0, -1])
def test_no_price_is_no_offer(specs: Specs, cents: JsonValue) -> None:
    found = run(specs, lambda prices: prices.update(spot_price_cents=cents))
    assert not offers(found)
    assert reasons(found)[f"{H100} in us-central2-a spot"] == "no_price"


def test_a_spot_machine_has_five_minutes_and_says_what_it_is(specs: Specs) -> None:
    for offer in offers(run(specs)):
        assert offer.spot is not None
        assert offer.spot.notice_s == 300
        assert "the auction's price now" in offer.warnings[0]


def test_a_reservation_is_a_block_that_is_paid_in_advance(specs: Specs) -> None:
    found = offers(run(specs, lambda prices: prices.update(reserved_price_cents=2400)))
    (block,) = [
        row
        for row in found
        if row.price_kind is PriceKind.CAPACITY_BLOCK and row.instance_type == H100
    ]
    assert block.usd_per_hour == Decimal(24)
    assert block.block is not None
    assert (block.block.starts_at, block.block.lengths_h[0]) == (None, 3)
    assert block.block.lengths_h[-1] == 14 * 24
    assert block.billing.prepaid is True
    assert block.commitment is None


def test_a_reservation_may_cost_the_floor_of_the_auction(specs: Specs) -> None:
    """The floor is the auction's; a reservation has no bids."""
    found = run(specs, lambda prices: prices.update(reserved_price_cents=800))
    blocks = [row for row in offers(found) if row.price_kind is PriceKind.CAPACITY_BLOCK]
    assert H100 in {row.instance_type for row in blocks}


def test_capacity_is_that_of_the_prices_else_of_the_auction(specs: Specs) -> None:
    said = {row.instance_type: row.limits for row in offers(run(specs))}
    assert (said[H100].stock_nodes, said[H100].max_nodes) == (4, 4)

    def unsaid(prices: Record) -> None:
        prices["available_capacity"] = None

    auction = {row.instance_type: row.limits for row in offers(run(specs, unsaid))}
    assert auction["ccs-h200.sxm.1x"].stock_nodes == 8


def test_what_is_sold_out_is_no_offer(specs: Specs) -> None:
    found = run(specs, lambda prices: prices.update(available_capacity=0))
    assert not offers(found)
    assert reasons(found)[f"{H100} in us-central2-a spot"] == "no_capacity"


def test_a_known_type_brings_its_network(specs: Specs) -> None:
    (offer,) = [row for row in offers(run(specs)) if row.instance_type == H100]
    assert offer.hardware.shape.gpu == "H100-SXM"
    assert offer.hardware.shape.fabric is Fabric.INFINIBAND
    assert offer.hardware.local_disk_gb == 12500


@pytest.mark.parametrize(("field", "value"), [("num_gpus", 4), ("gpu_memory_gb", 40)])
def test_a_type_that_contradicts_what_is_known_is_rejected(
    specs: Specs, field: str, value: int
) -> None:
    def change(row: Record) -> None:
        if row["name"] == H100:
            row[field] = value

    refused = reasons(run(specs, of_types=change))[H100]
    assert refused == ("unknown_gpu" if field == "gpu_memory_gb" else "contradicts_known_type")


def test_a_type_that_is_not_known_is_read_by_gpu_socket_and_memory(specs: Specs) -> None:
    def change(row: Record) -> None:
        if row["name"] == H100:
            row.update(name="h100-new.8x")

    found = {row.instance_type: row for row in offers(run(specs, of_types=change))}
    assert found["h100-new.8x"].hardware.shape.gpu == "H100-SXM"


def test_a_type_without_gpus_and_an_auction_without_a_type_are_told(specs: Specs) -> None:
    found = reasons(run(specs))
    assert found["cpu.16x"] == "not_a_gpu"
    assert found["it_gone in us-central1-b"] == "unknown_instance_type"


@pytest.mark.parametrize("body", [None, "<html>maintenance</html>"])
def test_an_auction_that_does_not_answer_is_missing_and_the_others_are_there(
    specs: Specs, body: str | None
) -> None:
    inner = RecordedTransport("mithril")

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.params.get("region") != "us-central2-b":
            return inner.handle_request(request)
        if body is None:
            raise ProviderError("no reply", hint="try again")
        return changed(inner.handle_request(request), lambda _: body.encode())

    cloud = Mithril(specs, Access())
    missing: list[Missing] = []
    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        found = list(cloud.offers_in(replies_only(cloud.fetch(http), missing)))
    assert {row.instance_type for row in offers(found)} == {H100}
    assert {one.region for one in missing} == {"us-central2-b"}
