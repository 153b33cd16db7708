"""Peak memory of training, worked by hand and against published peaks."""

from dataclasses import replace

import pytest

from broker.domain.gpu import Precision
from broker.domain.llm import LlmModel
from broker.domain.workload import Method, TrainingStack
from broker.specs.load import Specs
from solver.sizing.training_constants import MEMORY
from solver.sizing.training_facts import Split, Spread, one_spread
from solver.sizing.training_memory import (
    MemoryVerdict,
    Task,
    activation_bytes,
    adapter_bytes,
    frozen_bytes,
    gathered_bytes,
    inner_width,
    layer_activation_bytes,
    logit_bytes,
    lora_params,
    memory_verdict,
    peak_parts,
    state_bytes_per_param,
    training_memory,
    used_gib,
    weights_and_states,
)

GB = 1e9
GIB = 2.0**30
ROUND = replace(
    MEMORY,
    runtime_gb=(2.0, 1.0, 3.0),
    kept_share=0.8,
    kept_lora_share=0.8,
    checkpoint_bytes=2.0,
    layer_factor=1.0,
    logit_bytes=(10.0, 10.0, 10.0),
    nf4_bytes=0.7,
    fp8_bytes=1.0,
    gather_bytes=4.0,
    embedding_state_bytes=10.0,
    allocated_factor=1.0,
)


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
    selective: bool = False,
    context: int = 1,
) -> Spread:
    return one_spread(
        Split(
            tensor=tensor,
            pipeline=pipeline,
            data=data,
            zero_stage=zero_stage,
            micro_batch=micro_batch,
            micro_batches=8,
            recomputation=recomputation,
            selective=selective,
            context=context,
        )
    )


@pytest.mark.parametrize(
    ("stage", "extra", "weights", "expected"),
    [
        (0, 0.0, 2.0, 16),
        (1, 0.0, 2.0, 4 + 12 / 8),
        (2, 0.0, 2.0, 2 + 14 / 8),
        (3, 0.0, 2.0, 16 / 8),
        (1, 2.0, 2.0, 6 + 12 / 8),
    ],
)
def test_states_by_sharding_stage(
    *, stage: int, extra: float, weights: float, expected: float
) -> None:
    found = state_bytes_per_param(
        zero_stage=float(stage), shards=8.0, whole=16.0, extra=extra, weights=weights
    )
    assert found == pytest.approx(expected)


def test_frozen_weights_by_method_and_precision(specs: Specs) -> None:
    model = specs.llm("llama-2-7b")
    assert frozen_bytes(task_of(model, method=Method.LORA), ROUND) == pytest.approx(6.74e9 * 2)
    eight = task_of(model, method=Method.LORA, precision=Precision.FP8, stack=TrainingStack.TUNED)
    assert frozen_bytes(eight, ROUND) == pytest.approx(6.74e9)
    plain = 2 * 32_000 * 4096
    quantized = frozen_bytes(task_of(model, method=Method.QLORA), ROUND)
    assert quantized == pytest.approx((6.74e9 - plain) * 0.7 + plain * 2)


def test_adapters_are_a_sliver_with_full_states(specs: Specs) -> None:
    task = task_of(specs.llm("llama-2-7b"), method=Method.LORA)
    # rank 16 · 32 layers · (4 × (4096 + 4096) of attention + 3 × (4096 + 11008) of the MLP)
    sliver = 16 * 32 * (4 * 8_192 + 3 * 15_104) * 16
    assert sliver == pytest.approx(39_976_960 * 16)
    assert adapter_bytes(task, ROUND) == pytest.approx(sliver)
    told = replace(task, adapter_params=1e6)
    assert adapter_bytes(told, ROUND) == pytest.approx(16e6)
    with_head = adapter_bytes(replace(task, trains_embeddings=True), ROUND)
    assert with_head == pytest.approx(sliver + 2 * 32_000 * 4096 * 10)


def test_adapters_grow_with_their_rank_and_with_what_they_sit_on(specs: Specs) -> None:
    model = specs.llm("llama-2-7b")
    assert lora_params(model, rank=64) == 4 * lora_params(model, rank=16)
    # queries, keys, values and output alone: 8 · 32 · 4 × 8192
    assert lora_params(model, rank=8, with_mlp=False) == 8_388_608


def test_frozen_weights_keep_less_of_an_mlp_without_a_gate(specs: Specs) -> None:
    gated = specs.llm("llama-2-7b")
    plain = gated.model_copy(update={"mlp_matrices": 2})
    # 6f stay of a gated MLP either way; of two matrices 4f when trained, the 2f before GELU frozen
    found = {
        (model.mlp_matrices, method): layer_activation_bytes(
            task_of(model, method=method), split_of(), ROUND
        )
        for model in (gated, plain)
        for method in (Method.FULL, Method.LORA)
    }
    outside = 16 * 4096
    assert found[3, Method.FULL] == found[3, Method.LORA]
    assert found[2, Method.FULL] == pytest.approx(4096 * (outside + 4 * 11_008) * 0.8)
    assert found[2, Method.LORA] == pytest.approx(4096 * (outside + 2 * 11_008) * 0.8)


def test_full_sharding_splits_frozen_weights_too(specs: Specs) -> None:
    task = task_of(specs.llm("llama-3.1-70b"), method=Method.LORA)
    copied, _ = weights_and_states(task, split_of(data=8, zero_stage=1))
    sharded, _ = weights_and_states(task, split_of(data=8, zero_stage=3))
    assert copied == pytest.approx(141.1e9)
    assert sharded == pytest.approx(141.1e9 / 8)


@pytest.mark.parametrize(
    ("model", "tables"),
    [("llama-3.1-70b", 2), ("gemma-2-27b", 1)],  # a head of its own, and one that is the embedding
)
def test_the_first_stage_of_a_pipeline_has_the_whole_embedding(
    specs: Specs, *, model: str, tables: int
) -> None:
    known = specs.llm(model)
    table = known.vocab * known.hidden
    first = (known.params_b * 1e9 - tables * table) / 16 + table
    _, states = weights_and_states(task_of(known), split_of(pipeline=16), ROUND)
    assert states == pytest.approx(first * 16)
    lora = task_of(known, method=Method.LORA)
    frozen, _ = weights_and_states(lora, split_of(pipeline=16, tensor=2), ROUND)
    assert frozen == pytest.approx(first * 2 / 2)


def test_a_layer_keeps_its_inner_values(specs: Specs) -> None:
    # 4,096 tokens × (12 × 4096 + 4 × 4096 + 6 × 11008) × 0.8
    task = task_of(specs.llm("llama-2-7b"))
    kept = 12 * 4096 + 4 * 4096 + 6 * 11_008
    assert layer_activation_bytes(task, split_of(), ROUND) == pytest.approx(4096 * kept * 0.8)
    halved = layer_activation_bytes(task, split_of(context=2), ROUND)
    assert halved == pytest.approx(4096 * kept * 0.4)


def test_a_plain_mlp_keeps_two_matrices_of_values(specs: Specs) -> None:
    """GPT-J has no gate: 28 layers of 4096, inner 16,384, two matrices."""
    task = task_of(specs.llm("gpt-j-6b"))
    kept = 12 * 4096 + 4 * 16 * 256 + 2 * 2 * 16_384
    assert layer_activation_bytes(task, split_of(), ROUND) == pytest.approx(4096 * kept * 0.8)


def test_a_sparse_model_keeps_the_width_of_its_chosen_experts(specs: Specs) -> None:
    assert inner_width(specs.llm("qwen3-30b-a3b")) == 8 * 768
    assert inner_width(specs.llm("deepseek-v3")) == 8 * 2048 + 2048


def test_attention_keeps_queries_keys_and_values_at_their_own_width(specs: Specs) -> None:
    # Qwen3-32B: 64 heads of 128, 8 of keys and values, hidden 5120, inner 25,600
    wide = 8 * 5120 + 4 * 8192 + 4 * 1024 + 6 * 25_600
    task = task_of(specs.llm("qwen3-32b"))
    assert layer_activation_bytes(task, split_of(), ROUND) == pytest.approx(4096 * wide * 0.8)
    # DeepSeek-V3 unfolds its latent: 128 heads with keys of 192 and values of 128
    inner = 6 * (8 * 2048 + 2048)
    unfolded = 8 * 7168 + 4 * 24_576 + 2 * 128 * (192 + 128) + inner
    task = task_of(specs.llm("deepseek-v3"))
    assert layer_activation_bytes(task, split_of(), ROUND) == pytest.approx(4096 * unfolded * 0.8)


def test_recomputation_keeps_inputs_and_one_whole_layer(specs: Specs) -> None:
    task = task_of(specs.llm("llama-2-7b"))
    layer = float(layer_activation_bytes(task, split_of(), ROUND))
    again = activation_bytes(task, split_of(recomputation=True), ROUND)
    assert again == pytest.approx(32 * 4096 * 2 * 4096 + layer)
    assert activation_bytes(task, split_of(), ROUND) == pytest.approx(32 * layer)
    some = activation_bytes(task, split_of(selective=True), ROUND)
    assert again < some < 32 * layer


def test_the_first_stage_of_a_full_pipeline_keeps_as_much_as_all_layers(specs: Specs) -> None:
    task = task_of(specs.llm("llama-2-7b"))
    whole = activation_bytes(task, split_of(), ROUND)
    assert activation_bytes(task, split_of(pipeline=4), ROUND) == pytest.approx(whole)


def test_logits_follow_the_vocabulary_and_a_chunked_loss_is_an_eighth(specs: Specs) -> None:
    task = task_of(specs.llm("llama-2-7b"))
    whole = logit_bytes(task, split_of(), ROUND, activations=0.0)
    assert whole == pytest.approx(10 * 4096 * 32_000)
    chunked = replace(task, has_chunked_loss=True)
    assert logit_bytes(chunked, split_of(), ROUND, activations=0.0) == pytest.approx(
        10 * 4096 * 32_000 / 8
    )


def test_full_sharding_gathers_a_layer(specs: Specs) -> None:
    task = task_of(specs.llm("llama-2-7b"))
    assert gathered_bytes(task, split_of(zero_stage=1), ROUND) == 0
    assert gathered_bytes(task, split_of(zero_stage=3), ROUND) == pytest.approx(4 * 6.74e9 / 32)


def test_a_peak_is_the_sum_of_its_parts(specs: Specs) -> None:
    gpu = specs.gpu("A100-80-SXM")
    task = task_of(specs.llm("llama-2-7b"))
    spread = split_of(data=8, zero_stage=3)
    use = training_memory(task, spread, gpu=gpu)
    assert use.used_gib - use.reserve_gib == pytest.approx(float(used_gib(task, spread)))
    assert use.reserve_gib == pytest.approx(0.07 * gpu.memory_gib)
    parts = peak_parts(task, spread, ROUND)
    assert parts.states == pytest.approx(16 / 8 * 6.74e9)
    assert parts.runtime == 1e9


def test_a_peak_near_the_size_of_the_device_is_tight(specs: Specs) -> None:
    gpu = specs.gpu("A100-80-SXM")
    verdicts = [memory_verdict(share * gpu.memory_gib, gpu) for share in (0.89, 0.95, 1.06, 1.08)]
    assert verdicts == [
        MemoryVerdict.FITS,
        MemoryVerdict.TIGHT,
        MemoryVerdict.TIGHT,
        MemoryVerdict.DOES_NOT_FIT,
    ]


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
    peak_gb = float(used_gib(task, split_of(recomputation=True))) * GIB / GB
    assert peak_gb == pytest.approx(measured_gb, rel=0.20)


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
    spread = split_of(data=2, zero_stage=2, recomputation=True)
    peak_gb = 2 * float(used_gib(task, spread)) * GIB / GB
    assert peak_gb == pytest.approx(measured_gb, rel=0.15)


def test_activations_of_korthikanti_2022_come_back(specs: Specs) -> None:
    """arXiv:2205.05198: GPT-3 175B, tensor 8, pipeline 8, 3 virtual stages, selective."""
    model = specs.llm("falcon-180b").model_copy(
        update={
            "params_b": 175.0,
            "active_params_b": 175.0,
            "layers": 96,
            "kv_layers": 96,
            "hidden": 12_288,
            "heads": 96,
            "kv_heads": 96,
            "head_dim": 128,
            "intermediate": 49_152,
            "vocab": 51_200,
        }
    )
    task = replace(task_of(model, stack=TrainingStack.TUNED, sequence_length=2048), is_eager=True)
    spread = one_spread(
        Split(8, 8, 1, 0, 1, 64, recomputation=False, virtual_stages=3, selective=True)
    )
    # s·b·h·34/t on each of 96 layers of the first stage's share, interleaved: 1 + 7/24
    expected = 2048 * 12_288 * 34 / 8 * 96 / 8 * 8 * (1 + 7 / 24)
    assert activation_bytes(task, spread) == pytest.approx(expected)
