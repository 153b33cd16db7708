"""Which part a text names, and how it is sold: the join key of Google's price list is English."""

import pytest

from providers.gcp.labels import LOCAL_SSD, Label, Market, Part, read_label
from providers.gcp.wire import PartKind, Problem

GPU, CORE, RAM = PartKind.GPU, PartKind.CORE, PartKind.RAM


@pytest.mark.parametrize(
    ("text", "usage", "part", "market"),
    [
        ("A2 Instance Core running in Americas", "OnDemand", Part(CORE, "a2"), Market.ON_DEMAND),
        (
            "Spot Preemptible A3 Instance Ram running in Columbus",
            "Preemptible",
            Part(RAM, "a3"),
            Market.SPOT,
        ),
        (
            "Nvidia Tesla A100 80GB GPU attached to Spot Preemptible VMs running in Virginia",
            "Preemptible",
            Part(GPU, "a100-80"),
            Market.SPOT,
        ),
        (
            "Commitment v1: A3Plus Cpu in Americas for 1 Year",
            "Commit1Yr",
            Part(CORE, "a3plus"),
            Market.ONE_YEAR,
        ),
        (
            "Commitment v1: Nvidia H100 80GB GPU running in Mumbai for 3 Years",
            "Commit3Yr",
            Part(GPU, "h100"),
            Market.THREE_YEARS,
        ),
        (
            "Commitment v1: Local SSD In Tokyo for 3 Year",
            "Commit3Yr",
            LOCAL_SSD,
            Market.THREE_YEARS,
        ),
        (
            "Commitment v1: Cpu in Americas for 1 Year",
            "Commit1Yr",
            Part(CORE, "n1"),
            Market.ONE_YEAR,
        ),
        (
            "Reserved H200 141GB GPU in Americas in Calendar Mode",
            "OnDemand",
            Part(GPU, "h200"),
            Market.CALENDAR,
        ),
        (
            "DWS Calendar Mode A4 Nvidia B200 (1 gpu slice) in Americas",
            "OnDemand",
            Part(GPU, "b200"),
            Market.CALENDAR,
        ),
        (
            "RTX 6000 96GB attached to Spot Preemptible VMs running in Belgium",
            "Preemptible",
            Part(GPU, "rtx-pro-6000"),
            Market.SPOT,
        ),
        (
            "1/8 vGPU no lssd attached to DWS Defined Duration VMs running in Iowa",
            "OnDemand",
            Part(GPU, "rtx-pro-6000-eighth"),
            Market.FLEX_START,
        ),
    ],
)
def test_text_and_usage_type_name_a_part_and_a_market(
    text: str, usage: str, part: Part, market: Market
) -> None:
    assert read_label(text, usage) == Label(part, market)


def test_flex_start_is_not_on_demand_though_its_usage_type_says_so() -> None:
    text = "Nvidia Tesla A100 80GB GPU attached to DWS Defined Duration VMs running in Americas"
    core = "DWS Defined Duration A3 Core running in Americas"
    assert read_label(text, "OnDemand") == Label(Part(GPU, "a100-80"), Market.FLEX_START)
    assert read_label(core, "OnDemand") == Label(Part(CORE, "a3"), Market.FLEX_START)


def test_a_spot_price_is_not_on_demand_though_its_usage_type_says_so() -> None:
    text = "Spot Preemptible A4 Nvidia B200 (1 gpu slice) running in Americas"
    assert read_label(text, "OnDemand") == Label(Part(GPU, "b200"), Market.SPOT)


def test_a_preemptible_usage_type_makes_a_spot_price_of_a_plain_text() -> None:
    found = read_label("Nvidia L4 GPU running in Americas", "Preemptible")
    assert found == Label(Part(GPU, "l4"), Market.SPOT)


def test_the_a100_of_40_gb_is_not_the_one_of_80_gb() -> None:
    for name, gpu in (("A100 GPU", "a100-40"), ("A100 80GB GPU", "a100-80")):
        found = read_label(f"Nvidia Tesla {name} running in Americas", "OnDemand")
        assert found == Label(Part(GPU, gpu), Market.ON_DEMAND)


@pytest.mark.parametrize("name", ["H100 80GB Plus GPU", "H100 80GB Mega GPU", "H100 Mega 80GB GPU"])
def test_the_h100_of_a3_mega_goes_by_three_names(name: str) -> None:
    found = read_label(f"Nvidia {name} running in Americas", "OnDemand")
    assert found == Label(Part(GPU, "h100-mega"), Market.ON_DEMAND)


@pytest.mark.parametrize(
    ("text", "usage", "reason"),
    [
        ("G2 Custom Instance Core running in Americas", "OnDemand", "other_product"),
        ("A2 Sole Tenancy Instance Core running in Americas", "OnDemand", "other_product"),
        ("Nvidia L4 Virtual Workstation GPU running in Iowa", "OnDemand", "other_product"),
        ("Committed Use A2 Cpu Premium in Americas", "CmtCudPremium", "other_product"),
        ("Nvidia Tesla K80 GPU running in Americas", "OnDemand", "unknown_part"),
        ("1/8 vGPU with lssd running in Iowa", "OnDemand", "unknown_part"),
        ("A5 Nvidia R100 (1 gpu slice) running in Americas", "OnDemand", "unknown_part"),
        ("Reserved Nvidia H100 80GB GPU in Americas", "OnDemand", "reservation_placeholder"),
        ("Nvidia L4 GPU running in Americas", "Promotional", "unknown_usage_type"),
        ("Commitment v1: G2 Cpu in Americas for 5 Years", "Commit", "unknown_term"),
        ("Commitment v1: G2 Cpu in Americas for 3 Years", "Commit1Yr", "unknown_term"),
        ("Nvidia L4 GPU running in Americas", "Commit1Yr", "unknown_term"),
    ],
)
def test_what_is_no_plain_part_is_refused_with_its_reason(
    text: str, usage: str, reason: str
) -> None:
    found = read_label(text, usage)
    assert isinstance(found, Problem)
    assert found.reason == reason


@pytest.mark.parametrize(
    "text",
    [
        "N2 Instance Core running in Americas",
        "SSD backed PD Capacity in Tokyo",
        "T2A Arm Instance Ram running in Iowa",
        "Network Internet Egress from Americas to EMEA",
    ],
)
def test_what_has_nothing_to_do_with_gpus_is_left_alone(text: str) -> None:
    assert read_label(text, "OnDemand") is None
