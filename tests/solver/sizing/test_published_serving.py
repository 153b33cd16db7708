"""Serving estimates against published measurements: each row a fact with its source.

The tolerance is what the fitted formula reaches on data that it was not fitted to (docs/accuracy.md
has all of it): half of the times per token within 16 %.
"""

import statistics
from dataclasses import dataclass

import pytest
from sizing_cases import shape_of

from broker.domain.gpu import Precision
from broker.specs.load import Specs
from solver.sizing.engines import Engine, Release
from solver.sizing.links import serving_link
from solver.sizing.precisions import serving_arithmetic
from solver.sizing.serving_estimate import Regime, at_rate, serving_estimate
from solver.sizing.serving_facts import Replica, Split


@dataclass(frozen=True)
class Pace:
    """A measured time per output token of vLLM with a fixed number of clients."""

    model: str
    gpu: str
    tensor: int
    precision: Precision
    inputs: int
    outputs: int
    clients: int
    measured_ms: float
    source: str


AIC = "ai-dynamo/aiconfigurator @095f58a silicon sample"
PACES = (
    Pace("qwen3-32b", "H100-SXM", 2, Precision.BF16, 1024, 1024, 8, 15.9005, AIC),
    Pace("qwen3-32b", "H100-SXM", 2, Precision.BF16, 4096, 1024, 32, 29.3267, AIC),
    Pace("qwen3-32b", "H100-SXM", 4, Precision.BF16, 1024, 1024, 32, 13.6851, AIC),
    Pace("qwen3-32b", "H100-SXM", 8, Precision.BF16, 4096, 1024, 8, 8.56695, AIC),
    Pace("kimi-k2.5", "B200", 4, Precision.NVFP4, 8192, 1024, 32, 21.0327, AIC),
    Pace("kimi-k2.5", "B300", 4, Precision.NVFP4, 8192, 1024, 8, 11.1322, AIC),
    Pace("gpt-oss-120b", "H200-SXM", 1, Precision.MXFP4, 1024, 1024, 32, 17.6376, AIC),
    Pace("gpt-oss-120b", "H200-SXM", 1, Precision.MXFP4, 1024, 8192, 8, 8.67448, AIC),
    Pace("gpt-oss-120b", "H200-SXM", 8, Precision.MXFP4, 8192, 1024, 32, 7.54112, AIC),
)


@dataclass(frozen=True)
class Arrivals:
    """Measured median times of vLLM on one GPU under Poisson arrivals.

    IOG-Foundation/llm-inference-benchmarks @4990a80, vLLM 0.8.5, ShareGPT mean lengths.
    """

    model: str
    gpu: str
    inputs: int
    outputs: int
    requests_per_s: float
    tpot_ms: float
    ttft_ms: float


ARRIVALS = (
    Arrivals("qwen2.5-14b", "H100-PCIe", 208, 209, 1.0, 19.5843, 35.0494),
    Arrivals("qwen2.5-32b", "H100-PCIe", 208, 211, 1.0, 41.3187, 82.2891),
    Arrivals("qwen2.5-7b", "H100-PCIe", 208, 218, 1.0, 10.1099, 20.1702),
    Arrivals("qwen2.5-7b", "H100-PCIe", 208, 217, 8.0, 10.9567, 22.3597),
    Arrivals("phi-4", "H100-PCIe", 203, 118, 1.0, 18.4231, 32.9136),
    Arrivals("llama-3-8b", "RTX4090", 206, 202, 1.0, 19.4518, 43.5007),
)


def replica_of(
    specs: Specs, model: str, gpu_name: str, precision: Precision, *, tensor: int, year: float
) -> Replica:
    gpu = specs.gpu(gpu_name)
    arithmetic = serving_arithmetic(gpu=gpu, precision=precision)
    link = serving_link(shape=shape_of(gpu, tensor), gpu=gpu, gpus=tensor)
    assert arithmetic is not None
    assert link is not None
    release = Release(Engine.VLLM, year)
    return Replica(gpu, specs.llm(model), arithmetic, Split(tensor=tensor), link, release)


def pace_error(specs: Specs, pace: Pace) -> float:
    replica = replica_of(
        specs, pace.model, pace.gpu, pace.precision, tensor=pace.tensor, year=2026.1
    )
    found = serving_estimate(
        replica,
        input_tokens=pace.inputs,
        output_tokens=pace.outputs,
        clients=pace.clients,
    )
    return found.tpot_s * 1000 / pace.measured_ms - 1


@pytest.mark.parametrize("pace", PACES, ids=lambda pace: f"{pace.model}-{pace.gpu}-{pace.clients}")
def test_time_per_token_is_within_a_third_of_what_was_measured(specs: Specs, pace: Pace) -> None:
    assert abs(pace_error(specs, pace)) < 0.33


def test_half_of_the_times_per_token_are_within_sixteen_percent(specs: Specs) -> None:
    errors = [abs(pace_error(specs, pace)) for pace in PACES]
    assert statistics.median(errors) < 0.16


@pytest.mark.parametrize("seen", ARRIVALS, ids=lambda seen: f"{seen.model}-{seen.requests_per_s:g}")
def test_a_rate_of_arrivals_gives_the_latency_that_was_measured(
    specs: Specs, seen: Arrivals
) -> None:
    """The pace within 25 %, the first token within 50 %."""
    replica = replica_of(specs, seen.model, seen.gpu, Precision.FP16, tensor=1, year=2025.2)
    found = at_rate(
        replica,
        input_tokens=seen.inputs,
        output_tokens=seen.outputs,
        requests_per_s=seen.requests_per_s,
    )
    assert found is not None
    assert found.tpot_s * 1000 == pytest.approx(seen.tpot_ms, rel=0.25)
    assert found.ttft_s * 1000 == pytest.approx(seen.ttft_ms, rel=0.50)


def test_a_rate_that_a_replica_cannot_keep_up_with_has_no_estimate(specs: Specs) -> None:
    replica = replica_of(specs, "qwen2.5-32b", "H100-PCIe", Precision.FP16, tensor=1, year=2025.2)
    assert at_rate(replica, input_tokens=208, output_tokens=211, requests_per_s=100) is None


def test_what_does_not_fit_in_memory_waits(specs: Specs) -> None:
    replica = replica_of(specs, "qwen3-32b", "H100-SXM", Precision.BF16, tensor=2, year=2025.9)
    few, many = (
        serving_estimate(replica, input_tokens=4096, output_tokens=512, clients=clients)
        for clients in (16, 512)
    )
    assert not few.waits
    assert many.waits
    assert many.sequences < 512
    # those beyond wait for whole answers of those inside
    assert many.ttft_s > 512 * many.tpot_s


def test_a_static_batch_prefills_and_then_decodes(specs: Specs) -> None:
    replica = replica_of(specs, "llama-2-7b", "A100-80-SXM", Precision.FP16, tensor=1, year=2024.3)
    found = serving_estimate(
        replica, input_tokens=512, output_tokens=128, clients=8, regime=Regime.STATIC
    )
    whole_s = found.ttft_s + 127 * found.tpot_s
    assert found.tokens_per_s == pytest.approx(8 * 128 / whole_s)
