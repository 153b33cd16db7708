"""The machine types of the tables: what each is billed for, and the ways in which it is sold."""

import pytest

from broker.specs.load import Specs
from providers.gcp.labels import LOCAL_SSD, Market, Part
from providers.gcp.machines import Machine, machines, sold
from providers.gcp.wire import PartKind

GPU, CORE, RAM = PartKind.GPU, PartKind.CORE, PartKind.RAM


@pytest.fixture(scope="module")
def by_name(specs: Specs) -> dict[str, Machine]:
    return {one.name: one for one in machines(specs)}


def test_every_gcp_type_of_the_table_is_priced_but_a3_edge(
    specs: Specs, by_name: dict[str, Machine]
) -> None:
    known = {one.instance_type for one in specs.nodes.values() if one.provider == "gcp"}
    assert known - set(by_name) == {"a3-edgegpu-8g"}


def test_a3_high_is_billed_for_gpus_cores_memory_and_its_disk(by_name: dict[str, Machine]) -> None:
    assert dict(by_name["a3-highgpu-8g"].needs) == {
        Part(GPU, "h100"): 8,
        Part(CORE, "a3"): 208,
        Part(RAM, "a3"): 1872,
        LOCAL_SSD: 6000,
    }


def test_a_disk_is_whole_partitions_of_375_gib(by_name: dict[str, Machine]) -> None:
    disks = {name: dict(one.needs)[LOCAL_SSD] for name, one in by_name.items() if _disk(one)}
    assert disks["a2-ultragpu-1g"] == 375
    assert disks["a3-ultragpu-8g"] == 12000
    assert all(gib % 375 == 0 for gib in disks.values())


def test_a_slice_of_a4_has_the_whole_machine_in_it(by_name: dict[str, Machine]) -> None:
    assert dict(by_name["a4-highgpu-8g"].needs) == {Part(GPU, "b200"): 8}
    assert dict(by_name["a4x-highgpu-4g"].needs) == {Part(GPU, "gb200"): 4}


@pytest.mark.parametrize(("machine", "eighths"), [(6, 1), (12, 2), (24, 4)])
def test_a_part_of_a_g4_card_is_billed_by_eighths_with_their_machine_in_them(
    by_name: dict[str, Machine], machine: int, eighths: int
) -> None:
    needs = dict(by_name[f"g4-standard-{machine}"].needs)
    assert needs == {Part(GPU, "rtx-pro-6000-eighth"): eighths}


def test_a_whole_g4_card_is_billed_beside_its_machine(by_name: dict[str, Machine]) -> None:
    assert dict(by_name["g4-standard-96"].needs) == {
        Part(GPU, "rtx-pro-6000"): 2,
        Part(CORE, "g4"): 96,
        Part(RAM, "g4"): 360,
    }


def test_the_name_of_an_n1_machine_has_its_gpus(by_name: dict[str, Machine]) -> None:
    assert dict(by_name["n1-standard-16+nvidia-tesla-t4x2"].needs) == {
        Part(GPU, "t4"): 2,
        Part(CORE, "n1"): 16,
        Part(RAM, "n1"): 60,
    }


@pytest.mark.parametrize(
    ("machine", "market", "reason"),
    [
        ("a4-highgpu-8g", Market.ON_DEMAND, "not_sold_on_demand"),
        ("a4x-highgpu-4g", Market.ON_DEMAND, "not_sold_on_demand"),
        ("a3-ultragpu-8g", Market.ON_DEMAND, "not_sold_on_demand"),
        ("a3-highgpu-4g", Market.ON_DEMAND, "not_sold_on_demand"),
        ("a3-highgpu-1g", Market.THREE_YEARS, "not_sold_committed"),
        ("a3-highgpu-2g", Market.CALENDAR, "not_sold_in_calendar_mode"),
        ("a2-ultragpu-8g", Market.CALENDAR, "not_sold_in_calendar_mode"),
    ],
)
def test_a_price_is_no_proof_that_a_machine_is_sold_so(
    machine: str, market: Market, reason: str
) -> None:
    problem = sold(machine, market)
    assert problem is not None
    assert problem.reason == reason


@pytest.mark.parametrize(
    ("machine", "market"),
    [
        ("a3-highgpu-8g", Market.ON_DEMAND),
        ("a3-highgpu-1g", Market.SPOT),
        ("a3-highgpu-1g", Market.FLEX_START),
        ("a3-ultragpu-8g", Market.ONE_YEAR),
        ("a4-highgpu-8g", Market.CALENDAR),
        ("g2-standard-4", Market.THREE_YEARS),
    ],
)
def test_the_other_ways_are_open(machine: str, market: Market) -> None:
    assert sold(machine, market) is None


def _disk(machine: Machine) -> bool:
    return LOCAL_SSD in dict(machine.needs)
