"""The table of neural networks: figures that memory and FLOPs follow from."""

import pytest

from broker.domain.errors import ConfigurationError
from broker.specs.load import Specs

KINDS = {
    "mha",
    "gqa",
    "mla",
    "mla_dsa",
    "sliding",
    "hybrid_sliding",
    "hybrid_chunked",
    "hybrid_linear",
    "hybrid_mamba",
}


def test_every_attention_kind_is_one_that_sizing_knows(specs: Specs) -> None:
    assert {model.attention_kind for model in specs.llms.values()} == KINDS


def test_kv_bytes_follow_from_layers_heads_and_dimension(specs: Specs) -> None:
    """Keys and values, 2 bytes each: 2 × 2 × layers × KV heads × head dimension."""
    for model in specs.llms.values():
        if model.kv_lora_rank is None:
            by_hand = 2 * 2 * model.kv_layers * model.kv_heads * model.head_dim
        else:  # MLA keeps one latent vector and the rotary part a layer
            rotary = model.qk_rope_head_dim or 0
            by_hand = 2 * model.kv_layers * (model.kv_lora_rank + rotary)
        assert model.kv_bytes_per_token_bf16 == by_hand, model.name


def test_llama_70b_keeps_320_kib_of_kv_a_token(specs: Specs) -> None:
    assert specs.llm("llama-3.1-70b").kv_bytes_per_token_bf16 == 320 * 1024


def test_windows_are_split_off_the_kind(specs: Specs) -> None:
    gemma = specs.llm("gemma-3-27b")
    assert (gemma.attention_kind, gemma.window_layers, gemma.window_tokens) == (
        "hybrid_sliding",
        52,
        1024,
    )
    scout = specs.llm("llama-4-scout")
    assert (scout.attention_kind, scout.window_tokens) == ("hybrid_chunked", 8192)


def test_mixtures_have_fewer_active_parameters(specs: Specs) -> None:
    for model in specs.llms.values():
        if model.is_moe:
            assert model.active_params_b < model.params_b, model.name
            assert model.experts_per_token
            assert model.moe_intermediate
        else:
            assert model.active_params_b == model.params_b, model.name


@pytest.mark.parametrize(
    "spelling",
    [
        "Llama-3.1-70B",
        "meta-llama/Meta-Llama-3.1-70B",
        "meta-llama/Llama-3.1-70B-Instruct",
        "llama-3.1-70b-instruct",
    ],
)
def test_a_model_is_found_by_name_and_by_hub_id(specs: Specs, spelling: str) -> None:
    assert specs.llm(spelling).name == "llama-3.1-70b"


def test_an_unknown_model_hints_at_the_nearest_names(specs: Specs) -> None:
    with pytest.raises(ConfigurationError, match="unknown model") as caught:
        specs.llm("llama-3.1-80b")
    assert "llama-3.1-70b" in caught.value.hint


def test_names_are_lower_case_keys(specs: Specs) -> None:
    assert all(name == model.name == name.lower() for name, model in specs.llms.items())
