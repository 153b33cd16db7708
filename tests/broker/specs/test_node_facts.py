"""Known instance types, and the hardware that is put together from them."""

from fractions import Fraction

import pytest

from broker.domain.offer import Fabric, Link, Virtualization
from broker.specs.load import Specs

# provider, type: gpu, count, link, fabric, Gbit/s a node
KNOWN: list[tuple[str, str, str, str, str, str, float | None]] = [
    ("aws", "p4d.24xlarge", "A100-40-SXM", "8", "nvswitch", "efa", 400),
    ("aws", "p4de.24xlarge", "A100-80-SXM", "8", "nvswitch", "efa", 400),
    ("aws", "p5.48xlarge", "H100-SXM", "8", "nvswitch", "efa", 3200),
    ("aws", "p5.4xlarge", "H100-SXM", "1", "single", "efa", 100),
    ("aws", "p5en.48xlarge", "H200-SXM", "8", "nvswitch", "efa", 3200),
    ("aws", "p6-b200.48xlarge", "B200", "8", "nvswitch", "efa", 3200),
    ("aws", "p6-b300.48xlarge", "B300", "8", "nvswitch", "efa", 6400),
    ("aws", "g6e.48xlarge", "L40S", "8", "pcie", "efa", 400),
    ("aws", "g5.12xlarge", "A10G", "4", "pcie", "efa", 40),
    ("aws", "g6f.2xlarge", "L4", "1/4", "single", "ethernet", 5),
    ("azure", "Standard_ND96isr_H100_v5", "H100-SXM", "8", "nvswitch", "infiniband", 3200),
    ("azure", "Standard_ND96is_noIB_H100_v5", "H100-SXM", "8", "nvswitch", "ethernet", 80),
    ("azure", "Standard_ND96amsr_A100_v4", "A100-80-SXM", "8", "nvswitch", "infiniband", 1600),
    ("azure", "Standard_NC80adis_H100_v5", "H100-NVL", "2", "pcie", "ethernet", 80),
    ("azure", "Standard_NCC40ads_H100_v5", "H100-NVL", "1", "single", "ethernet", 40),
    ("azure", "Standard_ND96asr_v4", "A100-40-SXM", "8", "nvswitch", "infiniband", 1600),
    ("azure", "Standard_ND96isr_H200_v5", "H200-SXM", "8", "nvswitch", "infiniband", 3200),
    ("azure", "Standard_ND96isr_MI300X_v5", "MI300X", "8", "xgmi", "infiniband", 3200),
    ("azure", "Standard_NV6ads_A10_v5", "A10", "1/6", "single", "ethernet", 5),
    ("azure", "Standard_NV72ads_A10_v5", "A10", "2", "pcie", "ethernet", 80),
    ("azure", "Standard_NC288ds_xl_RTXPRO6000BSE_v6", "RTXPRO6000", "2", "pcie", "ethernet", 180),
    ("azure", "Standard_ND128isr_NDR_GB200_v6", "GB200", "4", "nvswitch", "infiniband", 1600),
    ("gcp", "a2-megagpu-16g", "A100-40-SXM", "16", "nvswitch", "ethernet", 100),
    ("gcp", "a3-megagpu-8g", "H100-SXM", "8", "nvswitch", "ethernet", 1600),
    ("gcp", "a3-ultragpu-8g", "H200-SXM", "8", "nvswitch", "roce", 3200),
    ("gcp", "g4-standard-6", "RTXPRO6000", "1/8", "single", "ethernet", None),
    ("lambda", "gpu_1x_a100", "A100-40-PCIe", "1", "single", "ethernet", None),
    ("lambda", "gpu_8x_a100", "A100-40-SXM", "8", "nvswitch", "ethernet", None),
    ("lambda", "gpu_8x_h100_sxm5", "H100-SXM", "8", "nvswitch", "ethernet", None),
    ("lambda", "gpu_8x_b200_sxm6", "B200", "8", "nvswitch", "ethernet", None),
    ("aws", "trn1.32xlarge", "Trainium1", "16", "unknown", "efa", 800),
    ("aws", "inf2.48xlarge", "Inferentia2", "12", "unknown", "ethernet", 100),
    ("aws", "dl1.24xlarge", "Gaudi1", "8", "unknown", "unknown", None),
    ("oci", "BM.GPU.H100.8", "H100-SXM", "8", "nvswitch", "roce", 3200),
    ("crusoe", "h100-80gb-sxm-ib.8x", "H100-SXM", "8", "nvswitch", "infiniband", None),
    ("hyperstack", "n3-H100x8", "H100-PCIe", "8", "pcie", "unknown", None),
    ("hyperstack", "n3-H100x8-NVLink", "H100-PCIe", "8", "nvlink_bridge", "unknown", None),
    ("vultr", "vbm-64c-2048gb-8-l40-gpu", "L40S", "8", "pcie", "unknown", None),
]


@pytest.mark.parametrize(("provider", "kind", "gpu", "count", "link", "fabric", "gbit"), KNOWN)
def test_a_type_is_known_by_its_hardware(
    *,
    specs: Specs,
    provider: str,
    kind: str,
    gpu: str,
    count: str,
    link: str,
    fabric: str,
    gbit: float | None,
) -> None:
    facts = specs.node(provider, kind)
    assert facts is not None
    found = (facts.gpu, facts.gpu_count, facts.link, facts.fabric, facts.fabric_gbit_per_s)
    assert found == (gpu, Fraction(count), Link(link), Fabric(fabric), gbit)


def test_types_are_found_as_price_pages_write_them(specs: Specs) -> None:
    full = specs.node("azure", "Standard_NC24ads_A100_v4")
    assert full is not None
    assert specs.node("azure", "NC24ads A100 v4") == full
    assert specs.node("azure", "standard_nc24ads_a100_v4") == full
    assert specs.node("aws-sagemaker", "ml.p5.48xlarge") == specs.node("aws", "p5.48xlarge")
    assert specs.node("datacrunch", "1H100.80S.30V") == specs.node("verda", "1H100.80S.30V")


def test_a_type_of_another_provider_is_not_known(specs: Specs) -> None:
    assert specs.node("gcp", "p5.48xlarge") is None
    assert specs.node("aws", "") is None


def test_every_node_has_a_gpu_of_the_table_and_a_link_that_fits_its_count(specs: Specs) -> None:
    for facts in specs.nodes.values():
        gpu = specs.gpus[facts.gpu]
        assert (facts.link is Link.SINGLE) == (facts.gpu_count <= 1), facts.instance_type
        if facts.gpu_count < 1:
            assert facts.gpu_memory_gib, facts.instance_type
        if facts.gpu_memory_gib:
            assert facts.gpu_memory_gib <= gpu.memory_gib, facts.instance_type
        if facts.link is Link.NVSWITCH:
            assert gpu.form in {"SXM", "NVL72"}, facts.instance_type
        if facts.fabric_gbit_per_s is not None:
            assert facts.fabric is not Fabric.UNKNOWN, facts.instance_type


def test_grace_hosts_are_arm(specs: Specs) -> None:
    for facts in specs.nodes.values():
        grace = facts.gpu in {"GB200", "GB300", "GH200-96", "T4G"}
        assert (facts.cpu_architecture == "arm64") == grace, facts.instance_type


def test_hardware_joins_the_gpu_and_the_type(specs: Specs) -> None:
    hardware = specs.hardware("aws", "p5.48xlarge", gpu="H100-SXM", gpu_count=Fraction(8))
    shape = hardware.shape
    assert (shape.link, shape.link_gb_per_s, shape.link_domain_gpus) == (Link.NVSWITCH, 450, 8)
    assert (shape.fabric, shape.fabric_gbit_per_s) == (Fabric.EFA, 3200)
    assert (hardware.vcpus, hardware.host_memory_gib) == (192, 2048)
    assert hardware.virtualization is Virtualization.VM
    assert hardware.gpu_memory_gib == pytest.approx(79.65)


def test_what_the_reply_says_of_the_host_wins_over_the_type(specs: Specs) -> None:
    hardware = specs.hardware(
        "aws",
        "p5.48xlarge",
        gpu="H100-SXM",
        gpu_count=Fraction(8),
        vcpus=96.0,
        virtualization=Virtualization.BARE_METAL,
    )
    assert (hardware.vcpus, hardware.host_memory_gib) == (96, 2048)
    assert hardware.virtualization is Virtualization.BARE_METAL


def test_the_fabric_of_an_unknown_type_is_unknown(specs: Specs) -> None:
    hardware = specs.hardware("vast", "m:1", gpu="H100-SXM", gpu_count=Fraction(8))
    assert hardware.shape.fabric is Fabric.UNKNOWN
    assert hardware.shape.fabric_gbit_per_s is None
    assert hardware.virtualization is Virtualization.UNKNOWN
    assert hardware.cpu_architecture is None


@pytest.mark.parametrize(
    ("gpu", "count", "link", "gb_per_s", "domain"),
    [
        ("H100-SXM", 4, Link.NVSWITCH, 450, 4),
        ("MI300X", 8, Link.XGMI, 448, 8),
        ("MI300X", 4, Link.XGMI, 192, 4),  # three of the seven links of 64 GB/s
        ("MI300X", 2, Link.XGMI, 64, 2),  # one of them
        ("L40S", 4, Link.PCIE, None, None),
        ("H100-NVL", 2, Link.PCIE, None, None),
        ("V100-SXM-16", 8, Link.NVLINK_BRIDGE, 150, 8),
        ("V100-SXM-16", 2, Link.PCIE, None, None),  # of a cube mesh: perhaps no link
        ("GB200", 4, Link.NVSWITCH, 900, 72),
        ("H100-SXM", 1, Link.SINGLE, None, 1),
        ("GH200-96", 2, Link.UNKNOWN, None, None),
        ("Gaudi2", 8, Link.UNKNOWN, None, None),
        ("TPUv5e", 4, Link.UNKNOWN, None, None),
    ],
)
def test_the_form_gives_the_link_where_the_type_is_unknown(
    *,
    specs: Specs,
    gpu: str,
    count: int,
    link: Link,
    gb_per_s: float | None,
    domain: int | None,
) -> None:
    shape = specs.hardware("nowhere", "x", gpu=gpu, gpu_count=Fraction(count)).shape
    assert (shape.link, shape.link_gb_per_s, shape.link_domain_gpus) == (link, gb_per_s, domain)


def test_a_bridge_joins_two_pcie_cards(specs: Specs) -> None:
    bridged = specs.hardware(
        "hyperstack", "n3-A100x8-NVLink", gpu="A100-80-PCIe", gpu_count=Fraction(8)
    )
    assert bridged.shape.link is Link.NVLINK_BRIDGE
    assert (bridged.shape.link_gb_per_s, bridged.shape.link_domain_gpus) == (300, 2)


def test_a_slice_of_a_gpu_has_its_own_memory(specs: Specs) -> None:
    sixth = specs.hardware("azure", "Standard_NV6ads_A10_v5", gpu="A10", gpu_count=Fraction(1, 6))
    assert sixth.gpu_memory_gib == 4
    assert sixth.shape.link is Link.SINGLE
    half = specs.hardware("nowhere", "x", gpu="A10", gpu_count=Fraction(1, 2))
    assert half.gpu_memory_gib == pytest.approx(22.49 / 2)
