"""The GPU table: dense rates, memory as drivers report it, links of one direction."""

import pytest

from broker.domain.errors import ConfigurationError
from broker.specs.load import Specs

# name: BF16 (FP16 before Ampere), FP8, INT8, FP4, all dense
DENSE_TFLOPS: dict[str, tuple[float | None, float | None, float | None, float | None]] = {
    "T4": (65, None, 130, None),
    "V100-SXM-32": (125, None, None, None),
    "A10": (125, None, 250, None),
    "A10G": (70, None, 140, None),
    "A30": (165, None, 330, None),
    "A40": (149.7, None, 299.3, None),
    "A100-40-SXM": (312, None, 624, None),
    "A100-80-PCIe": (312, None, 624, None),
    "L4": (121, 242, 242, None),
    "L40": (181, 362, 362, None),
    "L40S": (362, 733, 733, None),
    "RTXA6000": (154.8, None, 309.7, None),
    "RTX6000Ada": (364.2, 728.5, 728.5, None),
    "RTX4090": (165.2, 330.3, 660.6, None),
    "RTX5090": (209.5, 419, 838, 1676),
    "RTXPRO6000": (500, 1000, 1000, 2000),
    "H100-SXM": (989, 1979, 1979, None),
    "H100-PCIe": (756, 1513, 1513, None),
    "H100-NVL": (835.5, 1670.5, 1670.5, None),
    "H20": (148, 296, 296, None),
    "H200-SXM": (989, 1979, 1979, None),
    "B200": (2250, 4500, 4500, 9000),
    "B300": (2250, 4500, 153.5, 13500),
    "GB200": (2500, 5000, 5000, 10000),
    "MI300X": (1307.4, 2614.9, 2614.9, None),
    "MI355X": (2516, 5033, 5033, 10066),
    "Gaudi2": (432, 865, None, None),
    "TPUv6e": (918, 918, 1836, None),
    "Trainium2": (667, 1299, None, None),
}


@pytest.mark.parametrize("name", DENSE_TFLOPS)
def test_rates_are_the_dense_ones_of_the_datasheet(specs: Specs, name: str) -> None:
    gpu = specs.gpu(name)
    found = (gpu.bf16_tflops, gpu.fp8_tflops, gpu.int8_tflops, gpu.fp4_tflops)
    assert found == DENSE_TFLOPS[name]


def test_no_rate_is_a_sparse_one_beside_dense_ones(specs: Specs) -> None:
    """Each narrower format at most doubles the rate; a sparse figure would quadruple it."""
    for gpu in specs.gpus.values():
        if gpu.bf16_tflops and gpu.fp8_tflops:
            assert gpu.fp8_tflops <= 2.05 * gpu.bf16_tflops, gpu.name
        graphics = gpu.name.startswith(("RTX", "L4", "L2", "A10G", "A40")) and gpu.has_bf16
        if graphics and gpu.bf16_tflops and gpu.fp32_tflops:  # sparse would be 8 × FP32
            assert gpu.bf16_tflops <= 4.2 * gpu.fp32_tflops, gpu.name
        if gpu.fp8_tflops and gpu.fp4_tflops:  # B300 triples FP4; GeForce halves the wider ones
            most = 4.05 if gpu.name.startswith("RTX50") else 3.0
            assert gpu.fp4_tflops <= most * gpu.fp8_tflops, gpu.name
        if gpu.bf16_tflops and gpu.int8_tflops:  # GeForce halves BF16 with FP32 accumulate
            assert gpu.int8_tflops <= 4.05 * gpu.bf16_tflops, gpu.name


def test_usable_memory_is_not_above_the_printed_figure(specs: Specs) -> None:
    for gpu in specs.gpus.values():  # B300 drivers show 268.6 where 268 is printed
        assert 0.9 * gpu.memory_gb <= gpu.memory_gib <= 1.005 * gpu.memory_gb, gpu.name


@pytest.mark.parametrize(
    ("name", "gib"),
    [
        ("H100-SXM", 79.65),  # 81559 MiB
        ("H200-SXM", 140.40),  # 143771 MiB
        ("B200", 179.07),  # 183359 MiB
        ("L4", 22.5),  # 23040 MiB: ECC takes a part of GDDR6
        ("L40S", 44.99),
        ("T4", 15.0),
        ("A100-80-SXM", 79.57),  # 80 × 1.068e9 bytes; nvidia-smi prints a round 81920 MiB
        ("MI300X", 190.97),
        ("GH200-144", 140.40),
        ("RTXPRO6000", 95.59),
    ],
)
def test_memory_is_what_drivers_report(specs: Specs, name: str, gib: float) -> None:
    assert specs.gpu(name).memory_gib == pytest.approx(gib, abs=0.01)


@pytest.mark.parametrize(
    ("name", "gb_per_s"),
    [
        ("A100-80-SXM", 300),
        ("H100-SXM", 450),
        ("B200", 900),
        ("GB300", 900),
        ("MI300X", 448),
        ("A800-80-SXM", 200),
        ("L40S", 0),
        ("RTX4090", 0),
        ("H100-PCIe", 300),
        ("GH200-96", None),
    ],
)
def test_the_link_is_of_one_direction(specs: Specs, name: str, gb_per_s: float | None) -> None:
    assert specs.gpu(name).link_gb_per_s == gb_per_s


def test_gpus_before_ampere_have_no_bf16(specs: Specs) -> None:
    old = {gpu.architecture for gpu in specs.gpus.values() if not gpu.has_bf16}
    assert old == {"Kepler", "Maxwell", "Pascal", "Volta", "Turing", "Vega", "RDNA", "RDNA2"}
    assert specs.gpu("A100-40-SXM").has_bf16


def test_bandwidth_is_in_gb_per_s(specs: Specs) -> None:
    assert specs.gpu("H100-SXM").memory_gb_per_s == 3350
    assert specs.gpu("H100-PCIe").memory_gb_per_s == 2000
    assert specs.gpu("RTXPRO4500-SE").memory_gb_per_s == 800
    for gpu in specs.gpus.values():
        assert 40 <= gpu.memory_gb_per_s <= 10_000, gpu.name


def test_a_gpu_is_found_in_any_case(specs: Specs) -> None:
    assert specs.gpu("h100-sxm").name == "H100-SXM"


def test_an_unknown_gpu_hints_at_the_nearest_names(specs: Specs) -> None:
    with pytest.raises(ConfigurationError, match="unknown GPU 'H100'") as caught:
        specs.gpu("H100")
    assert caught.value.hint == "did you mean one of: H100-PCIe, H100-SXM, H100-NVL?"
    assert caught.value.exit_code == 2
