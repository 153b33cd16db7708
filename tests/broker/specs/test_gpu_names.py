"""Spellings of GPUs, with the traps that price lists and APIs are known for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.specs.load import Specs, Unresolved, load_specs

TABLES = load_specs()
REASONS = {"unknown_gpu", "ambiguous_gpu", "mig_slice", "not_a_gpu"}

RESOLVED: list[tuple[str, float | None, str, str]] = [
    # one GPU, many names
    ("H100-SXM", None, "", "H100-SXM"),
    ("H100_SXM", None, "", "H100-SXM"),
    ("H100 SXM5", None, "", "H100-SXM"),
    ("NVIDIA HGX H100", None, "coreweave", "H100-SXM"),
    ("NVIDIA H100 80GB HBM3", 80, "runpod", "H100-SXM"),
    ("NVIDIA H100 80GB HGX", 80, "crusoe", "H100-SXM"),
    ("8x H100 SXM5 80GB", 80, "verda", "H100-SXM"),
    ("1xH100_SXM", None, "", "H100-SXM"),
    ("H100-80G-PCIe", 80, "hyperstack", "H100-PCIe"),
    ("H100_PCIE_80GB", None, "fluidstack", "H100-PCIe"),
    ("h100-80gb", 80, "gcp", "H100-SXM"),
    ("h100-80gb-mega", 80, "gcp", "H100-SXM"),
    ("H100-80G-PCIe-NVLink", 80, "hyperstack", "H100-PCIe"),
    # memory decides
    ("H100", 94, "", "H100-NVL"),
    ("H100", 93.58, "azure", "H100-NVL"),
    ("H100", 80, "azure", "H100-SXM"),
    ("A100 SXM4", 40, "vast", "A100-40-SXM"),
    ("A100 SXM4", 80, "vast", "A100-80-SXM"),
    ("A100 PCIE", 40960 / 1024, "vast", "A100-40-PCIe"),
    ("A100 (40 GB) SXM", None, "", "A100-40-SXM"),
    ("NVIDIA A100 80GB PCIe", None, "", "A100-80-PCIe"),
    ("A100_80GB PCIe", 80, "primeintellect", "A100-80-PCIe"),
    ("V100 SXM2 32GB", None, "", "V100-SXM-32"),
    ("GH200", 96, "", "GH200-96"),
    ("RTX3060", 8, "vast", "RTX3060Ti"),
    ("RTX3060", 12, "vast", "RTX3060"),
    ("RTX4060", 15.996094, "vast", "RTX4060Ti-16"),
    ("RTX4070", 15.992188, "vast", "RTX4070TiSuper"),
    ("RTX 6000", 24, "", "QuadroRTX6000"),
    ("RTX PRO 6000 96GB", 0, "seeweb", "RTXPRO6000"),
    # the provider decides
    ("H100", 80, "aws", "H100-SXM"),
    ("a100", 40, "aws", "A100-40-SXM"),
    ("A100", 80, "gcp", "A100-80-SXM"),
    ("nvidia-tesla-a100", None, "gcp", "A100-40-SXM"),
    ("rtx6000", None, "gcp", "RTXPRO6000"),
    ("rtx-pro-server-6000", 96, "aws", "RTXPRO6000"),
    ("RTXPRO6000BSE", None, "azure", "RTXPRO6000"),
    ("RTX 6000", 24, "lambda", "QuadroRTX6000"),
    ("gpu-rtx6000", 96, "nebius", "RTXPRO6000"),
    ("RTX 6000 96GB", None, "gcp", "RTXPRO6000"),
    ("V100-32GB", 32, "ovhcloud", "V100S-PCIe-32"),
    ("NVIDIA H200", 141, "runpod", "H200-SXM"),
    ("H100", 80, "DataCrunch", "H100-SXM"),
    ("H100", None, "do", "H100-SXM"),
    # token boundaries
    ("GB200", 186, "", "GB200"),
    ("B200", 179.06, "aws", "B200"),
    ("A4000", 16, "paperspace", "RTXA4000"),
    ("RTX A4000", 16, "", "RTXA4000"),
    ("A40", 44.99, "vast", "A40"),
    ("L40S", 44.7, "aws", "L40S"),
    ("L40", 48, "", "L40"),
    ("l4", 22.35, "aws", "L4"),
    ("A10g", 24, "", "A10G"),
    ("A6000", 48, "", "RTXA6000"),
    ("RTX 6000 Ada", 48, "runpod", "RTX6000Ada"),
    ("RTX_A6000_ADA_48GB", 48, "fluidstack", "RTX6000Ada"),
    # odd marks
    ("NVIDIA  A30", 24, "runpod", "A30"),
    ("NVIDIA  RTX A4500", 20, "runpod", "RTXA4500"),
    ("NVIDIA GeForce RTX 3080TI", 12, "runpod", "RTX3080Ti"),
    ("T4 16GB", 16, "azure", "T4"),
    ("NVIDIA L40", 48, "", "L40"),
    ("Radeon MI25", None, "azure", "MI25"),
    ("GAUDI2", 96, "shadeform", "Gaudi2"),
    ("AMD Instinct MI300X OAM", 192, "runpod", "MI300X"),
    ("MI355X_288GB", 288, "crusoe", "MI355X"),
    ("MI300X-192GB", None, "crusoe", "MI300X"),
    # one memory, many figures
    ("B300", 262, "verda", "B300"),
    ("B300", 288, "runpod", "B300"),
    ("B200", 192, "vultr", "B200"),
    ("GB300", 288, "verda", "GB300"),
    ("RTX PRO 6000 WK", 96, "runpod", "RTXPRO6000-WS"),
    ("RTX PRO 6000 MaxQ", 96, "runpod", "RTXPRO6000-MaxQ"),
]

UNRESOLVED: list[tuple[str, float | None, str, str]] = [
    ("H100", None, "", "ambiguous_gpu"),
    ("H100", 80, "", "ambiguous_gpu"),
    ("H100", None, "azure", "ambiguous_gpu"),
    ("A100", None, "", "ambiguous_gpu"),
    ("A100-80GB", 80, "", "ambiguous_gpu"),
    ("A100", None, "aws", "ambiguous_gpu"),
    ("NVIDIA_A100", 80, "vultr", "ambiguous_gpu"),
    ("H200", 141, "", "ambiguous_gpu"),
    ("V100", 16, "", "ambiguous_gpu"),
    ("A100 NVLink", 80, "", "ambiguous_gpu"),
    ("RTX 6000", 48, "", "ambiguous_gpu"),
    ("RTX 4060 Ti", None, "", "ambiguous_gpu"),
    ("RTX PRO 6000", 96, "vast", "ambiguous_gpu"),
    # memory contradicts the name
    ("RTX 4090", 49140 / 1024, "vast", "unknown_gpu"),
    ("A40", 16, "runpod", "unknown_gpu"),
    ("A100 (80 GB)", 40, "", "unknown_gpu"),
    ("RTX 6000 Pro (Blackwell)", 24, "runpod", "unknown_gpu"),
    ("B300 180GB", None, "akash", "unknown_gpu"),
    # slices are not the card
    ("NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 1g.24gb", 24, "runpod", "mig_slice"),
    ("PRO 6000 MIG 24GB", 24, "runpod", "mig_slice"),
    ("B300 MIG 2g.72gb", None, "", "mig_slice"),
    ("A100 3g.20gb", 20, "", "mig_slice"),
    ("vcg-a100-1c-6g-4vram", 4, "vultr", "mig_slice"),
    # no GPU, or none that is known
    ("CPU_NODE", None, "primeintellect", "not_a_gpu"),
    ("cpu_mini", None, "shadeform", "not_a_gpu"),
    ("", None, "", "unknown_gpu"),
    ("NVIDIA", None, "", "unknown_gpu"),
    ("qualcomm-ai100", 16, "aws", "unknown_gpu"),
    ("RTX 4090 (48 GB mod)", 48, "gpuhub", "unknown_gpu"),
    ("A100X", 80, "vast", "unknown_gpu"),
    ("H1000", None, "", "unknown_gpu"),
    ("XH100 SXM", None, "", "unknown_gpu"),
]


@pytest.mark.parametrize(("spelling", "memory_gib", "provider", "gpu"), RESOLVED)
def test_a_spelling_leads_to_its_model(
    *, specs: Specs, spelling: str, memory_gib: float | None, provider: str, gpu: str
) -> None:
    assert specs.resolve_gpu(spelling, memory_gib=memory_gib, provider=provider) == gpu


@pytest.mark.parametrize(("spelling", "memory_gib", "provider", "reason"), UNRESOLVED)
def test_what_is_not_certain_is_reported_and_not_guessed(
    *, specs: Specs, spelling: str, memory_gib: float | None, provider: str, reason: str
) -> None:
    found = specs.resolve_gpu(spelling, memory_gib=memory_gib, provider=provider)
    assert isinstance(found, Unresolved)
    assert found.reason == reason
    assert repr(spelling) in found.detail


def test_an_ambiguous_name_tells_its_candidates(specs: Specs) -> None:
    found = specs.resolve_gpu("A100", memory_gib=80)
    assert isinstance(found, Unresolved)
    assert found.detail == "'A100' may be A100-80-PCIe, A100-80-SXM"


def test_every_canonical_name_resolves_to_itself(specs: Specs) -> None:
    for name, gpu in specs.gpus.items():
        assert specs.resolve_gpu(name) == name
        assert specs.resolve_gpu(name.lower(), memory_gib=gpu.memory_gib) == name
        assert specs.resolve_gpu(name.replace("-", "_"), memory_gib=gpu.memory_gb) == name


def test_aliases_mean_models_of_the_table_or_no_whole_gpu(specs: Specs) -> None:
    for (provider, key), meant in specs.names.aliases.items():
        assert key, provider
        assert set(meant) <= specs.gpus.keys() or meant[0] in {"mig_slice", "not_a_gpu"}


FRAGMENTS = [
    "nvidia",
    "amd",
    "h100",
    "a100",
    "gb200",
    "sxm",
    "pcie",
    "80gb",
    "(40 GB)",
    "nvlink",
    "rtx",
    "6000",
    "ada",
    "pro",
    "mig",
    "1g.5gb",
    "x8",
    "-",
    "_",
]


@given(
    spelling=st.one_of(
        st.text(max_size=40),
        st.lists(st.sampled_from(FRAGMENTS), max_size=5).map(" ".join),
        st.sampled_from(sorted(TABLES.gpus)).map(lambda name: f"NVIDIA {name} 80GB"),
    ),
    memory_gib=st.none() | st.floats(min_value=0, max_value=400),
    provider=st.sampled_from(["", "aws", "azure", "gcp", "vast", "runpod", "no such cloud"]),
)
def test_no_spelling_leads_to_a_model_outside_the_table(
    spelling: str, memory_gib: float | None, provider: str
) -> None:
    found = TABLES.resolve_gpu(spelling, memory_gib=memory_gib, provider=provider)
    if isinstance(found, Unresolved):
        assert found.reason in REASONS
        assert found.detail
    else:
        assert found in TABLES.gpus
        gpu = TABLES.gpus[found]
        assert not memory_gib or 0.9 * gpu.memory_gib <= memory_gib <= 1.1 * gpu.memory_gb
