"""Vultr: prices of whole plans, slices of GPUs, two ways to buy, locations that come and go."""

import json
from decimal import Decimal
from fractions import Fraction

import httpx
import pytest
from pydantic import JsonValue

from broker.domain.offer import Evidence, Link, Offer, PriceKind, Rejection, Virtualization
from broker.specs.load import Specs, load_specs
from providers.kit.access import Access
from providers.kit.adapter import stamp
from providers.kit.recorded import recorded_client, recordings
from providers.vultr import PLANS, PLANS_METAL, Vultr


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture(scope="module")
def rows(specs: Specs) -> list[Offer | Rejection]:
    cloud = Vultr(specs, Access())
    with recorded_client("vultr") as http:
        return list(cloud.offers_in(cloud.fetch(http)))


def of_plan(rows: list[Offer | Rejection], plan: str) -> dict[str, Offer]:
    """Find the offers of a plan by location and price kind."""
    found = [row for row in rows if isinstance(row, Offer) and row.instance_type == plan]
    return {f"{row.place.region}@{row.price_kind}": row for row in found}


def rejected(rows: list[Offer | Rejection]) -> dict[str, str]:
    return {row.subject: row.reason for row in rows if isinstance(row, Rejection)}


def translate(
    specs: Specs, /, plan: str = "vcg-l40s-16c-180g-48vram", **changes: JsonValue
) -> list[Offer | Rejection]:
    """Translate one recorded plan, in one location, with fields changed."""
    bodies = [one.response.body for one in recordings("vultr") if one.replay]
    (row,) = [
        {**found, "locations": ["ewr"], **changes}
        for body in bodies
        if isinstance(body, dict)
        for key in ("plans", "plans_metal")
        for found in _rows(body.get(key))
        if found["id"] == plan
    ]
    metal = plan.startswith("vbm-")
    body = {"plans_metal" if metal else "plans": [row], "meta": {"links": {"next": ""}}}
    request = httpx.Request("GET", PLANS_METAL if metal else PLANS)
    reply = httpx.Response(200, text=json.dumps(body), request=request)
    made_on = recordings("vultr")[0].made_on
    stamp(reply, observed_at=made_on, evidence=Evidence.COMPOSED)
    return list(Vultr(specs, Access()).offers_in([reply]))


def _rows(value: JsonValue) -> list[dict[str, JsonValue]]:
    rows = value if isinstance(value, list) else []
    return [row for row in rows if isinstance(row, dict)]


def offers(rows: list[Offer | Rejection]) -> list[Offer]:
    return [row for row in rows if isinstance(row, Offer)]


def test_a_plan_with_two_gpus_costs_what_both_do(rows: list[Offer | Rejection]) -> None:
    (offer,) = of_plan(rows, "vcg-a16-12c-128g-32vram").values()
    assert offer.usd_per_hour == Decimal("0.942")  # 2 × 0.471, as published per GPU
    assert offer.hardware.shape.gpu_count == 2
    assert offer.hardware.shape.link is Link.PCIE
    assert offer.hardware.host_memory_gib == 128
    assert offer.warnings == ()


def test_a_slice_is_a_part_of_a_gpu_with_its_part_of_the_memory(
    rows: list[Offer | Rejection],
) -> None:
    found = of_plan(rows, "vcg-a40-1c-5g-2vram")
    assert set(found) == {"ewr@on_demand", "lax@on_demand"}
    offer = found["lax@on_demand"]
    assert offer.hardware.shape.gpu == "A40"
    assert offer.hardware.shape.gpu_count == Fraction(1, 24)
    assert offer.hardware.gpu_memory_gib == pytest.approx(44.99 / 24)
    assert "1/24 of a GPU" in offer.warnings[0]


def test_a_slice_of_a_twentieth_is_read_from_its_text(specs: Specs) -> None:
    found = translate(
        specs, gpu_count="1/20", gpu_type="NVIDIA_A100_PCIE", gpu_vram_gb=4, id="vcg-x"
    )
    (offer,) = offers(found)
    assert offer.hardware.shape.gpu == "A100-80-PCIe"
    assert offer.hardware.shape.gpu_count == Fraction(1, 20)


@pytest.mark.parametrize("count", ["0", "some", "1/0", -1])
def test_a_count_that_is_none_is_rejected(specs: Specs, count: JsonValue) -> None:
    assert rejected(translate(specs, gpu_count=count)) == {
        "vcg-l40s-16c-180g-48vram": "unreadable_row"
    }


def test_the_gpus_of_a_dedicated_plan_are_known_by_its_id(rows: list[Offer | Rejection]) -> None:
    (a40,) = of_plan(rows, "vcg-a40-24c-120g-48vram").values()
    assert a40.hardware.shape.gpu == "A40"
    assert a40.hardware.shape.gpu_count == 1
    assert a40.usd_per_hour == Decimal("1.712")
    assert a40.hardware.virtualization is Virtualization.VM
    (a100,) = of_plan(rows, "vcg-a100-12c-120g-80vram").values()
    assert a100.hardware.shape.gpu == "A100-80-PCIe"


def test_a_plan_whose_memory_fits_no_count_is_refused(rows: list[Offer | Rejection]) -> None:
    assert rejected(rows)["vcg-mi325x-252c-2872g-1536vram"] == "unknown_instance_type"


def test_bare_metal_is_offered_as_it_can_be_bought(rows: list[Offer | Rejection]) -> None:
    """The price on demand, 22.40, stands in the row and cannot be bought."""
    (offer,) = of_plan(rows, "vbm-112c-2048gb-8-a100-gpu").values()
    assert offer.price_kind is PriceKind.SPOT
    assert offer.usd_per_hour == Decimal("11.92")  # 8 × 1.49, as published per GPU
    assert offer.hardware.shape.gpu == "A100-80-SXM"
    assert offer.hardware.shape.link is Link.NVSWITCH
    assert offer.hardware.virtualization is Virtualization.BARE_METAL
    assert offer.hardware.vcpus == 224


def test_both_flags_make_two_offers_each_at_its_own_price(specs: Specs) -> None:
    found = translate(specs, plan="vbm-112c-2048gb-8-a100-gpu", deploy_ondemand=True)
    prices = {offer.price_kind: offer.usd_per_hour for offer in offers(found)}
    assert prices == {PriceKind.ON_DEMAND: Decimal("22.4"), PriceKind.SPOT: Decimal("11.92")}


def test_a_row_without_flags_is_sold_on_demand_only(specs: Specs) -> None:
    found = translate(specs, deploy_ondemand=None, deploy_preemptible=None)
    assert [offer.price_kind for offer in offers(found)] == [PriceKind.ON_DEMAND]


def test_disks_of_one_machine_add_up(rows: list[Offer | Rejection]) -> None:
    (offer,) = of_plan(rows, "vbm-256c-2048gb-8-mi300x-gpu").values()
    assert offer.hardware.local_disk_gb == 8 * 3576


def test_a_plan_called_l40_has_l40s(specs: Specs) -> None:
    found = translate(specs, plan="vbm-64c-2048gb-8-l40-gpu")
    assert [offer.hardware.shape.gpu for offer in offers(found)] == ["L40S"]


def test_a_grace_hopper_is_an_arm_host(specs: Specs) -> None:
    (offer,) = offers(translate(specs, plan="vbm-72c-480gb-gh200-gpu"))
    assert offer.hardware.cpu_architecture == "arm64"


def test_an_a100_without_a_form_is_refused(rows: list[Offer | Rejection]) -> None:
    assert rejected(rows)["vbm-48c-1024gb-4-a100-gpu"] == "ambiguous_gpu"


def test_a_plan_in_no_location_is_no_offer(rows: list[Offer | Rejection]) -> None:
    assert rejected(rows)["vcg-l40s-16c-180g-48vram"] == "no_capacity"
    assert of_plan(rows, "vcg-l40s-16c-180g-48vram") == {}


def test_a_location_without_a_name_does_not_spoil_the_others(
    rows: list[Offer | Rejection],
) -> None:
    assert rejected(rows)["vcg-a16-2c-16g-4vram"] == "no_region"
    regions = [key.partition("@")[0] for key in of_plan(rows, "vcg-a16-2c-16g-4vram")]
    assert regions == ["ewr", "sjc", "nrt", "sgp", "blr"]


def test_a_location_may_have_a_price_of_its_own(specs: Specs) -> None:
    found = translate(
        specs,
        locations=["ewr", "sao"],
        location_cost={"sao": {"hourly_cost": 2.5, "monthly_cost": 1825}},
    )
    prices = {offer.place.region: offer.usd_per_hour for offer in offers(found)}
    assert prices == {"ewr": Decimal("1.671"), "sao": Decimal("2.5")}


@pytest.mark.parametrize("price", [0, None, -1])
def test_zero_and_nothing_are_no_prices(specs: Specs, price: JsonValue) -> None:
    assert rejected(translate(specs, hourly_cost=price)) == {
        "vcg-l40s-16c-180g-48vram/ewr": "no_price"
    }


def test_plans_without_a_gpu_are_no_offers(rows: list[Offer | Rejection]) -> None:
    reasons = rejected(rows)
    for plan in ("vc2-1c-0.5gb-free", "vc2-1c-1gb", "vbm-6c-32gb"):
        assert reasons[plan] == "not_a_gpu"


def test_a_count_that_contradicts_the_known_type_is_rejected(specs: Specs) -> None:
    assert rejected(translate(specs, gpu_count=2, gpu_vram_gb=96)) == {
        "vcg-l40s-16c-180g-48vram": "contradicts_known_type"
    }


def test_a_cursor_that_leads_to_itself_is_not_followed_for_ever(specs: Specs) -> None:
    body = {"plans": [], "plans_metal": [], "meta": {"links": {"next": "again"}}}
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url.params))
        return httpx.Response(200, json=body)

    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        list(Vultr(specs, Access()).fetch(http))
    assert asked == [
        "type=all&per_page=500",
        "type=all&per_page=500&cursor=again",
        "per_page=500",
        "per_page=500&cursor=again",
    ]
