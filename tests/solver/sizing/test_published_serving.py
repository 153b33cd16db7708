"""Serving estimates against published measurements: each row a fact with its source.

The tolerance is what the fitted formula reaches on data that it was not fitted to:
half of the times per token within 16 %.
"""

import statistics
from dataclasses import dataclass

import pytest
from sizing_cases import shape_of

from broker.domain.gpu import Precision
from broker.domain.llm import LlmModel
from broker.specs.load import Specs
from solver.sizing.links import serving_link
from solver.sizing.precisions import serving_arithmetic
from solver.sizing.roofline import StepCosts, mean_step_s, step_costs
from solver.sizing.serving_rate import Demand, Limits, Operation, Pessimism, operation


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


def costs_of(
    specs: Specs,
    model: LlmModel,
    gpu_name: str,
    *,
    tensor: int,
    precision: Precision,
    inputs: int,
    outputs: int,
) -> StepCosts:
    gpu = specs.gpu(gpu_name)
    arithmetic = serving_arithmetic(gpu=gpu, precision=precision)
    link = serving_link(shape=shape_of(gpu, max(tensor, 1)), gpu=gpu, gpus=tensor)
    assert arithmetic is not None
    assert link is not None
    return step_costs(
        gpu=gpu,
        model=model,
        arithmetic=arithmetic,
        tensor=tensor,
        link=link,
        input_tokens=inputs,
        output_tokens=outputs,
    )


def pace_error(specs: Specs, pace: Pace) -> float:
    costs = costs_of(
        specs,
        specs.llm(pace.model),
        pace.gpu,
        tensor=pace.tensor,
        precision=pace.precision,
        inputs=pace.inputs,
        outputs=pace.outputs,
    )
    step = mean_step_s(
        costs,
        sequences=pace.clients,
        prompts_per_step=(pace.clients - 1) / pace.outputs,
        input_tokens=pace.inputs,
    )
    return step * 1000 / pace.measured_ms - 1


@pytest.mark.parametrize("pace", PACES, ids=lambda pace: f"{pace.model}-{pace.gpu}-{pace.clients}")
def test_time_per_token_is_within_a_third_of_what_was_measured(specs: Specs, pace: Pace) -> None:
    assert abs(pace_error(specs, pace)) < 0.33


def test_half_of_the_times_per_token_are_within_sixteen_percent(specs: Specs) -> None:
    errors = [abs(pace_error(specs, pace)) for pace in PACES]
    assert statistics.median(errors) < 0.16


def at_rate(demand: Demand, requests_per_s: float) -> Operation:
    """Find the operation that takes a rate of Poisson arrivals, at the median, untested."""
    limits = Limits(ttft_s=60, ttft_share=0.5, tpot_s=60, tpot_share=0.5)
    neutral = Pessimism(ttft_factor=1.0, tpot_factor=1.0)
    low, high = 0.001, 1000.0
    done = operation(demand, mean_sequences=low, limits=limits, pessimism=neutral)
    for _ in range(50):
        middle = (low + high) / 2
        done = operation(demand, mean_sequences=middle, limits=limits, pessimism=neutral)
        if done.requests_per_s < requests_per_s:
            low = middle
        else:
            high = middle
    return done


@pytest.mark.parametrize("seen", ARRIVALS, ids=lambda seen: f"{seen.model}-{seen.requests_per_s:g}")
def test_a_rate_of_arrivals_gives_the_latency_that_was_measured(
    specs: Specs, seen: Arrivals
) -> None:
    """The pace within 20 %, the first token within 50 %."""
    costs = costs_of(
        specs,
        specs.llm(seen.model),
        seen.gpu,
        tensor=1,
        precision=Precision.FP16,
        inputs=seen.inputs,
        outputs=seen.outputs,
    )
    demand = Demand(costs, seen.inputs, seen.outputs, seen.inputs, 1.0, 1e9)
    done = at_rate(demand, seen.requests_per_s)
    assert done.tpot_s * 1000 == pytest.approx(seen.tpot_ms, rel=0.20)
    assert done.ttft_s * 1000 == pytest.approx(seen.ttft_ms, rel=0.50)
