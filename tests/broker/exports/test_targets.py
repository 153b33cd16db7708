"""Where a launching tool would put a line, in its own words, or why it cannot."""

import pytest
from export_plans import Parts, bought, machine, plan, served

from broker.domain.offer import Offer, Place, PriceKind
from broker.exports.lines import lines
from broker.exports.targets import Target, Unlaunchable, target_of
from broker.specs.launchers import Tool, read_launchers

SKYPILOT = read_launchers(Tool.SKYPILOT)
DSTACK = read_launchers(Tool.DSTACK)


def _target(of: Offer, tool: Tool) -> Target | Unlaunchable:
    parts = Parts([bought(of, (0, 48, 1))], serving=[served(of, (0, 48, 1, 1))])
    (line,) = lines(plan([of], parts))
    return target_of(line, SKYPILOT if tool is Tool.SKYPILOT else DSTACK, tool.value)


def _words(of: Offer, tool: Tool) -> tuple[str, str, str, str, str]:
    found = _target(of, tool)
    assert isinstance(found, Target)
    return found.cloud.cloud, found.region, found.zone, found.machine, found.gpu.name


def _reason(of: Offer, tool: Tool) -> str:
    found = _target(of, tool)
    assert isinstance(found, Unlaunchable)
    return found.reason


@pytest.mark.parametrize(
    ("offer", "words"),
    [
        (
            machine("aws/p5.48xlarge/us-east-1"),
            ("aws", "us-east-1", "", "p5.48xlarge", "H100"),
        ),
        (
            machine("gcp/a3-megagpu-8g/us-central1"),
            ("gcp", "us-central1", "", "a3-megagpu-8g", "H100-MEGA"),
        ),
        (
            machine("gcp/n1-standard-16+nvidia-tesla-t4x2/us-west1", "T4", 2),
            ("gcp", "us-west1", "", "", "T4"),
        ),
        (
            machine("runpod/2x NVIDIA H100 80GB HBM3/US-KS-2", gpus=2, tier="secure"),
            ("runpod", "US", "US-KS-2", "", "H100-SXM"),
        ),
        (
            machine("runpod/1x NVIDIA L40S/EU-RO-1", "L40S", 1, tier="secure"),
            ("runpod", "RO", "EU-RO-1", "", "L40S"),
        ),
        (
            machine("shadeform/crusoe_A100_80G_sxm4x8/culpeper-usa-1", "A100-80-SXM"),
            ("shadeform", "culpeper-usa-1", "", "crusoe_A100-80G-sxm4x8", "A100-80GB"),
        ),
        (
            machine("shadeform/crusoe_A100_80Gx2/culpeper-usa-1", "A100-80-PCIe", 2),
            ("shadeform", "culpeper-usa-1", "", "crusoe_A100-80GBx2", "A100-80GB"),
        ),
        (
            machine("vast/m4428-8xL40S/US", "L40S"),
            ("vast", ", US, NA", "", "", "L40S"),
        ),
    ],
)
def test_skypilot_is_asked_in_its_own_words(offer: Offer, words: tuple[str, ...]) -> None:
    assert _words(offer, Tool.SKYPILOT) == words


@pytest.mark.parametrize(
    ("offer", "words"),
    [
        (
            machine("gcp/n1-standard-16+nvidia-tesla-t4x2/us-west1", "T4", 2),
            ("gcp", "us-west1", "", "n1-standard-16", "T4"),
        ),
        (
            machine("nebius/gpu-h100-sxm_8gpu-128vcpu-1600gb/eu-north1"),
            ("nebius", "eu-north1", "", "gpu-h100-sxm 8gpu-128vcpu-1600gb", "H100"),
        ),
        (
            machine("runpod/2x NVIDIA H100 NVL/EU-RO-1", "H100-NVL", 2, tier="secure"),
            ("runpod", "EU-RO-1", "", "NVIDIA H100 NVL", "H100NVL"),
        ),
        (
            machine("jarvislabs/2x H100/india-noida-01", gpus=2, tier="vm"),
            ("jarvislabs", "india-noida-01", "", "H100-2x", "H100"),
        ),
        (
            machine("hotaisle/vm-mi300x-4-52c/us-michigan-1", "MI300X", 4),
            ("hotaisle", "us-michigan-1", "", "vm-mi300x-4", "MI300X"),
        ),
        (
            machine(
                "lium/6780e503-6861-4dca-bdec-ca9dcf37e8d0-8xA100-80-SXM/VA, US",
                "A100-80-SXM",
                tier="secure",
            ),
            ("lium", "us-va", "", "6780e503-6861-4dca-bdec-ca9dcf37e8d0", "A100"),
        ),
        (
            machine("vast/m4430-1xRTXA6000/South Korea, KR", "RTXA6000", 1),
            ("vastai", "kr-southkorea", "", "", "A6000"),
        ),
    ],
)
def test_dstack_is_asked_in_its_own_words(offer: Offer, words: tuple[str, ...]) -> None:
    assert _words(offer, Tool.DSTACK) == words


@pytest.mark.parametrize(
    ("offer", "tool", "reason"),
    [
        (
            machine("coreweave/gd-8xh100ib-i128/RNO2A"),
            Tool.SKYPILOT,
            "has no machines of coreweave that we can name",
        ),
        (
            machine("vast/m4401-4xH100-SXM/Vietnam, VN", gpus=4),
            Tool.SKYPILOT,
            "could launch another machine than the H100-SXM",
        ),
        (
            machine("vast/m4401-4xH100-SXM/Vietnam, VN", gpus=4),
            Tool.DSTACK,
            "could launch another machine than the H100-SXM",
        ),
        (
            machine("azure/Standard_ND96isr_MI300X_v5/eastus", "MI300X"),
            Tool.SKYPILOT,
            "has no name for MI300X on azure",
        ),
        (
            machine("lambda/gpu_8x_h100_sxm5/us-east-1", kind=PriceKind.SPOT),
            Tool.DSTACK,
            "does not launch spot machines of lambda",
        ),
        (
            machine("runpod/1x NVIDIA L40S/US", "L40S", 1, tier="community"),
            Tool.SKYPILOT,
            "does not launch the tier community",
        ),
        (
            machine("gcp/a3-highgpu-8g/us-central1", kind=PriceKind.SPOT, tier="flex_start"),
            Tool.SKYPILOT,
            "has no word for the tier flex_start",
        ),
        (
            machine("aws/p5.48xlarge/ap-northeast-1"),
            Tool.DSTACK,
            "does not know ap-northeast-1 of aws",
        ),
        (
            machine(
                "azure/Standard_NC24ads_A100_v4/usgovvirginia",
                "A100-80-PCIe",
                1,
                place=Place(region="usgovvirginia", partition="government"),
            ),
            Tool.SKYPILOT,
            "nothing in the government partition",
        ),
        (machine("lium/x/unknown", "L40S", 1), Tool.DSTACK, "names no region"),
    ],
)
def test_what_a_tool_cannot_launch_as_planned_has_a_reason_instead(
    offer: Offer, tool: Tool, reason: str
) -> None:
    assert reason in _reason(offer, tool)


def test_a_region_beyond_the_catalog_says_what_to_do_first() -> None:
    far = _target(machine("gcp/a3-highgpu-8g/europe-west4"), Tool.SKYPILOT)
    near = _target(machine("gcp/a3-highgpu-8g/us-east4"), Tool.SKYPILOT)
    assert isinstance(far, Target)
    assert isinstance(near, Target)
    assert "fetch_gcp --all-regions" in far.to_do
    assert near.to_do == ""
