"""What runs on which GPU, and what weights weigh."""

import pytest

from broker.domain.gpu import Precision
from broker.specs.load import Specs
from solver.sizing.precisions import overflows, serving_arithmetic, weight_bytes

GIB = 2.0**30


def test_bf16_runs_as_fp16_where_there_are_no_bf16_units(specs: Specs) -> None:
    found = serving_arithmetic(gpu=specs.gpu("T4"), precision=Precision.BF16)
    assert found is not None
    assert found.precision is Precision.FP16
    assert found.tflops == 65
    assert "runs as FP16" in found.note


@pytest.mark.parametrize(
    ("gpu", "precision"),
    [
        ("A100-80-SXM", Precision.FP8),
        ("H100-SXM", Precision.NVFP4),
        ("T4", Precision.MXFP4),
        ("MI355X", Precision.NVFP4),  # the format is NVIDIA's
        ("Inferentia2", Precision.INT4),
    ],
)
def test_a_gpu_without_the_units_is_refused(specs: Specs, gpu: str, precision: Precision) -> None:
    assert serving_arithmetic(gpu=specs.gpu(gpu), precision=precision) is None


@pytest.mark.parametrize(
    ("model", "gpu", "precision", "expected"),
    [
        ("gemma-3-4b", "T4", Precision.INT4, True),  # computed in 16 bits
        ("gemma-2-9b", "V100-SXM-32", Precision.FP16, True),
        ("gemma-3-4b", "L4", Precision.FP16, True),
        ("gemma-3-4b", "L4", Precision.BF16, False),
        ("gemma-4-31b", "T4", Precision.FP16, False),
        ("llama-3.1-8b", "T4", Precision.FP16, False),
    ],
)
def test_gemma_overflows_in_fp16(
    specs: Specs, *, model: str, gpu: str, precision: Precision, expected: bool
) -> None:
    found = overflows(gpu=specs.gpu(gpu), model=specs.llm(model), precision=precision)
    assert found is expected


def test_the_first_gemma_does_not_overflow(specs: Specs) -> None:
    first = specs.llm("gemma-2-9b").model_copy(update={"name": "gemma-2b", "hf_id": ""})
    assert not overflows(gpu=specs.gpu("T4"), model=first, precision=Precision.FP16)


@pytest.mark.parametrize(
    ("gpu", "precision", "tflops"),
    [
        ("H100-SXM", Precision.FP8, 1979),
        ("H100-SXM", Precision.INT8, 1979),
        ("B200", Precision.NVFP4, 9000),
        ("T4", Precision.INT4, 65),  # weight-only: 16-bit compute
        ("H100-SXM", Precision.INT4, 989),
        ("H100-SXM", Precision.MXFP4, 989),  # weight-only, as gpt-oss runs on Hopper
        ("B200", Precision.MXFP4, 4500),  # 8-bit activations
    ],
)
def test_the_peak_is_that_of_the_units_that_compute(
    specs: Specs, gpu: str, precision: Precision, tflops: float
) -> None:
    found = serving_arithmetic(gpu=specs.gpu(gpu), precision=precision)
    assert found is not None
    assert found.tflops == tflops


def test_sixteen_bit_weights_take_two_bytes_each(specs: Specs) -> None:
    weights = weight_bytes(model=specs.llm("llama-3.1-70b"), precision=Precision.BF16)
    assert weights.total == pytest.approx(70.55e9 * 2)
    assert weights.experts == 0


def test_quantized_weights_keep_embedding_and_head_in_sixteen_bits(specs: Specs) -> None:
    # 2 × 128,256 × 8,192 parameters stay; the other 68.45e9 take 1 B
    plain = 2 * 128_256 * 8_192
    expected = (70.55e9 - plain) + 2 * plain
    weights = weight_bytes(model=specs.llm("llama-3.1-70b"), precision=Precision.FP8)
    assert weights.total == pytest.approx(expected)


def test_int4_takes_its_scales_along(specs: Specs) -> None:
    plain = 2 * 32_000 * 4_096
    expected = (6.74e9 - plain) * 4.25 / 8 + 2 * plain
    weights = weight_bytes(model=specs.llm("llama-2-7b"), precision=Precision.INT4)
    assert weights.total == pytest.approx(expected)


def test_nvfp4_of_a_sparse_model_keeps_the_rest_in_eight_bits(specs: Specs) -> None:
    weights = weight_bytes(model=specs.llm("deepseek-v3"), precision=Precision.NVFP4)
    assert weights.experts == pytest.approx(653.93e9 * 4.5 / 8, rel=0.001)
    plain = 2 * 129_280 * 7_168
    rest = 671.03e9 - 653.93e9 - plain
    assert weights.others == pytest.approx(rest + 2 * plain, rel=0.001)


@pytest.mark.parametrize(
    ("name", "gpus", "precision", "measured_gib"),
    [
        # vLLM 0.11 start logs, llm-d-incubation/llm-d-planner docs/empirical-vllm-memory-results.md
        ("gpt-oss-20b", 1, Precision.MXFP4, 13.47),
        ("gpt-oss-120b", 1, Precision.MXFP4, 64.38),
        ("qwen3-32b", 1, Precision.BF16, 61.03),
        ("qwen3-32b", 2, Precision.BF16, 30.59),
        # vLLM issue 10517, Llama-3.1-8B on an RTX 3090
        ("llama-3.1-8b", 1, Precision.BF16, 14.9888),
    ],
)
def test_weights_agree_with_start_logs(
    specs: Specs, *, name: str, gpus: int, precision: Precision, measured_gib: float
) -> None:
    weights = weight_bytes(model=specs.llm(name), precision=precision)
    assert weights.total / gpus / GIB == pytest.approx(measured_gib, rel=0.005)
