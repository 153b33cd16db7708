"""Configuration files: fields that the models' authors publish, others left out."""

import json
from pathlib import Path

import pytest

from broker.domain.errors import ConfigurationError
from broker.domain.llm import LlmModel
from broker.specs.hf_config import is_config_path, model_from_config, read_config
from broker.specs.load import Specs

LLAMA = {
    "model_type": "llama",
    "hidden_size": 8192,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "intermediate_size": 28672,
    "hidden_act": "silu",
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
}
GPT_J = {
    "model_type": "gptj",
    "n_embd": 4096,
    "n_layer": 28,
    "n_head": 16,
    "n_inner": None,
    "n_positions": 2048,
    "vocab_size": 50400,
    "activation_function": "gelu_new",
    "tie_word_embeddings": False,
}
FALCON_40B = {
    "model_type": "falcon",
    "hidden_size": 8192,
    "num_hidden_layers": 60,
    "num_attention_heads": 128,
    "num_kv_heads": 8,
    "new_decoder_architecture": True,
    "multi_query": True,
    "vocab_size": 65024,
}
FALCON_7B = FALCON_40B | {
    "hidden_size": 4544,
    "num_hidden_layers": 32,
    "num_attention_heads": 71,
    "num_kv_heads": 71,
    "new_decoder_architecture": False,
}
GPT_2 = {
    "model_type": "gpt2",
    "n_embd": 768,
    "n_layer": 12,
    "n_head": 12,
    "n_positions": 1024,
    "vocab_size": 50257,
    "activation_function": "gelu_new",
}
BLOOM_7B = {
    "model_type": "bloom",
    "hidden_size": 4096,
    "n_layer": 30,
    "n_head": 32,
    "vocab_size": 250880,
}
NEMOTRON_340B = {
    "model_type": "nemotron",
    "hidden_size": 18432,
    "num_hidden_layers": 96,
    "num_attention_heads": 96,
    "num_key_value_heads": 8,
    "intermediate_size": 73728,
    "hidden_act": "relu2",
    "vocab_size": 256000,
    "tie_word_embeddings": False,
}
MISTRAL = LLAMA | {
    "model_type": "mistral",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "intermediate_size": 14336,
    "vocab_size": 32000,
    "sliding_window": 4096,
}
GEMMA_2_9B = {
    "model_type": "gemma2",
    "hidden_size": 3584,
    "num_hidden_layers": 42,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 256,
    "intermediate_size": 14336,
    "vocab_size": 256000,
    "sliding_window": 4096,
}
MIXTRAL = MISTRAL | {
    "model_type": "mixtral",
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "sliding_window": None,
}
QWEN3_30B = {
    "model_type": "qwen3_moe",
    "hidden_size": 2048,
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "vocab_size": 151936,
    "sliding_window": None,
    "use_sliding_window": False,
    "tie_word_embeddings": False,
}
DEEPSEEK_V3 = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "vocab_size": 129280,
    "max_position_embeddings": 163840,
    "tie_word_embeddings": False,
}
GPT_OSS_20B = {
    "model_type": "gpt_oss",
    "hidden_size": 2880,
    "num_hidden_layers": 24,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "intermediate_size": 2880,
    "num_local_experts": 32,
    "num_experts_per_tok": 4,
    "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 12,
    "vocab_size": 201088,
    "tie_word_embeddings": False,
}
LLAMA_4_SCOUT = {
    "model_type": "llama4",
    "text_config": {
        "model_type": "llama4_text",
        "hidden_size": 5120,
        "num_hidden_layers": 48,
        "num_attention_heads": 40,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "intermediate_size": 8192,
        "intermediate_size_mlp": 16384,
        "num_local_experts": 16,
        "num_experts_per_tok": 1,
        "interleave_moe_layer_step": 1,
        "attention_chunk_size": 8192,
        "vocab_size": 202048,
        "tie_word_embeddings": False,
    },
}
IN_TABLE = {
    "llama-3.1-70b": LLAMA,
    "gpt-j-6b": GPT_J,
    "falcon-40b": FALCON_40B,
    "mistral-7b": MISTRAL,
    "gemma-2-9b": GEMMA_2_9B,
    "mixtral-8x7b": MIXTRAL,
    "qwen3-30b-a3b": QWEN3_30B,
    "deepseek-v3": DEEPSEEK_V3,
    "gpt-oss-20b": GPT_OSS_20B,
    "llama-4-scout": LLAMA_4_SCOUT,
}
SAME = (
    "layers",
    "hidden",
    "heads",
    "kv_heads",
    "mlp_matrices",
    "experts",
    "experts_per_token",
    "moe_intermediate",
    "shared_expert_intermediate",
    "dense_layers",
    "vocab",
    "attention_kind",
    "kv_layers",
    "window_layers",
    "window_tokens",
    "kv_lora_rank",
    "qk_rope_head_dim",
    "mla_q_lora_rank",
    "kv_bytes_per_token_bf16",
)


def read(config: dict[str, object]) -> LlmModel:
    return model_from_config(json.dumps(config), "config.json")


@pytest.mark.parametrize("name", IN_TABLE)
def test_a_configuration_gives_what_the_table_has_of_the_model(name: str, specs: Specs) -> None:
    known, found = specs.llm(name), read(IN_TABLE[name])
    assert {one: getattr(found, one) for one in SAME} == {one: getattr(known, one) for one in SAME}
    assert found.params_b == pytest.approx(known.params_b, rel=0.005)
    assert found.active_params_b == pytest.approx(known.active_params_b, rel=0.005)


@pytest.mark.parametrize(
    ("config", "params_b"),
    [
        (GPT_2, 0.1244),  # 124 M, tied, with learned positions
        (BLOOM_7B, 7.07),  # bloom-7b1
        (FALCON_7B, 6.92),  # one head of keys and values for 71 of queries
        (NEMOTRON_340B, 341.0),  # "340B", two matrices of squared ReLU
    ],
)
def test_a_plain_mlp_has_two_matrices(config: dict[str, object], params_b: float) -> None:
    """A third matrix would add a third to the MLP, up to a quarter to the model."""
    found = read(config)
    assert found.mlp_matrices == 2
    assert found.params_b == pytest.approx(params_b, rel=0.005)


def test_an_unknown_type_is_judged_by_its_activation() -> None:
    assert read(LLAMA | {"model_type": "new", "hidden_act": "relu2"}).mlp_matrices == 2
    assert read(LLAMA | {"model_type": "new"}).mlp_matrices == 3


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("num_hidden_layers", "the field 'num_hidden_layers' (also called n_layer,"),
        ("hidden_size", "the field 'hidden_size'"),
        ("vocab_size", "the field 'vocab_size'"),
        ("intermediate_size", "the field 'intermediate_size'"),
    ],
)
def test_a_missing_field_is_named(missing: str, said: str) -> None:
    config = {key: value for key, value in LLAMA.items() if key != missing}
    with pytest.raises(ConfigurationError) as caught:
        read(config)
    assert said in str(caught.value)


def test_a_latent_without_its_rotary_part_is_named() -> None:
    config = {key: value for key, value in DEEPSEEK_V3.items() if key != "qk_rope_head_dim"}
    with pytest.raises(ConfigurationError, match="qk_rope_head_dim"):
        read(config)


def test_layers_that_are_no_attention_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="linear_attention"):
        read(LLAMA | {"layer_types": ["linear_attention", "full_attention"]})
    with pytest.raises(ConfigurationError, match="nemotron_h"):
        read(LLAMA | {"model_type": "nemotron_h"})


@pytest.mark.parametrize(
    "field",
    [
        {"full_attention_interval": 4},  # Qwen3-Next, which lists no layers
        {"linear_attn_config": {"full_attn_layers": [4, 8]}},  # Kimi-Linear
        {"attn_type_list": [0, 0, 0, 1]},  # MiniMax-Text-01
    ],
)
def test_layers_that_are_no_attention_are_told_by_other_fields_too(
    field: dict[str, object],
) -> None:
    with pytest.raises(ConfigurationError, match=f"{next(iter(field))} tells of layers"):
        read(LLAMA | field)
    whole = {"layer_types": ["full_attention"] * 80, "full_attention_interval": 1}
    assert read(LLAMA | whole).kv_layers == 80


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (LLAMA | {"num_attention_heads": 0}, "num_attention_heads is 0"),
        (LLAMA | {"num_key_value_heads": 0}, "num_key_value_heads is 0"),
        (LLAMA | {"hidden_size": -8192}, "hidden_size is -8192"),
        (LLAMA | {"hidden_size": 1e300}, "hidden_size is 1e[+]300"),
        (LLAMA | {"hidden_size": 32}, "64 attention heads in a hidden size of 32"),
        (MIXTRAL | {"num_experts_per_tok": 8}, "8 of 8 experts"),
        (DEEPSEEK_V3 | {"first_k_dense_replace": 99}, "99 of 61 layers"),
    ],
)
def test_a_number_that_no_model_has_is_named(config: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        read(config)


def test_a_model_of_no_experts_is_dense() -> None:
    found = read(LLAMA | {"num_local_experts": 0})
    assert (found.is_moe, found.params_b) == (False, read(LLAMA).params_b)


def test_layers_beyond_those_of_the_model_have_no_windows() -> None:
    kinds = ["sliding_attention", "full_attention"] * 14  # four more that predict ahead
    found = read(GPT_OSS_20B | {"layer_types": kinds})
    assert found.window_layers == 12


def test_a_field_that_is_no_number_is_named() -> None:
    with pytest.raises(ConfigurationError, match="hidden_size is 'large'"):
        read(LLAMA | {"hidden_size": "large"})


def test_a_model_has_the_name_of_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "My-Llama"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    assert read_config(folder).name == read_config(folder / "config.json").name == "my-llama"
    assert is_config_path(str(folder))
    assert not is_config_path("llama-3.1-70b")


def test_a_file_that_is_no_json_says_where(tmp_path: Path) -> None:
    file = tmp_path / "broken.json"
    file.write_text('{\n"a": }', encoding="utf-8")
    with pytest.raises(ConfigurationError, match="no JSON at line 2"):
        read_config(file)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("hidden_size", -5, "hidden_size is -5, which no model has"),
        ("num_key_value_heads", -8, "num_key_value_heads is -8, which no model has"),
        ("vocab_size", 10**400, "vocab_size is 1000"),
        ("num_hidden_layers", 0, "num_hidden_layers is 0, and must be above that"),
    ],
)
def test_a_count_that_no_model_has_is_named(field: str, value: int, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        read(LLAMA | {field: value})


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": ' + "9" * 5000 + "}"])
def test_a_file_of_endless_json_is_told(text: str) -> None:
    with pytest.raises(ConfigurationError, match="the JSON is too long or deep"):
        model_from_config(text, "config.json")
