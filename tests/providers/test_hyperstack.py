"""Hyperstack: a rate of one GPU times their number, and sizes that are cut from the same GPUs."""

from collections.abc import Callable
from decimal import Decimal

import httpx
import pytest
from pydantic import JsonValue, SecretStr
from reply_changes import Altered, Record, changed, json_change

from broker.domain.offer import Link, Offer, PriceKind, Rejection
from broker.specs.load import Specs, load_specs
from providers.hyperstack import FLAVORS, RATES, STOCKS, Hyperstack
from providers.kit.access import Access
from providers.kit.http import check_status
from providers.kit.recorded import RecordedTransport

Change = Callable[[JsonValue], None]


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


class Edited(httpx.BaseTransport):
    """Answers from recordings, with the bodies of some URLs changed; None refuses them."""

    def __init__(self, **changes: Change | None) -> None:
        urls = {"flavors": FLAVORS, "rates": RATES, "stocks": STOCKS}
        self._changes = {urls[name]: change for name, change in changes.items()}
        self._inner = RecordedTransport("hyperstack")

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        reply = self._inner.handle_request(request)
        if str(request.url) not in self._changes:
            return reply
        change = self._changes[str(request.url)]
        if change is None:
            check_status(httpx.Response(500, json={"message": "no stock today"}), request)
            return reply

        def edit(body: JsonValue) -> JsonValue:
            change(body)
            return body

        reply.read()
        return changed(reply, json_change(edit))


def run(specs: Specs, transport: httpx.BaseTransport) -> list[Offer | Rejection]:
    cloud = Hyperstack(specs, Access())
    with httpx.Client(transport=transport) as http:
        return list(cloud.offers_in(cloud.fetch(http)))


def offers(rows: list[Offer | Rejection]) -> dict[str, Offer]:
    """Key the offers by type and region."""
    found = [one for one in rows if isinstance(one, Offer)]
    return {f"{one.instance_type}/{one.place.region}": one for one in found}


def recorded(specs: Specs, **changes: Change | None) -> dict[str, Offer]:
    return offers(run(specs, Edited(**changes)))


def reasons(rows: list[Offer | Rejection]) -> dict[str, str]:
    return {one.subject: one.reason for one in rows if isinstance(one, Rejection)}


def rows_in(body: JsonValue) -> list[Record]:
    assert isinstance(body, list)
    return [one for one in body if isinstance(one, dict)]


def field(record: Record, name: str) -> list[Record]:
    return rows_in(record[name])


def rate(name: str, /, **fields: JsonValue) -> Change:
    def change(body: JsonValue) -> None:
        (row,) = [one for one in rows_in(body) if one["name"] == name]
        row.update(fields)

    return change


def flavor(name: str, /, **fields: JsonValue) -> Change:
    def change(body: JsonValue) -> None:
        assert isinstance(body, dict)
        for group in field(body, "data"):
            for row in field(group, "flavors"):
                if row["name"] == name:
                    row.update(fields)

    return change


def stock(region: str, model: str, **configurations: int) -> Change:
    """Add the stock of a GPU in a region: _1x=2."""

    def change(body: JsonValue) -> None:
        assert isinstance(body, dict)
        sizes: Record = {name.lstrip("_"): count for name, count in configurations.items()}
        row: Record = {"model": model, "available": "9", "configurations": sizes}
        body["stocks"] = [*field(body, "stocks"), {"region": region, "models": [row]}]

    return change


def test_a_machine_costs_the_rate_of_one_gpu_times_their_number(specs: Specs) -> None:
    found = recorded(specs)
    assert found["n3-L40x1/CANADA-1"].usd_per_hour == Decimal(1)
    assert found["n3-L40x8/CANADA-1"].usd_per_hour == Decimal(8)
    assert found["n3-RTX-A4000x10/NORWAY-1"].usd_per_hour == Decimal("1.50")  # ten at 0.15
    assert found["n3-A100-SXM4x8/US-1"].usd_per_hour == Decimal("12.8")  # eight at 1.60


def test_a_rate_may_be_a_number_or_text(specs: Specs) -> None:
    number = recorded(specs, rates=rate("L40", value=1.0, original_value=1))
    assert number == recorded(specs)


def test_bridged_cards_have_a_rate_of_their_own(specs: Specs) -> None:
    found = recorded(specs)
    plain, bridged = found["n3-A100x8/CANADA-1"], found["n3-A100x8-NVLink/CANADA-1"]
    assert (plain.usd_per_hour, bridged.usd_per_hour) == (Decimal("10.8"), Decimal("11.2"))
    assert plain.hardware.shape.gpu == bridged.hardware.shape.gpu == "A100-80-PCIe"
    assert (plain.hardware.shape.link, bridged.hardware.shape.link) == (
        Link.PCIE,
        Link.NVLINK_BRIDGE,
    )


def test_one_flavor_has_another_memory_in_another_region(specs: Specs) -> None:
    found = recorded(specs)
    memories = {
        region: found[f"n3-H100-SXM5x8/{region}"].hardware.host_memory_gib
        for region in ("CANADA-1", "US-1")
    }
    assert memories == {"CANADA-1": 1800, "US-1": 960}


def test_local_disks_are_root_and_ephemeral_together(specs: Specs) -> None:
    assert recorded(specs)["n3-A100-SXM4x8/US-1"].hardware.local_disk_gb == 16100


def test_spot_is_a_flavor_with_a_rate_and_a_stock_of_its_own(specs: Specs) -> None:
    found = recorded(specs)
    firm, spot = found["n3-H100x1/CANADA-1"], found["n3-H100x1-spot/CANADA-1"]
    assert (firm.price_kind, firm.usd_per_hour) == (PriceKind.ON_DEMAND, Decimal("2.5"))
    assert (spot.price_kind, spot.usd_per_hour) == (PriceKind.SPOT, Decimal(2))
    assert (firm.stock, spot.stock) == (
        ("hyperstack/H100/CANADA-1", 2),
        ("hyperstack/H100-spot/CANADA-1", 232),
    )
    assert spot.hardware.shape == firm.hardware.shape
    assert firm.spot is None
    assert spot.spot is not None


def test_sizes_draw_on_the_gpus_of_the_size_that_has_most_of_them(specs: Specs) -> None:
    """The counts are the documentation's example: each size could be started so often, alone."""
    counts = stock("CANADA-1", "RTX-A6000", _1x=396, _2x=197, _4x=98, _8x=45, _10x=0)
    found = recorded(specs, stocks=counts)
    limits = {size: found[f"n3-RTX-A6000x{size}/CANADA-1"].limits for size in (1, 2, 4, 8)}
    assert {size: one.stock_nodes for size, one in limits.items()} == {1: 396, 2: 197, 4: 98, 8: 45}
    assert {one.max_nodes for one in limits.values()} == {396, 197, 98, 45}
    assert {one.stock_gpus for one in limits.values()} == {396}
    assert {one.stock_pool for one in limits.values()} == {"hyperstack/RTX-A6000/CANADA-1"}
    assert {one.stock_level for one in limits.values()} == {"9"}


def test_a_size_that_cannot_be_started_is_no_offer(specs: Specs) -> None:
    rows = run(specs, Edited())
    refused = reasons(rows)
    assert "n3-H100x1/CANADA-1" in offers(rows)
    for size in (2, 4, 8):
        assert refused[f"n3-H100x{size}/CANADA-1"] == "no_capacity"


def test_a_flavor_that_is_flagged_out_of_stock_is_no_offer(specs: Specs) -> None:
    rows = run(specs, Edited(flavors=flavor("n3-L40x4", stock_available=False)))
    assert reasons(rows)["n3-L40x4/CANADA-1"] == "no_capacity"


def test_a_gpu_that_the_stock_leaves_out_is_unknown_and_not_sold_out(specs: Specs) -> None:
    one = recorded(specs)["n3-L40x8/CANADA-1"]
    assert one.stock is None
    assert one.warnings == ()


def test_the_stock_of_another_region_is_not_this_ones(specs: Specs) -> None:
    """RTX A6000 are counted in NORWAY-1, where no flavor has them."""
    assert recorded(specs)["n3-RTX-A6000x1/CANADA-1"].stock is None


def no_list(body: JsonValue) -> None:
    assert isinstance(body, dict)
    body["stocks"] = "maintenance"


@pytest.mark.parametrize("change", [None, no_list])
def test_without_the_stock_list_each_offer_says_so(specs: Specs, change: Change | None) -> None:
    found = recorded(specs, stocks=change)
    assert "n3-H100x8/CANADA-1" in found
    for one in found.values():
        assert one.stock is None
        assert any("stock list" in text for text in one.warnings), one.key


def test_counts_that_are_no_numbers_are_unknown(specs: Specs) -> None:
    def change(body: JsonValue) -> None:
        stock("CANADA-1", "L40", _1x=3)(body)
        assert isinstance(body, dict)
        model = field(field(body, "stocks")[-1], "models")[0]
        model["configurations"] = {"1x": 3, "8x": "many", "odd": 7}

    found = recorded(specs, stocks=change)
    assert found["n3-L40x1/CANADA-1"].limits.stock_nodes == 3
    assert found["n3-L40x8/CANADA-1"].limits.stock_nodes is None
    assert found["n3-L40x8/CANADA-1"].limits.stock_gpus == 3


def test_a_discount_is_told_and_not_counted_on(specs: Specs) -> None:
    """What one account or one month is given says nothing of another."""
    low = rate("L40", value="0.7", discount_applied=True, end_time="2026-09-01T00:00:00")
    one = recorded(specs, rates=low)["n3-L40x8/CANADA-1"]
    assert one.usd_per_hour == Decimal(8)
    assert any("0.7 per GPU" in text for text in one.warnings)


def test_a_rate_above_the_list_is_what_is_paid(specs: Specs) -> None:
    high = rate("L40", value="1.2")
    assert recorded(specs, rates=high)["n3-L40x1/CANADA-1"].usd_per_hour == Decimal("1.2")


@pytest.mark.parametrize("name", ["L40", "L40-renamed"])
def test_without_a_rate_there_is_no_price(specs: Specs, name: str) -> None:
    rows = run(specs, Edited(rates=rate("L40", name=name, value="0E-9", original_value="0E-9")))
    assert reasons(rows)["n3-L40x1/CANADA-1"] == "no_price"
    assert "n3-L40x1/CANADA-1" not in offers(rows)


def test_a_spot_flavor_is_not_priced_at_the_firm_rate(specs: Specs) -> None:
    rows = run(specs, Edited(rates=rate("H100-80G-PCIe-spot", name="gone")))
    assert reasons(rows)["n3-H100x1-spot/CANADA-1"] == "no_price"


def test_rates_of_gpus_that_no_flavor_has_are_no_offers(specs: Specs) -> None:
    gpus = {one.hardware.shape.gpu for one in recorded(specs).values()}
    assert "H200-SXM" not in gpus
    assert "RTXPRO6000" not in gpus


def test_a_cpu_flavor_is_no_offer(specs: Specs) -> None:
    assert reasons(run(specs, Edited()))["n1-cpu-small/CANADA-1"] == "not_a_gpu"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"gpu_count": 4}, "contradicts_known_type"),
        ({"gpu": "H100-80G-SXM5"}, "contradicts_known_type"),
        ({"gpu": "Z9000"}, "unknown_gpu"),
    ],
)
def test_a_flavor_that_denies_what_is_known_of_it_is_refused(
    specs: Specs, fields: Record, reason: str
) -> None:
    rows = run(specs, Edited(flavors=flavor("n3-L40x8", **fields)))
    assert reasons(rows)["n3-L40x8/CANADA-1"] == reason


def test_a_new_region_lies_in_the_country_of_its_name(specs: Specs) -> None:
    def change(body: JsonValue) -> None:
        assert isinstance(body, dict)
        for group in field(body, "data"):
            group["region_name"] = "NORWAY-7"

    one = recorded(specs, flavors=change)["n3-L40x8/NORWAY-7"]
    assert (one.place.country, one.place.continent) == ("NO", "eu")


def test_use_is_billed_by_the_minute(specs: Specs) -> None:
    assert {one.billing.step_s for one in recorded(specs).values()} == {60}


def test_there_is_no_reserved_offer(specs: Specs) -> None:
    """The public "from" prices of reservations name no term."""
    kinds = {one.price_kind for one in recorded(specs).values()}
    assert kinds == {PriceKind.ON_DEMAND, PriceKind.SPOT}


def test_the_key_travels_in_a_header_of_its_own(specs: Specs) -> None:
    sent: list[httpx.Request] = []
    inner = RecordedTransport("hyperstack")

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return inner.handle_request(request)

    cloud = Hyperstack(specs, Access({"api_key": SecretStr("example-key")}))
    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        list(cloud.fetch(http))
    assert [str(one.url) for one in sent] == [FLAVORS, RATES, STOCKS]
    assert {one.headers["api_key"] for one in sent} == {"example-key"}


def test_a_group_or_flavor_that_cannot_be_read_leaves_its_neighbours(specs: Specs) -> None:
    def change(body: JsonValue) -> JsonValue:
        if not isinstance(body, dict) or "data" not in body:
            return body
        first, *rest = field(body, "data")
        field(first, "flavors")[0]["gpu_count"] = "one"
        return {"data": [first, {"gpu": "nothing else"}, *rest]}

    rows = run(specs, Altered(RecordedTransport("hyperstack"), json_change(change)))
    assert len(offers(rows)) == len(recorded(specs)) - 1
    assert reasons(rows)["a group of flavors"] == "missing_field"
    assert reasons(rows)["a flavor in CANADA-1"] == "unreadable_row"
