"""The serving step, part by part, worked by hand."""

from dataclasses import replace

import pytest
from sizing_cases import shape_of

from broker.domain.gpu import Precision
from broker.specs.load import Specs
from solver.sizing.engines import Engine, Release
from solver.sizing.links import ALONE, Interconnect, serving_link
from solver.sizing.precisions import serving_arithmetic
from solver.sizing.roofline import (
    StepCosts,
    costs_of,
    felt_step,
    mean_step,
    step,
    step_costs,
    touched_share,
)
from solver.sizing.serving_constants import FITTED
from solver.sizing.serving_facts import Replica, Split, step_facts

PLAIN = StepCosts(
    experts_s=0.0,
    others_s=0.010,
    expert_share_per_token=1.0,
    sequence_memory_s=0.0001,
    sequence_compute_s=0.0002,
    prompt_token_s=0.00001,
    host_s=0.002,
    sequence_host_s=0.00001,
    prompt_host_s=0.003,
    reduce_s=0.001,
    reduce_token_s=0.000005,
)


def replica_of(
    specs: Specs,
    gpu_name: str,
    model: str,
    precision: Precision = Precision.BF16,
    *,
    split: Split | None = None,
) -> Replica:
    """Make a replica on a usual node of a GPU."""
    gpu, laid = specs.gpu(gpu_name), split or Split()
    arithmetic = serving_arithmetic(gpu=gpu, precision=precision)
    link = serving_link(shape=shape_of(gpu, max(laid.gpus, 1)), gpu=gpu, gpus=laid.gpus)
    assert arithmetic is not None
    assert link is not None
    return Replica(gpu, specs.llm(model), arithmetic, laid, link)


def test_a_step_adds_its_parts() -> None:
    # memory 10 + 8 × 0.1 = 10.8 ms and compute 8 × 0.2 + 100 × 0.01 = 2.6 ms, nothing overlapping;
    # host 2 ms, launches of the prompt 3 ms; all-reduce 1 + 108 × 0.005 ms; sequences 8 × 0.01 ms
    expected_ms = 10.8 + 2.6 + 2 + 3 + 1.54 + 0.08
    found = step(PLAIN, sequences=8.0, prompt_tokens=100.0, carries=1.0)
    assert found * 1000 == pytest.approx(expected_ms)


def test_what_overlaps_counts_once() -> None:
    halved = replace(PLAIN, overlap_loss_share=0.5)
    both = step(PLAIN, sequences=8.0, prompt_tokens=0.0, carries=0.0)
    # compute is 1.6 ms, of which half hides behind 10.8 ms of memory
    assert both - step(halved, sequences=8.0, prompt_tokens=0.0, carries=0.0) == pytest.approx(
        0.0008
    )


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
    read = FITTED.bandwidth_share[0] * 3350e9
    assert costs.others_s == pytest.approx(13.48e9 / read)
    # 1,100 tokens × 524,288 B
    kept = read * FITTED.kv_bandwidth_factor
    assert costs.sequence_memory_s == pytest.approx(1100 * 524_288 / kept)
    # 2 × 6.74e9 FLOPs; a prompt token adds attention to 500 others: 4 × 32 × 128 × 32 × 500
    years = FITTED.compute_gain_per_year ** (2026.25 - 2025.5)
    done = FITTED.compute_share[0] * years * 989e12
    seen = FITTED.prompt_attention_share * 989e12
    expected = 13.48e9 / done + 4 * 32 * 128 * 32 * 500 / seen
    assert costs.prompt_token_s == pytest.approx(expected)


def test_narrow_experts_reach_less_of_the_peak(specs: Specs) -> None:
    whole = costs_of(step_facts(replica_of(specs, "H100-SXM", "qwen3-30b-a3b"), **SIZES))
    cut = replica_of(specs, "H100-SXM", "qwen3-30b-a3b", split=Split(tensor=8))
    eighth = costs_of(step_facts(cut, **SIZES))
    assert eighth.prompt_token_s > whole.prompt_token_s / 8


SIZES = {"input_tokens": 1000.0, "output_tokens": 200.0}


def test_a_group_shares_weights_and_pays_for_talking(specs: Specs) -> None:
    pair = replica_of(specs, "L40S", "llama-2-7b", split=Split(tensor=2))
    costs = costs_of(step_facts(pair, **SIZES))
    assert costs.others_s == pytest.approx(6.74e9 / (FITTED.bandwidth_share[1] * 864e9))
    assert costs.reduce_s == pytest.approx(2 * 32 * FITTED.pcie_latency_s)
    # 2 × 32 layers × 4 B × 4096 × 1/2 ÷ what is reached of 31.5 GB/s
    sent = 2 * 32 * 4 * 4096 / 2
    assert costs.reduce_token_s == pytest.approx(sent / (FITTED.pcie_share * 31.5e9))


def test_a_faster_link_makes_a_group_faster(specs: Specs) -> None:
    pair = replica_of(specs, "H100-SXM", "llama-3.1-70b", split=Split(tensor=4))
    slow = replace(pair, link=Interconnect(100.0))
    fast, slower = (costs_of(step_facts(one, **SIZES)) for one in (pair, slow))
    assert fast.reduce_token_s < slower.reduce_token_s


def test_a_newer_release_takes_less_host_time(specs: Specs) -> None:
    replica = replica_of(specs, "H100-SXM", "llama-3.1-8b")
    old = replace(replica, release=Release(Engine.VLLM, 2024.5))
    assert costs_of(step_facts(old, **SIZES)).host_s > costs_of(step_facts(replica, **SIZES)).host_s


def test_a_cached_prompt_leaves_its_rest_to_compute(specs: Specs) -> None:
    replica = replica_of(specs, "H100-SXM", "llama-3.1-8b")
    cached = replace(replica, prefix_cache_share=0.8)
    assert step_facts(cached, **SIZES).new_tokens == pytest.approx(200)
    # the rest sees the cached part, too: its attention is (0.8 + 1)/2 of the prompt, not half
    ratio = (
        step_facts(cached, **SIZES).prompt_attention_flops
        / step_facts(replica, **SIZES).prompt_attention_flops
    )
    assert ratio == pytest.approx(1.8)


def test_prompts_in_steps_of_their_own_hold_up_the_others(specs: Specs) -> None:
    replica = replica_of(specs, "H100-SXM", "llama-3.1-8b")
    apart = costs_of(step_facts(replace(replica, chunked_prefill=False), **SIZES))
    mixed = costs_of(step_facts(replica, **SIZES))
    times = [
        mean_step(one, sequences=64.0, prompts_per_step=0.3, new_tokens=1000.0)
        for one in (apart, mixed)
    ]
    assert times[0] > times[1]


def test_stages_take_turns_on_parts_of_the_batch() -> None:
    staged = replace(PLAIN, pipeline=2.0)
    # two stages, each with 4 of the 8 sequences
    part = step(PLAIN, sequences=4.0, prompt_tokens=0.0, carries=0.0)
    found = step(staged, sequences=8.0, prompt_tokens=0.0, carries=0.0)
    assert found == pytest.approx(2 * part)


def test_a_mean_step_carries_a_prompt_as_often_as_one_comes() -> None:
    alone = step(PLAIN, sequences=20.0, prompt_tokens=0.0, carries=0.0)
    carrying = step(PLAIN, sequences=20.0, prompt_tokens=1000.0, carries=1.0)
    mean = mean_step(PLAIN, sequences=20.0, prompts_per_step=0.1, new_tokens=1000.0)
    assert mean == pytest.approx(0.9 * alone + 0.1 * carrying)


def test_a_mean_step_may_carry_several_prompts() -> None:
    mean = mean_step(PLAIN, sequences=20.0, prompts_per_step=2.0, new_tokens=1000.0)
    assert mean == pytest.approx(step(PLAIN, sequences=20.0, prompt_tokens=2000.0, carries=1.0))


def test_a_scheduler_may_hide_part_of_the_prompts_of_others() -> None:
    hiding = replace(PLAIN, interference_factor=0.5)
    alone = step(PLAIN, sequences=20.0, prompt_tokens=0.0, carries=0.0)
    load = {"sequences": 20.0, "prompts_per_step": 0.1, "new_tokens": 1000.0}
    added = mean_step(PLAIN, **load) - alone
    assert felt_step(hiding, **load) == pytest.approx(alone + added / 2)


def paced(
    specs: Specs, gpu: str, model: str, sequences: float, *, sizes: dict[str, float]
) -> float:
    """Give the output tokens per second of one GPU at a number in flight."""
    facts = step_facts(replica_of(specs, gpu, model, Precision.FP8), **sizes)
    found = mean_step(
        costs_of(facts),
        sequences=sequences,
        prompts_per_step=sequences / sizes["output_tokens"],
        new_tokens=sizes["input_tokens"],
    )
    return sequences / float(found)


def test_an_h200_beats_an_h100_by_bandwidth_alone_and_less_in_large_batches(specs: Specs) -> None:
    """One stream reads weights, 4800/3350 as fast; 256 with long prompts compute, as fast."""
    single = {"input_tokens": 500.0, "output_tokens": 500.0}
    alone = paced(specs, "H200-SXM", "qwen3-32b", 1.0, sizes=single) / paced(
        specs, "H100-SXM", "qwen3-32b", 1.0, sizes=single
    )
    many = {"input_tokens": 512.0, "output_tokens": 128.0}
    batch = paced(specs, "H200-SXM", "llama-3.1-8b", 256.0, sizes=many) / paced(
        specs, "H100-SXM", "llama-3.1-8b", 256.0, sizes=many
    )
    assert 1.22 < alone < 4800 / 3350
    assert 1.0 < batch < 1.15
