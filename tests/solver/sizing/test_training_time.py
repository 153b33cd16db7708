"""The training step, part by part, worked by hand on constants of round numbers."""

from dataclasses import replace

import numpy as np
import pytest

from broker.domain.gpu import Precision
from broker.domain.workload import Method, TrainingStack
from broker.specs.load import Specs
from solver.sizing.training_constants import TIME
from solver.sizing.training_efficiency import Rating, rating
from solver.sizing.training_facts import (
    Job,
    Split,
    Wires,
    attention_layers,
    gpu_tokens,
    held_params,
    job,
    one_spread,
    spread_of,
)
from solver.sizing.training_time import (
    at_least,
    attention_s,
    compute_s,
    hiding_share,
    linear_s,
    optimizer_s,
    passes,
    step_s,
)
from solver.sizing.training_traffic import data_bytes, exchange_s, pipeline_bytes, tensor_s

JOB = Job(
    is_full=1.0,
    is_quantized=0.0,
    sequence_length=4096.0,
    layers=32.0,
    attention_layers=32.0,
    hidden=4096.0,
    query_width=4096.0,
    kv_width=1024.0,
    params=7e9,
    expert_params=0.0,
    dense_step_params=6.5e9,
    expert_step_params=0.0,
    experts=1.0,
    experts_per_token=1.0,
    expert_width=1.0,
    peak_tflops=1000.0,
    peak_16_tflops=1000.0,
    memory_gb_per_s=3000.0,
    rating=2.0,
    attention=1.0,
    stack=0.0,
    is_low_precision=0.0,
    year=2025.0,
)
ROUND = replace(
    TIME,
    peak_share=(0.5,) * len(Rating),
    attention_share=(0.5, 0.4, 0.3),
    small_batch_tokens=4096.0,
    narrow_width=1024.0,
    tensor_loss=1.0,
    exchange_loss=1.0,
    exchange_nic_loss=1.0,
)
WIRES = Wires(inside_gb_per_s=450.0, between_gb_per_s=400.0, gpus_per_node=8.0)
PLAIN = Split(1, 1, 8, 1, 1, 4, recomputation=False)


def test_linear_layers_pay_for_small_batches_and_narrow_shards() -> None:
    # 16,384 tokens × 6 × 6.5e9 ÷ 500e12, ×2 as 4,096 tokens of 4,096, ×1.25 as 1,024 of 4,096 wide
    expected = 16_384 * 6 * 6.5e9 / 500e12 * 2 * 1.25
    assert linear_s(JOB, one_spread(PLAIN), ROUND) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("is_full", "full", "selective", "expected"),
    [(1.0, False, False, 6), (0.0, False, False, 4), (1.0, True, False, 8), (0.0, True, False, 6)],
)
def test_passes_over_the_parameters(
    *, is_full: float, full: bool, selective: bool, expected: float
) -> None:
    spread = one_spread(replace(PLAIN, recomputation=full, selective=selective))
    assert passes(replace(JOB, is_full=is_full), spread, ROUND) == expected


def test_attention_is_causal_and_runs_in_16_bits() -> None:
    # 16,384 tokens × 6 × 32 layers × 4096 wide × 4096 long ÷ (0.4 × 1000e12)
    expected = 16_384 * 6 * 32 * 4096 * 4096 / 400e12
    assert attention_s(JOB, one_spread(PLAIN), ROUND) == pytest.approx(expected)


def test_a_windowed_layer_counts_by_what_its_tokens_see(specs: Specs) -> None:
    # gpt-oss-120b: 36 layers, half of them with a window of 128 tokens: 18 + 18 × 256/4096
    assert attention_layers(specs.llm("gpt-oss-120b"), 4096) == pytest.approx(18 + 18 / 16)


def test_launches_are_a_floor() -> None:
    assert at_least(3.0, 0.0) == pytest.approx(3.0)
    assert at_least(1.0, 1.0) == pytest.approx(2**0.25)
    tiny = replace(JOB, stack=2.0, dense_step_params=1e6, attention_layers=0.0, hidden=64.0)
    # 32 layers × 4 micro-batches of Transformers, all parameters trained
    expected = 32 * 4 * ROUND.hf_launch_s * ROUND.full_launch_factor
    assert compute_s(tiny, one_spread(PLAIN), ROUND) == pytest.approx(expected, rel=0.02)


def test_tensor_collectives_by_hand() -> None:
    # 16,384 tokens / 4 GPUs × 32 × 8 × 3 × 4096 × 2 B over 450 GB/s
    split = replace(PLAIN, tensor=4, data=2)
    tokens = gpu_tokens(JOB, one_spread(split))
    assert tokens == 4 * 4096 / 4
    expected = tokens * 32 * 8 * 3 * 4096 * 2 / 450e9
    assert tensor_s(JOB, one_spread(split), WIRES, ROUND) == pytest.approx(expected)
    # in a mesh of 8 a group of 4 has 3 of the 7 links
    meshed = tensor_s(JOB, one_spread(split), replace(WIRES, is_mesh=1.0), ROUND)
    assert meshed == pytest.approx(expected * 7 / 3)


def test_a_group_beyond_the_fast_link_has_its_part_of_the_nics() -> None:
    near = replace(PLAIN, tensor=8, data=2)
    far = replace(PLAIN, tensor=16, data=1)
    racks = replace(WIRES, domain_gpus=64.0)
    slow = float(tensor_s(JOB, one_spread(far), WIRES, ROUND))
    fast = float(tensor_s(JOB, one_spread(far), racks, ROUND))
    assert slow / fast == pytest.approx(450 / 50)  # 400 GB/s of a node over its 8 GPUs
    assert tensor_s(JOB, one_spread(near), WIRES, ROUND) == pytest.approx(
        tensor_s(JOB, one_spread(near), racks, ROUND)
    )


@pytest.mark.parametrize(
    ("stage", "pipeline", "micro_batches", "expected"),
    [(1, 1, 4, 4 * 7e9), (2, 1, 4, 4 * 7e9), (3, 1, 4, 6 * 7e9 * 4), (3, 2, 4, 6 * 3.5e9)],
)
def test_data_parallel_traffic_by_stage(
    *, stage: int, pipeline: int, micro_batches: int, expected: float
) -> None:
    split = Split(1, pipeline, 8, stage, 1, micro_batches, recomputation=False)
    assert data_bytes(JOB, one_spread(split)) == pytest.approx(expected * 7 / 8)


def test_adapters_send_no_gradients_worth_counting() -> None:
    lora = replace(JOB, is_full=0.0)
    assert data_bytes(lora, one_spread(PLAIN)) == 0
    assert optimizer_s(lora, one_spread(PLAIN)) == 0


def test_the_optimizer_reads_its_shard_and_writes_the_weights() -> None:
    expected = (30 / 8 + 8) * 7e9 / 3000e9
    assert optimizer_s(JOB, one_spread(PLAIN)) == pytest.approx(expected)


def test_a_pipeline_hands_on_activations_at_each_of_its_stages() -> None:
    split = Split(1, 4, 2, 1, 1, 8, recomputation=False, virtual_stages=2)
    # forward and backward, twice as interleaved: 8 × 4,096 tokens × 4096 × 2 B
    expected = 2 * 2 * 8 * 4096 * 4096 * 2
    assert pipeline_bytes(JOB, one_spread(split)) == pytest.approx(expected)
    assert pipeline_bytes(JOB, one_spread(PLAIN)) == 0


def test_what_traffic_can_hide_behind() -> None:
    assert hiding_share(one_spread(replace(PLAIN, zero_stage=3))) == 1
    assert hiding_share(one_spread(PLAIN)) == pytest.approx(1 / 4)
    staged = Split(1, 4, 2, 1, 1, 16, recomputation=False, virtual_stages=2)
    assert hiding_share(one_spread(staged)) == pytest.approx(4 * 2 / 16)


def test_experts_are_dealt_out_and_fetched_over_the_slower_link_beyond_a_node() -> None:
    sparse = replace(JOB, experts=64.0, experts_per_token=8.0, expert_params=6e9)
    near = Split(1, 1, 16, 1, 1, 4, recomputation=False, expert=8)
    far = replace(near, expert=16)
    assert held_params(sparse, one_spread(near)) == pytest.approx(1e9 + 6e9 / 8)
    # 16,384 tokens × 8 experts × 4096 × 2 B × 32 layers × 4 exchanges, 7 of 8 leave
    sent = 16_384 * 8 * 4096 * 2 * 32 * 4
    assert exchange_s(sparse, one_spread(near), WIRES, ROUND) == pytest.approx(sent * 7 / 8 / 450e9)
    assert exchange_s(sparse, one_spread(far), WIRES, ROUND) == pytest.approx(sent * 15 / 16 / 50e9)


def test_many_splits_at_once_take_the_times_of_each_alone() -> None:
    splits = [
        PLAIN,
        Split(2, 1, 4, 3, 2, 2, recomputation=True),
        Split(4, 2, 1, 1, 1, 32, recomputation=False, virtual_stages=4),
        Split(1, 1, 4, 2, 1, 8, recomputation=False, context=2, selective=True),
    ]
    together = np.asarray(step_s(JOB, spread_of(splits), WIRES))
    alone = [float(step_s(JOB, one_spread(split), WIRES)) for split in splits]
    assert together == pytest.approx(alone)


def test_generations_have_their_own_share_of_the_peak(specs: Specs) -> None:
    found = {
        name: rating(gpu=specs.gpu(name), precision=precision)
        for name, precision in (
            ("A100-80-SXM", Precision.BF16),
            ("H200-SXM", Precision.FP8),
            ("GB300", Precision.NVFP4),
            ("MI325X", Precision.FP8),
            ("L40S", Precision.BF16),
        )
    }
    assert found == {
        "A100-80-SXM": Rating.AMPERE_16,
        "H200-SXM": Rating.HOPPER_8,
        "GB300": Rating.BLACKWELL_4,
        "MI325X": Rating.CDNA3_8,
        "L40S": Rating.OTHER_16,
    }


def test_software_stops_getting_faster_some_years_after_the_gpu(specs: Specs) -> None:
    def at(year: float) -> float:
        made = job(
            gpu=specs.gpu("A100-80-SXM"),  # of 2020
            model=specs.llm("llama-2-7b"),
            precision=Precision.BF16,
            method=Method.FULL,
            stack=TrainingStack.TUNED,
            sequence_length=4096,
            year=year,
        )
        assert made is not None
        return float(step_s(made, one_spread(PLAIN), WIRES))

    assert at(2021.0) > at(2022.0) > at(2023.0)
    assert at(2023.0) == at(2026.0)


def test_a_gpu_without_the_precision_has_no_job(specs: Specs) -> None:
    made = job(
        gpu=specs.gpu("A100-80-SXM"),
        model=specs.llm("llama-2-7b"),
        precision=Precision.FP8,
        method=Method.FULL,
        stack=TrainingStack.TUNED,
        sequence_length=4096,
    )
    assert made is None
