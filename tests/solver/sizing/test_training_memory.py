"""Peak memory of training, worked by hand and against published peaks."""

import pytest

from broker.domain.gpu import Precision
from broker.domain.llm import LlmModel
from broker.domain.workload import Method, TrainingStack
from broker.specs.load import Specs
from solver.sizing.training_memory import (
    Task,
    activation_bytes,
    adapter_bytes,
    buffer_bytes,
    frozen_bytes,
    inner_width,
    layer_activation_bytes,
    state_bytes_per_param,
    training_memory,
    weights_and_states,
)
from solver.sizing.training_time import Split

GB = 1e9
GIB = 2.0**30


def task_of(
    model: LlmModel,
    *,
    method: Method = Method.FULL,
    precision: Precision = Precision.BF16,
    stack: TrainingStack = TrainingStack.TORCH,
    sequence_length: int = 4096,
) -> Task:
    return Task(
        model=model,
        method=method,
        precision=precision,
        stack=stack,
        sequence_length=sequence_length,
    )


def split_of(
    *,
    tensor: int = 1,
    pipeline: int = 1,
    data: int = 1,
    zero_stage: int = 1,
    micro_batch: int = 1,
    recomputation: bool = False,
) -> Split:
    return Split(
        tensor=tensor,
        pipeline=pipeline,
        data=data,
        zero_stage=zero_stage,
        micro_batch=micro_batch,
        micro_batches=8,
        recomputation=recomputation,
    )


@pytest.mark.parametrize(
    ("stage", "stack", "expected"),
    [
        (0, TrainingStack.TORCH, 16),
        (1, TrainingStack.TORCH, 4 + 12 / 8),
        (2, TrainingStack.TORCH, 2 + 14 / 8),
        (3, TrainingStack.TORCH, 16 / 8),
        (0, TrainingStack.TUNED, 18),
        (1, TrainingStack.TUNED, 6 + 12 / 8),
    ],
)
def test_states_by_sharding_stage(stage: int, stack: TrainingStack, expected: float) -> None:
    assert state_bytes_per_param(zero_stage=stage, shards=8, stack=stack) == expected


def test_frozen_weights_by_method_and_precision(specs: Specs) -> None:
    model = specs.llm("llama-2-7b")
    two = frozen_bytes(model=model, method=Method.LORA, precision=Precision.BF16)
    assert two == pytest.approx(6.74e9 * 2)
    one = frozen_bytes(model=model, method=Method.LORA, precision=Precision.FP8)
    assert one == pytest.approx(6.74e9)
    plain = 2 * 32_000 * 4096
    quantized = frozen_bytes(model=model, method=Method.QLORA, precision=Precision.BF16)
    assert quantized == pytest.approx((6.74e9 - plain) * 0.7 + plain * 2)


def test_adapters_are_a_sliver_with_full_states(specs: Specs) -> None:
    assert adapter_bytes(specs.llm("llama-2-7b")) == pytest.approx(6.74e9 * 0.003 * 16)


def test_full_sharding_splits_frozen_weights_too(specs: Specs) -> None:
    task = task_of(specs.llm("llama-3.1-70b"), method=Method.LORA)
    copied, _ = weights_and_states(task, split_of(data=8, zero_stage=1))
    sharded, _ = weights_and_states(task, split_of(data=8, zero_stage=3))
    assert copied == pytest.approx(141.1e9)
    assert sharded == pytest.approx(141.1e9 / 8)


def test_a_layer_keeps_its_inner_values(specs: Specs) -> None:
    # 4,096 tokens × (12 × 4096 + 4 × 4096 + 6 × 11008) × 0.86
    task = task_of(specs.llm("llama-2-7b"))
    kept = 12 * 4096 + 4 * 4096 + 6 * 11_008
    expected = pytest.approx(4096 * kept * 0.86)
    assert layer_activation_bytes(task, tokens=4096, tensor=1) == expected


def test_a_sparse_model_keeps_the_width_of_its_chosen_experts(specs: Specs) -> None:
    assert inner_width(specs.llm("qwen3-30b-a3b")) == 8 * 768
    assert inner_width(specs.llm("deepseek-v3")) == 8 * 2048 + 2048


def test_recomputation_keeps_inputs_and_one_whole_layer(specs: Specs) -> None:
    task = task_of(specs.llm("llama-2-7b"))
    layer = layer_activation_bytes(task, tokens=4096, tensor=1)
    logits = 11.7 * 4096 * 32_000
    expected = 32 * 4096 * 2 * 4096 + layer + logits
    assert activation_bytes(task, split_of(recomputation=True)) == pytest.approx(expected)
    assert activation_bytes(task, split_of()) == pytest.approx(32 * layer + logits)


def test_the_first_stage_of_a_full_pipeline_keeps_as_much_as_all_layers(specs: Specs) -> None:
    task = task_of(specs.llm("llama-2-7b"))
    whole = activation_bytes(task, split_of())
    assert activation_bytes(task, split_of(pipeline=4)) == pytest.approx(whole)


def test_full_sharding_gathers_a_layer(specs: Specs) -> None:
    task = task_of(specs.llm("llama-2-7b"))
    assert buffer_bytes(task, split_of(zero_stage=1)) == 1.7e9
    assert buffer_bytes(task, split_of(zero_stage=3)) == pytest.approx(1.7e9 + 4 * 6.74e9 / 32)


def test_a_peak_is_the_sum_of_its_parts(specs: Specs) -> None:
    gpu = specs.gpu("A100-80-SXM")
    task = task_of(specs.llm("llama-2-7b"))
    use = training_memory(task, split_of(data=8, zero_stage=3), gpu=gpu)
    assert use.states_gib == pytest.approx(16 / 8 * 6.74e9 / GIB)
    assert use.reserve_gib == pytest.approx(0.07 * gpu.memory_gib)
    assert use.weights_gib == 0


@pytest.mark.parametrize(
    ("sequence_length", "measured_gb"),
    # QwenLM/Qwen README profiling: Qwen-72B Q-LoRA on one A100-80GB, batch 1, recomputing
    [(512, 61.4), (4096, 68.0)],
)
def test_qlora_of_a_72b_model_peaks_as_published(
    specs: Specs, sequence_length: int, measured_gb: float
) -> None:
    # the published shape: 80 layers, 8192 wide, 64 heads for keys and values, inner 24,576
    model = specs.llm("qwen2.5-72b").model_copy(
        update={"params_b": 72.29, "kv_heads": 64, "intermediate": 24_576}
    )
    task = task_of(
        model, method=Method.QLORA, stack=TrainingStack.HF, sequence_length=sequence_length
    )
    use = training_memory(task, split_of(recomputation=True), gpu=specs.gpu("A100-80-SXM"))
    peak_gb = (use.used_gib - use.reserve_gib) * GIB / GB
    assert peak_gb == pytest.approx(measured_gb, rel=0.10)


@pytest.mark.parametrize(
    ("sequence_length", "measured_gb"),
    # the same README: Qwen-7B, full parameters, DeepSpeed on two A100-80GB together
    [(256, 139.2), (512, 148.0), (1024, 162.0)],
)
def test_full_fine_tuning_of_a_7b_model_peaks_as_published(
    specs: Specs, sequence_length: int, measured_gb: float
) -> None:
    model = specs.llm("llama-2-7b").model_copy(update={"params_b": 7.72, "vocab": 151_936})
    task = task_of(model, stack=TrainingStack.HF, sequence_length=sequence_length)
    split = split_of(data=2, zero_stage=2, recomputation=True)
    use = training_memory(task, split, gpu=specs.gpu("A100-80-SXM"))
    peak_gb = 2 * (use.used_gib - use.reserve_gib) * GIB / GB
    assert peak_gb == pytest.approx(measured_gb, rel=0.10)
