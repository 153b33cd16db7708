"""Lium: hosts of a marketplace, rented whole or in part, in two tiers."""

from decimal import Decimal

import httpx
import pytest
from pydantic import JsonValue

from broker.domain.offer import UNKNOWN_REGION, Offer, PriceKind, Rejection, Virtualization
from broker.specs.load import Specs, load_specs
from providers.kit.access import Access
from providers.kit.adapter import stamp
from providers.kit.recorded import RecordedTransport, recordings
from providers.lium import URL, Lium

Node = dict[str, JsonValue]
H200 = "f092246d-5704-4c9e-b57f-7c0710a06deb"


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture(scope="module")
def nodes() -> dict[str, Node]:
    (feed,) = [one for one in recordings("lium") if one.replay]
    body = feed.response.body
    assert isinstance(body, dict)
    rows = body["nodes"]
    assert isinstance(rows, list)
    return {str(row["id"]): row for row in rows if isinstance(row, dict)}


@pytest.fixture(scope="module")
def recorded(specs: Specs) -> list[Offer | Rejection]:
    market = Lium(specs, Access())
    with httpx.Client(transport=RecordedTransport("lium")) as http:
        return list(market.offers_in(market.fetch(http)))


def translate(specs: Specs, *rows: JsonValue) -> list[Offer | Rejection]:
    (feed,) = [one for one in recordings("lium") if one.replay]
    reply = httpx.Response(200, json={"nodes": rows}, request=httpx.Request("GET", URL))
    stamp(reply, observed_at=feed.made_on, evidence=feed.reply().extensions["evidence"])
    return list(Lium(specs, Access()).offers_in([reply]))


def reason(rows: list[Offer | Rejection]) -> str:
    (row,) = rows
    assert isinstance(row, Rejection)
    return row.reason


def parts(rows: list[Offer | Rejection]) -> list[int]:
    return [int(row.hardware.shape.gpu_count) for row in rows if isinstance(row, Offer)]


def test_a_part_of_a_node_costs_its_share(specs: Specs, nodes: dict[str, Node]) -> None:
    found = [row for row in translate(specs, nodes[H200]) if isinstance(row, Offer)]
    assert [(row.hardware.shape.gpu_count, row.usd_per_hour) for row in found] == [
        (1, Decimal("3.99")),
        (2, Decimal("7.98")),
        (4, Decimal("15.96")),
        (5, Decimal("19.95")),  # the largest part that is free
    ]
    half = found[2].hardware
    assert (half.vcpus, half.host_memory_gib) == (96, 1007.5)  # of 192 and 2015
    assert half.local_disk_gb == pytest.approx(3575 / 2 * 2**30 / 1e9)
    assert half.virtualization is Virtualization.CONTAINER


def test_parts_of_a_node_are_the_same_gpus(specs: Specs, nodes: dict[str, Node]) -> None:
    found = [row for row in translate(specs, nodes[H200]) if isinstance(row, Offer)]
    assert {row.stock for row in found} == {(f"lium/{H200}", 5)}
    assert [row.limits.max_nodes for row in found] == [5, 2, 1, 1]


def test_the_least_order_is_the_smallest_part(specs: Specs, nodes: dict[str, Node]) -> None:
    assert parts(translate(specs, {**nodes[H200], "min_rentable_gpu_count": 2})) == [2, 4, 5]
    assert parts(translate(specs, {**nodes[H200], "min_rentable_gpu_count": 5})) == [5]


def test_a_node_without_a_least_order_is_rented_whole(specs: Specs, nodes: dict[str, Node]) -> None:
    whole = {**nodes[H200], "min_rentable_gpu_count": None}
    assert reason(translate(specs, whole)) == "no_capacity"
    assert parts(translate(specs, {**whole, "available_gpu_count": 8})) == [8]


def test_more_free_gpus_than_there_are_do_not_exist(specs: Specs, nodes: dict[str, Node]) -> None:
    assert parts(translate(specs, {**nodes[H200], "available_gpu_count": 12})) == [1, 2, 4, 8]


def test_the_tier_decides_the_price_kind(recorded: list[Offer | Rejection]) -> None:
    kinds = {(row.tier, row.price_kind) for row in recorded if isinstance(row, Offer)}
    assert kinds == {("secure", PriceKind.ON_DEMAND), ("spot", PriceKind.SPOT)}


def test_spot_says_that_it_can_be_taken_back(recorded: list[Offer | Rejection]) -> None:
    for row in recorded:
        if isinstance(row, Offer):
            told = any("taken back" in one or "take it back" in one for one in row.warnings)
            assert told is (row.price_kind is PriceKind.SPOT), row.key


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"price_per_gpu_hour": 0}, "no_price"),
        ({"price_per_gpu_hour": None}, "no_price"),
        ({"price_per_gpu_hour": -1}, "no_price"),
        ({"price_per_gpu_hour": "NaN"}, "unreadable_row"),
        ({"price_per_node_hour": 3.99}, "contradictory_price"),
        ({"gpu_count": 0}, "not_a_gpu"),
        ({"gpu_count": -8}, "unreadable_row"),
        ({"gpu_model": ""}, "not_a_gpu"),
        ({"gpu_model": "RTX 9090"}, "unknown_gpu"),
        ({"gpu_memory_gb": 80}, "unknown_gpu"),
        ({"available_gpu_count": 0}, "no_capacity"),
        ({"tier": None}, "unknown_tier"),
        ({"tier": "gold"}, "unknown_tier"),
    ],
)
def test_a_node_that_is_no_offer_says_why(
    specs: Specs, nodes: dict[str, Node], changes: Node, why: str
) -> None:
    assert reason(translate(specs, {**nodes[H200], **changes})) == why


def test_a_row_that_is_no_node_spoils_no_other(specs: Specs, nodes: dict[str, Node]) -> None:
    found = translate(specs, "not a node", nodes[H200])
    assert len(parts(found)) == 4
    assert [row.reason for row in found if isinstance(row, Rejection)] == ["unreadable_row"]


def test_the_price_of_a_node_may_be_rounded(specs: Specs, nodes: dict[str, Node]) -> None:
    assert parts(translate(specs, {**nodes[H200], "price_per_node_hour": 31.925}))


@pytest.mark.parametrize(
    ("country", "part", "region", "in_country"),
    [
        ("US", "MS", "MS, US", "US"),
        ("JP", "13", "13, JP", "JP"),
        ("FI", None, "FI", "FI"),
        (None, "MS", UNKNOWN_REGION, None),
    ],
)
def test_a_place_is_at_least_in_its_country(
    specs: Specs,
    nodes: dict[str, Node],
    *,
    country: JsonValue,
    part: JsonValue,
    region: str,
    in_country: str | None,
) -> None:
    found = translate(specs, {**nodes[H200], "country_code": country, "region": part})
    places = [row.place for row in found if isinstance(row, Offer)]
    assert {(one.region, one.country) for one in places} == {(region, in_country)}


def test_the_drivers_name_of_an_h200_is_the_sxm_card(recorded: list[Offer | Rejection]) -> None:
    found = {row.hardware.shape.gpu for row in recorded if isinstance(row, Offer)}
    assert "H200-SXM" in found
    assert {"H100-SXM", "H100-PCIe", "RTXPRO6000", "RTXPRO6000-WS"} <= found
