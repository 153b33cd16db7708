"""From SKUs to the price of a machine: units, tiers, missing and doubled parts."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from gcp_skus import Row, a2_ultra, sku

from broker.domain.offer import Components, Offer, Rejection

Read = Callable[..., tuple[dict[str, Offer], list[Rejection]]]

KEY = "gcp/a2-ultragpu-1g/us-central1@on_demand"
GPU = "Nvidia Tesla A100 80GB GPU running in Americas"
RAM = "A2 Instance Ram running in Americas"


def reasons(rejections: list[Rejection]) -> dict[str, str]:
    return {one.subject: one.reason for one in rejections}


def test_a_machine_costs_what_its_parts_cost(read: Read) -> None:
    """Google's own table has 5.06879789 for it in Iowa.

    12 cores × 0.031611          0.379332
    170 GiB × 0.004237           0.720290
    1 GPU × 3.92808              3.928080
    375 GiB × 0.08 ÷ 730 hours   0.041096
    """
    offers, _ = read(a2_ultra())
    offer = offers[KEY]
    assert offer.usd_per_hour == Decimal("5.068798")
    assert offer.quote.amount == Decimal("5.068797890")
    assert offer.components == Components(
        gpus_usd=Decimal("3.92808"), host_usd=Decimal("1.099622"), disk_usd=Decimal("0.041096")
    )


def test_more_gpus_cost_as_many_times_more(read: Read) -> None:
    offers, _ = read(a2_ultra())
    eight = offers["gcp/a2-ultragpu-8g/us-central1@on_demand"]
    assert eight.quote.amount == Decimal("40.550383123")


def test_the_parts_of_a_machine_may_stand_on_different_pages(read: Read) -> None:
    whole, _ = read(a2_ultra())
    in_parts, _ = read(*([one] for one in a2_ultra()))
    assert in_parts == whole
    assert KEY in whole


def test_whole_dollars_and_billionths_both_count(read: Read) -> None:
    offers, _ = read(a2_ultra(gpu=sku(GPU, "1003.000000001")))
    assert offers[KEY].quote.amount == Decimal("1004.140717891")


@pytest.mark.parametrize("missing", ["core", "ram", "gpu", "disk"])
def test_a_missing_part_leaves_the_machine_without_a_price(read: Read, missing: str) -> None:
    other = sku("Nvidia L4 GPU running in Americas")
    offers, rejections = read(a2_ultra(**{missing: other}))
    assert KEY not in offers
    if missing == "gpu":  # cores of A2 alone are no sign of this GPU: A2 has two models
        return
    assert reasons(rejections)["a2-ultragpu-1g/us-central1 on_demand"] == "missing_part"


def test_the_missing_part_is_named(read: Read) -> None:
    _, rejections = read(a2_ultra(ram=sku(RAM, None)))
    (found,) = (one for one in rejections if one.subject.startswith("a2-ultragpu-1g/"))
    assert found.detail == "ram a2 on_demand: no price"


def test_a_part_of_another_region_does_not_fill_in(read: Read) -> None:
    ram = sku(RAM, "0.004237", unit="GiBy.h", regions=["us-east5"])
    offers, rejections = read(a2_ultra(ram=ram))
    assert offers == {}
    assert reasons(rejections)["a2-ultragpu-1g/us-central1 on_demand"] == "missing_part"


def test_a_part_of_another_market_does_not_fill_in(read: Read) -> None:
    ram = sku("Spot Preemptible A2 Instance Ram running in Americas", unit="GiBy.h")
    offers, _ = read(a2_ultra(ram=ram))
    assert offers == {}


def test_a_flex_start_price_does_not_stand_in_for_an_on_demand_one(read: Read) -> None:
    """The last SKU read of a text that starts alike won, and halved the price, elsewhere."""
    flex = sku(
        "Nvidia Tesla A100 80GB GPU attached to DWS Defined Duration VMs running in Americas",
        "1.846198",
    )
    before, _ = read([flex, *a2_ultra()])
    after, _ = read([*a2_ultra(), flex])
    assert before[KEY].usd_per_hour == after[KEY].usd_per_hour == Decimal("5.068798")


def test_a_part_with_two_prices_has_none(read: Read) -> None:
    dearer = sku("Nvidia Tesla A100 80GB GPU running in Iowa", "4.5")
    offers, rejections = read([*a2_ultra(), dearer])
    assert KEY not in offers
    found = reasons(rejections)
    assert found["Nvidia Tesla A100 80GB GPU running in Iowa (EXAMPLE) in us-central1"] == (
        "ambiguous_part"
    )
    assert found["a2-ultragpu-1g/us-central1 on_demand"] == "missing_part"


def test_a_third_price_does_not_bring_the_part_back(read: Read) -> None:
    offers, _ = read([*a2_ultra(), sku(GPU, "4.5"), sku(GPU, "3.92808")])
    assert KEY not in offers


def test_a_part_listed_twice_at_one_price_has_it(read: Read) -> None:
    offers, rejections = read([*a2_ultra(), sku(GPU, "3.92808")])
    assert KEY in offers
    assert "ambiguous_part" not in reasons(rejections).values()


@pytest.mark.parametrize(
    ("gpu", "reason"),
    [
        (sku(GPU, "0"), "no_price"),
        (sku(GPU, None), "no_price"),
        (sku(GPU, "3.9", unit="mo"), "unexpected_unit"),
        (sku(GPU, "3.9", unit="s"), "unexpected_unit"),
        (sku(GPU, tiers=[(0, "3.9"), (1000, "3.1")]), "tiered_price"),
        (sku(GPU, tiers=[(0, "0"), (100, "3.9")]), "tiered_price"),
        (sku(GPU, "3.9", currency="EUR"), "other_currency"),
    ],
)
def test_what_is_no_hourly_price_in_dollars_is_none(read: Read, gpu: Row, reason: str) -> None:
    offers, rejections = read(a2_ultra(gpu=gpu))
    assert KEY not in offers
    assert reasons(rejections)[f"{GPU} (EXAMPLE)"] == reason


def test_disk_by_the_hour_and_memory_by_the_month_are_refused(read: Read) -> None:
    changed = a2_ultra(
        ram=sku(RAM, "0.004237", unit="GiBy.mo"),
        disk=sku("SSD backed Local Storage", "0.08", unit="GiBy.h"),
    )
    offers, rejections = read(changed)
    assert offers == {}
    assert list(reasons(rejections).values()).count("unexpected_unit") == 2


@pytest.mark.parametrize("half", ["units", "nanos"])
def test_half_a_price_is_none(read: Read, half: str) -> None:
    offers, rejections = read(a2_ultra(gpu=sku(GPU, "3.92808", lacking=half)))
    assert KEY not in offers
    assert reasons(rejections)["page 1, SKU 3"] == "missing_field"


def test_one_sku_prices_all_its_regions(read: Read) -> None:
    regions = ["us-central1", "us-east5"]
    skus = [{**one, "serviceRegions": regions} for one in a2_ultra()]
    offers, _ = read(skus)
    assert {key for key in offers if "a2-ultragpu-1g" in key} == {
        "gcp/a2-ultragpu-1g/us-central1@on_demand",
        "gcp/a2-ultragpu-1g/us-east5@on_demand",
    }


def test_a_machine_is_not_offered_where_it_is_not_sold(read: Read) -> None:
    skus = [{**one, "serviceRegions": ["europe-west9"]} for one in a2_ultra()]
    offers, rejections = read(skus)
    assert offers == {}
    assert reasons(rejections)["a2-ultragpu-1g/europe-west9"] == "not_sold_in_region"


def test_the_settings_choose_regions(read: Read) -> None:
    regions = ["us-central1", "us-east5"]
    skus = [{**one, "serviceRegions": regions} for one in a2_ultra()]
    offers, _ = read(skus, regions=("us-east5",))
    assert {one.place.region for one in offers.values()} == {"us-east5"}


def test_a_chosen_region_that_the_catalog_does_not_have_is_told(read: Read) -> None:
    offers, refused = read(a2_ultra(), regions=("us-central1", "us-centrl1"))
    assert {one.place.region for one in offers.values()} == {"us-central1"}
    assert [one.reason for one in refused if one.subject == "us-centrl1"] == ["region_not_listed"]


def test_a_price_holds_since_its_oldest_part(read: Read) -> None:
    gpu = sku(GPU, "3.92808", effective="2026-07-01T00:00:00Z")
    offers, _ = read(a2_ultra(gpu=gpu))
    assert offers[KEY].provenance.effective_at == datetime(2026, 7, 1, tzinfo=UTC)


def test_the_address_of_an_offer_has_no_query(read: Read) -> None:
    offers, _ = read(a2_ultra())
    assert offers[KEY].provenance.source == (
        "https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus"
    )
