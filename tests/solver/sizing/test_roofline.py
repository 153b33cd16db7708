"""The serving step, part by part, worked by hand."""

import pytest
from sizing_cases import shape_of

from broker.domain.gpu import Precision
from broker.specs.load import Specs
from solver.sizing.links import ALONE, PCIE, Interconnect, serving_link
from solver.sizing.precisions import serving_arithmetic
from solver.sizing.roofline import (
    StepCosts,
    compute_share,
    host_s,
    mean_step_s,
    reduce_token_s,
    step_costs,
    step_s,
    touched_share,
)

PLAIN = StepCosts(
    experts_s=0.0,
    others_s=0.010,
    expert_share_per_token=1.0,
    sequence_memory_s=0.0001,
    sequence_compute_s=0.0002,
    prompt_token_s=0.00001,
    host_s=0.002,
    reduce_s=0.001,
    reduce_token_s=0.000005,
)


def test_a_step_adds_its_parts() -> None:
    # memory 10 + 8 × 0.1 = 10.8 ms; compute 8 × 0.2 + 100 × 0.01 = 2.6 ms; host 2 ms;
    # all-reduce 1 + 108 × 0.005 = 1.54 ms; sequences 8 × 0.0106 = 0.0848 ms
    expected_ms = 10.8 + 2.6 + 2 + 1.54 + 0.0848
    assert step_s(PLAIN, sequences=8, prompt_tokens=100) * 1000 == pytest.approx(expected_ms)


def test_one_token_touches_its_own_experts_and_many_touch_all() -> None:
    share = 8 / 256
    assert touched_share(expert_share_per_token=share, sequences=1) == pytest.approx(share)
    # two tokens: 1 − (1 − 1/32)² = 0.0615
    assert touched_share(expert_share_per_token=share, sequences=2) == pytest.approx(
        0.0615, rel=1e-2
    )
    assert touched_share(expert_share_per_token=share, sequences=1000) == pytest.approx(1)


def test_a_dense_model_reads_all_its_weights() -> None:
    assert touched_share(expert_share_per_token=1.0, sequences=1) == 1


def test_experts_and_four_bit_floats_reach_less_of_the_peak(specs: Specs) -> None:
    dense, sparse = specs.llm("llama-3.1-70b"), specs.llm("deepseek-v3")
    assert compute_share(0.74, model=dense, precision=Precision.FP8) == 0.74
    assert compute_share(0.74, model=sparse, precision=Precision.FP8) == pytest.approx(0.555)
    # 0.74 × 0.75 × 0.55
    expected = pytest.approx(0.30525)
    assert compute_share(0.74, model=sparse, precision=Precision.NVFP4) == expected


def test_host_time_grows_with_layers() -> None:
    assert host_s(layers=80) == pytest.approx(0.0008 + 80 * 40e-6)


def test_an_all_reduce_sends_four_bytes_a_value_but_for_its_own_share() -> None:
    # 2 × 80 layers × 4 B × 8192 × 3/4 ÷ 100 GB/s = 39.3 µs
    link = Interconnect(latency_s=0, gb_per_s=100)
    seconds = reduce_token_s(layers=80, hidden=8192, tensor=4, link=link)
    assert seconds == pytest.approx(2 * 80 * 4 * 8192 * 0.75 / 100e9)
    assert reduce_token_s(layers=80, hidden=8192, tensor=1, link=ALONE) == 0


def test_costs_follow_from_datasheet_and_model(specs: Specs) -> None:
    gpu, model = specs.gpu("H100-SXM"), specs.llm("llama-2-7b")
    arithmetic = serving_arithmetic(gpu=gpu, precision=Precision.BF16)
    assert arithmetic is not None
    costs = step_costs(
        gpu=gpu,
        model=model,
        arithmetic=arithmetic,
        tensor=1,
        link=ALONE,
        input_tokens=1000,
        output_tokens=200,
    )
    # 13.48 GB at 0.86 × 3,350 GB/s
    assert costs.others_s == pytest.approx(13.48e9 / (0.86 * 3350e9))
    # 1,100 tokens × 524,288 B at the same
    assert costs.sequence_memory_s == pytest.approx(1100 * 524_288 / (0.86 * 3350e9))
    # 2 × 6.74e9 FLOPs at 0.74 × 0.95 × 989 TFLOPS
    assert costs.sequence_compute_s == pytest.approx(13.48e9 / (0.74 * 0.95 * 989e12))
    # a prompt token adds attention to 500 others: 4 × 32 × 128 × 32 × 500
    attention = 4 * 32 * 128 * 32 * 500
    assert costs.prompt_token_s == pytest.approx((13.48e9 + attention) / (0.74 * 989e12))


def test_a_group_shares_weights_and_pays_for_talking(specs: Specs) -> None:
    gpu, model = specs.gpu("L40S"), specs.llm("llama-2-7b")
    arithmetic = serving_arithmetic(gpu=gpu, precision=Precision.BF16)
    assert arithmetic is not None
    link = serving_link(shape=shape_of(gpu, 2), gpu=gpu, gpus=2)
    assert link == PCIE
    pair = step_costs(
        gpu=gpu,
        model=model,
        arithmetic=arithmetic,
        tensor=2,
        link=PCIE,
        input_tokens=100,
        output_tokens=100,
    )
    assert pair.others_s == pytest.approx(6.74e9 / (0.88 * 864e9))
    assert pair.reduce_s == pytest.approx(2 * 32 * 105e-6)


def test_a_mean_step_carries_a_prompt_as_often_as_one_comes() -> None:
    alone = step_s(PLAIN, sequences=20, prompt_tokens=0)
    carrying = step_s(PLAIN, sequences=20, prompt_tokens=1000)
    mean = mean_step_s(PLAIN, sequences=20, prompts_per_step=0.1, input_tokens=1000)
    assert mean == pytest.approx(0.9 * alone + 0.1 * carrying)


def test_a_mean_step_may_carry_several_prompts() -> None:
    mean = mean_step_s(PLAIN, sequences=20, prompts_per_step=2, input_tokens=1000)
    assert mean == pytest.approx(step_s(PLAIN, sequences=20, prompt_tokens=2000))


def test_single_stream_decoding_follows_bandwidth(specs: Specs) -> None:
    """One stream of a large model is bound by reading its weights: H200 over H100 is 4800/3350."""
    model = specs.llm("llama-3.1-70b")
    steps = []
    for name in ("H100-SXM", "H200-SXM"):
        gpu = specs.gpu(name)
        arithmetic = serving_arithmetic(gpu=gpu, precision=Precision.FP8)
        assert arithmetic is not None
        link = serving_link(shape=shape_of(gpu, 8), gpu=gpu, gpus=2)
        assert link is not None
        costs = step_costs(
            gpu=gpu,
            model=model,
            arithmetic=arithmetic,
            tensor=2,
            link=link,
            input_tokens=500,
            output_tokens=500,
        )
        outside = costs.host_s + costs.reduce_s
        steps.append(step_s(costs, sequences=1, prompt_tokens=0) - outside)
    assert steps[0] / steps[1] == pytest.approx(4800 / 3350, rel=0.01)
