"""Parameters and KV cache of networks, against hand-worked figures."""

import pytest

from broker.specs.load import Specs
from solver.sizing.architecture import (
    decode_attention_flops,
    expert_params,
    input_embedding_params,
    kv_bytes,
    kv_shards,
    prompt_attention_flops,
    splits_over,
)


def test_experts_follow_from_all_and_active_parameters(specs: Specs) -> None:
    # DeepSeek-V3: 58 layers × 256 experts × 3 matrices × 7168 × 2048 = 653.9e9
    by_shape = 58 * 256 * 3 * 7168 * 2048
    assert expert_params(specs.llm("deepseek-v3")) == pytest.approx(by_shape, rel=0.002)


def test_a_dense_model_has_no_experts(specs: Specs) -> None:
    assert expert_params(specs.llm("llama-2-7b")) == 0


def test_an_untied_input_embedding_is_told_from_a_tied_one(specs: Specs) -> None:
    assert input_embedding_params(specs.llm("llama-3.1-8b")) == 128256 * 4096
    assert input_embedding_params(specs.llm("llama-3.2-1b")) == 0  # its head is its embedding


def test_kv_cache_of_grouped_heads_is_two_values_per_head_and_layer(specs: Specs) -> None:
    # 80 layers × 8 heads × 128 × 2 (key, value) × 2 B = 327,680 B a token
    assert kv_bytes(model=specs.llm("llama-3.1-70b"), tokens=1000) == 327_680 * 1000


def test_kv_cache_of_latent_attention_is_one_latent_a_layer(specs: Specs) -> None:
    # 61 layers × (512 + 64) × 2 B = 70,272 B a token
    assert kv_bytes(model=specs.llm("deepseek-v3"), tokens=10) == 61 * 576 * 2 * 10


def test_windowed_layers_stop_growing_at_the_window(specs: Specs) -> None:
    # Gemma-3-27B: 52 of 62 layers hold at most 1,024 tokens
    model = specs.llm("gemma-3-27b")
    per_layer = model.kv_bytes_per_token_bf16 / 62
    expected = per_layer * (10 * 20_000 + 52 * 1_024)
    assert kv_bytes(model=model, tokens=20_000) == pytest.approx(expected)


def test_linear_attention_holds_a_state_that_does_not_grow(specs: Specs) -> None:
    # Qwen3.5-27B: 48 of 64 layers, hidden 5120, 1,024 B per hidden unit
    model = specs.llm("qwen3.5-27b")
    state = 48 * 5120 * 1024
    assert kv_bytes(model=model, tokens=0) == state
    assert kv_bytes(model=model, tokens=100) == pytest.approx(state + 100 * 65_536)


def test_kv_cache_is_cut_by_heads_and_latents_are_copied(specs: Specs) -> None:
    assert kv_shards(model=specs.llm("llama-3.1-70b"), tensor=4) == 4
    assert kv_shards(model=specs.llm("qwen3-30b-a3b"), tensor=8) == 4  # four KV heads
    assert kv_shards(model=specs.llm("deepseek-v3"), tensor=8) == 1


def test_prompt_attention_grows_with_the_square_of_the_prompt(specs: Specs) -> None:
    # 4 × 32 heads × 128 × 32 layers × (1000 / 2) × 1000
    model = specs.llm("llama-2-7b")
    flops = prompt_attention_flops(model=model, tokens=1000)
    assert flops == 4 * 32 * 128 * 32 * 500 * 1000
    assert prompt_attention_flops(model=model, tokens=2000) == 4 * flops


def test_only_latent_attention_counts_when_decoding(specs: Specs) -> None:
    # 2 × 128 heads × (2 × 512 + 64) × 1000 tokens × 61 layers
    expected = 2 * 128 * (2 * 512 + 64) * 1000 * 61
    model = specs.llm("deepseek-v3")
    assert decode_attention_flops(model=model, context_tokens=1000) == expected
    assert decode_attention_flops(model=specs.llm("llama-2-7b"), context_tokens=1000) == 0


@pytest.mark.parametrize(
    ("name", "tensor", "splits"),
    [
        ("qwen2.5-7b", 4, True),  # 28 heads, 4 for keys and values
        ("qwen2.5-7b", 8, False),
        ("phi-4", 2, True),  # 40 heads, 10 for keys and values
        ("phi-4", 4, False),
        ("deepseek-v3", 8, True),
        ("qwen3-30b-a3b", 8, True),  # 4 KV heads, each on two GPUs
    ],
)
def test_heads_must_divide_over_the_group(
    specs: Specs, *, name: str, tensor: int, splits: bool
) -> None:
    assert splits_over(model=specs.llm(name), tensor=tensor) is splits
