"""Doors: an aggregator's machine and the cloud's own are one stock, under one name."""

import re
from collections.abc import Iterator
from fractions import Fraction

import pytest

from broker.domain.offer import Fabric, Link, Offer
from broker.settings import Settings
from broker.specs.load import Specs, load_specs
from broker.specs.tables import read_table
from providers.kit.doors import (
    Doors,
    place_near,
    read_doors,
    sold_singly,
    stock_pool,
    type_of_shape,
)
from providers.kit.parts import replies_only
from providers.kit.recorded import recorded_client, recorded_providers
from providers.registry import adapters

AGGREGATORS = ("shadeform", "primeintellect")


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture(scope="module")
def doors(specs: Specs) -> Doors:
    return read_doors(specs.providers)


def recorded_offers(specs: Specs, name: str) -> Iterator[Offer]:
    (adapter,) = adapters(specs, Settings(keys={}), [name])
    with recorded_client(name) as http:
        for one in adapter.offers_in(replies_only(adapter.fetch(http), [])):
            if isinstance(one, Offer):
                yield one


def pool(offer: Offer) -> str:
    return offer.limits.stock_pool or offer.machine


def test_a_region_that_is_known_to_be_the_clouds_leads_to_its_pool(doors: Doors) -> None:
    door = doors.behind("shadeform", "lambdalabs", "sanjose-usa-2")
    assert door.operator == "lambda"
    assert door.pool("gpu_1x_a10") == "lambda/gpu_1x_a10/us-west-1"


def test_a_region_that_may_be_one_of_several_leads_to_the_operator_alone(doors: Doors) -> None:
    door = doors.behind("shadeform", "lambdalabs", "dallas-usa-3")
    assert (door.operator, door.region) == ("lambda", "")
    assert door.pool("gpu_1x_a10") == ""


def test_a_type_that_the_row_does_not_name_has_no_pool(doors: Doors) -> None:
    assert doors.behind("shadeform", "lambdalabs", "sanjose-usa-2").pool("") == ""


def test_an_aggregator_that_passes_region_ids_on_leads_to_every_region(doors: Doors) -> None:
    door = doors.behind("primeintellect", "datacrunch", "FIN-07")
    assert door.pool("1A100.22V") == "verda/1A100.22V/FIN-07"
    assert not door.inferred


def test_an_unknown_seller_is_its_own_operator(doors: Doors) -> None:
    door = doors.behind("shadeform", "imwt", "houston-usa-1")
    assert (door.operator, door.region, door.inferred) == ("imwt", "", False)


def test_what_rests_on_figures_alone_is_marked(doors: Doors) -> None:
    assert doors.behind("primeintellect", "oblivus", "MON1").inferred
    assert doors.behind("primeintellect", "dc_wildebeest", "eu-north1").inferred


@pytest.mark.parametrize(
    ("flavor", "family"),
    [
        ("n3-H100x1", "H100"),
        ("n3-H100x8", "H100"),
        ("n3-H100x1-bigroot", "H100"),
        ("n2-H100x8", "H100"),
        ("n3-H100x8-NVLink", "H100-NVLink"),
        ("n3-H100x8-NVLink-K8s", "H100-NVLink"),
        ("n3-H100-SXM5x8", "H100-SXM5"),
        ("n3-H100x1-spot", "H100-spot"),
        ("n3-RTX-A4000x10", "RTX-A4000"),
    ],
)
def test_sizes_of_hyperstack_draw_on_the_same_gpus(flavor: str, family: str) -> None:
    assert stock_pool("hyperstack", flavor, "CANADA-1") == f"hyperstack/{family}/CANADA-1"


def test_other_clouds_have_a_stock_of_each_type() -> None:
    assert stock_pool("crusoe", "l40s-48gb.10x", "us-east1-a") == "crusoe/l40s-48gb.10x/us-east1-a"
    assert stock_pool("runpod", "1x A", "US", tier="secure") == "runpod/1x A/US:secure"


def test_a_type_is_found_by_its_parts_only_where_they_are_its_alone(specs: Specs) -> None:
    def found(gpu: str, count: int, vcpus: float, memory: float) -> str:
        return type_of_shape(
            specs,
            "hyperstack",
            gpu=gpu,
            gpu_count=Fraction(count),
            vcpus=vcpus,
            host_memory_gib=memory,
        )

    assert found("A100-80-PCIe", 8, 252, 1440) == "n3-A100x8"
    assert found("A100-80-PCIe", 8, 252, 1920) == "n3-A100x8-NVLink"
    assert found("L40", 1, 28, 58) == "n3-L40x1"
    assert found("H100-PCIe", 8, 252, 1440) == ""  # with and without NVLink
    assert found("A100-80-PCIe", 8, 96, 960) == ""


def test_a_region_in_no_table_lies_where_the_words_say(specs: Specs) -> None:
    near = place_near(specs, "shadeform", "topeka-usa-9", "KS, US")
    assert (near.region, near.country) == ("topeka-usa-9", "US")
    assert near.latitude_deg == pytest.approx(38.5, abs=1)
    known = place_near(specs, "shadeform", "tokyo-japan-1", "KS, US")
    assert known.country == "JP"
    assert place_near(specs, "shadeform", "nowhere-9", "").country is None


def test_a_machine_that_is_sold_singly_has_no_fabric(specs: Specs) -> None:
    of_cluster = specs.hardware(
        "nebius",
        "gpu-h200-sxm_8gpu-128vcpu-1600gb",
        gpu="H200-SXM",
        gpu_count=Fraction(8),
    )
    assert of_cluster.shape.fabric is Fabric.INFINIBAND
    alone = sold_singly(of_cluster).shape
    assert (alone.fabric, alone.fabric_gbit_per_s) == (Fabric.UNKNOWN, None)
    assert alone.link is Link.NVSWITCH


@pytest.mark.parametrize("cloud", ["lambda", "runpod", "verda", "nebius", "crusoe", "hyperstack"])
def test_a_pool_behind_a_door_has_the_name_that_the_cloud_gives_it(
    specs: Specs, cloud: str
) -> None:
    """Fails where an adapter comes to call types or regions by other ids than the cloud does."""
    behind = {
        one.limits.stock_pool
        for name in AGGREGATORS
        for one in recorded_offers(specs, name)
        if one.operator == cloud
    }
    (adapter,) = adapters(specs, Settings(keys={}), [cloud])
    if cloud in recorded_providers():
        own = {pool(one) for one in recorded_offers(specs, cloud)}
    else:
        with recorded_client("lambda") as unused:  # a sheet in the package asks nothing
            rows = adapter.offers_in(replies_only(adapter.fetch(unused), []))
            own = {pool(one) for one in rows if isinstance(one, Offer)}
    assert behind & own, (sorted(behind)[:3], sorted(own)[:3])


@pytest.mark.parametrize("name", AGGREGATORS)
def test_every_offer_of_an_aggregator_names_its_cloud(specs: Specs, name: str) -> None:
    for one in recorded_offers(specs, name):
        assert one.operator, one.key
        assert one.operator == specs.providers.of(one.operator), one.key
        assert one.operator != name, one.key
        if one.limits.stock_pool:
            assert one.limits.stock_pool.startswith(f"{one.operator}/"), one.key


def test_every_row_of_the_table_names_its_source_and_stands_once() -> None:
    rows = read_table("doors.csv")
    keys = [(row["aggregator"], row["seller"], row["region"]) for row in rows]
    assert len(keys) == len(set(keys))
    for row in rows:
        assert row["source"]
        assert row["inferred"] in ("true", "false")
        assert row["aggregator"] in AGGREGATORS
        assert bool(row["region"]) == bool(row["operator_region"])


def test_every_operator_of_the_table_is_called_as_we_call_it(specs: Specs) -> None:
    for row in read_table("doors.csv"):
        operator = row["operator"] or ""
        assert re.fullmatch(r"[a-z]+", operator)
        assert specs.providers.of(operator) == operator
