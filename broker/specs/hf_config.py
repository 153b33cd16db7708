"""Models that are in no table: from the config.json that stands beside their weights.

Fields are those of Hugging Face transformers, under any of the names that its model classes give
them. Parameters are counted from the architecture: embeddings, attention, MLPs or experts, routers
and norms; biases are left out (below 0.3 % in published models). A plain MLP of two matrices is
told from a gated one of three by `model_type`, and by the activation where the type is not known.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from broker.domain.errors import ConfigurationError
from broker.domain.llm import LlmModel
from broker.specs.hf_attention import Attention, read_attention
from broker.specs.hf_fields import Fields

_BILLION = 1e9
_GATED = 3
_PLAIN = 2
_PLAIN_TYPES = frozenset(
    {
        "gpt2",
        "gptj",
        "gpt_neo",
        "gpt_neox",
        "gpt_neox_japanese",
        "gpt_bigcode",
        "bloom",
        "falcon",
        "RefinedWeb",
        "RefinedWebModel",
        "nemotron",
        "opt",
        "mpt",
        "phi",
        "codegen",
        "starcoder2",
        "persimmon",
        "xglm",
    }
)
_PLAIN_ACTIVATIONS = frozenset(["relu", "relu2", "gelu_new", "gelu_fast"])
_TIED_TYPES = frozenset(
    {
        "gpt2",
        "gpt_neo",
        "gpt_bigcode",
        "bloom",
        "falcon",
        "opt",
        "mpt",
        "gemma",
        "gemma2",
        "gemma3",
        "gemma3_text",
        "cohere",
        "cohere2",
        "starcoder2",
    }
)
_POSITION_TYPES = frozenset(["gpt2", "gpt_neo", "gpt_bigcode", "opt"])
_UNCOUNTED = frozenset(
    {
        "mamba",
        "mamba2",
        "jamba",
        "nemotron_h",
        "falcon_h1",
        "bamba",
        "rwkv",
        "zamba2",
    }
)
_UNGATED_WIDTH = 4
"""GPT-2, GPT-J, BLOOM and Falcon leave the MLP's width out: four times the hidden size."""


@dataclass(frozen=True, slots=True)
class _Mlp:
    """Widths of the MLPs, and how many layers have experts."""

    matrices: int
    intermediate: int | None
    experts: int | None = None
    experts_per_token: int | None = None
    moe_intermediate: int | None = None
    shared_intermediate: int | None = None
    dense_layers: int | None = None


def is_config_path(text: str) -> bool:
    """Say whether somebody means a file or folder by a model, not a name."""
    return text.endswith(".json") or Path(text).is_dir()


def read_config(path: Path) -> LlmModel:
    """Read a model from its config.json, or from the folder that has one.

    Raises:
        ConfigurationError: the file cannot be read, a field is missing (the message has its name),
            or its layers are of a kind that is not counted.
    """
    file = path / "config.json" if path.is_dir() else path
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise ConfigurationError(
            f"cannot read model configuration {str(file)!r}", hint="check the path"
        ) from cause
    return model_from_config(text, str(file), name=_name(file))


def model_from_config(text: str, where: str, *, name: str = "") -> LlmModel:
    """Make a model of the text of a config.json; `where` stands in messages and as the source.

    Raises:
        ConfigurationError: as `read_config`.
    """
    fields = _fields(text, where)
    hidden = fields.count("hidden_size", "n_embd", "d_model")
    layers = fields.count("num_hidden_layers", "n_layer", "n_layers", "num_layers")
    size = _Size(hidden, layers, fields.count("vocab_size", "padded_vocab_size"))
    attention = read_attention(fields, hidden=hidden, layers=layers)
    stated = fields.text("_name_or_path") or ""
    called = name or stated.rpartition("/")[2] or fields.model_type or "config"
    model = _model(fields, attention, _mlp(fields, hidden=hidden, layers=layers), size)
    return model.model_copy(
        update={
            "name": called.lower(),
            "hf_id": stated,
            "source": f"configuration file {where}",
        }
    )


@dataclass(frozen=True, slots=True)
class _Size:
    """Width, depth and words."""

    hidden: int
    layers: int
    vocab: int


def _model(fields: Fields, attention: Attention, mlp: _Mlp, size: _Size) -> LlmModel:
    """Put the parts together, without a name."""
    total, active = _params(fields, attention, mlp, size)
    return LlmModel(
        name="",
        hf_id="",
        params_b=total / _BILLION,
        active_params_b=active / _BILLION,
        layers=size.layers,
        hidden=size.hidden,
        heads=attention.heads,
        kv_heads=attention.kv_heads,
        head_dim=attention.head_dim,
        intermediate=mlp.intermediate,
        mlp_matrices=mlp.matrices,
        experts=mlp.experts,
        experts_per_token=mlp.experts_per_token,
        moe_intermediate=mlp.moe_intermediate,
        shared_expert_intermediate=mlp.shared_intermediate,
        dense_layers=mlp.dense_layers,
        vocab=size.vocab,
        max_context_tokens=fields.count_or_none(
            "max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx"
        ),
        attention_kind=attention.kind,
        kv_layers=size.layers,
        window_layers=attention.window_layers,
        window_tokens=attention.window_tokens,
        kv_lora_rank=attention.kv_lora_rank,
        qk_rope_head_dim=attention.qk_rope_head_dim,
        mla_q_lora_rank=attention.q_lora_rank,
        v_head_dim=attention.v_head_dim,
        kv_bytes_per_token_bf16=float(attention.kv_bytes_per_layer * size.layers),
        source="",
    )


def _fields(text: str, where: str) -> Fields:
    try:
        data: object = json.JSONDecoder().decode(text)
    except json.JSONDecodeError as cause:
        raise ConfigurationError(
            f"{where}: no JSON at line {cause.lineno}: {cause.msg}",
            hint="give the config.json of a Hugging Face model",
        ) from cause
    except (ValueError, RecursionError) as cause:  # thousands of digits or of brackets
        raise ConfigurationError(
            f"{where}: the JSON is too long or deep",
            hint="give the config.json of a Hugging Face model",
        ) from cause
    if not isinstance(data, dict):
        raise ConfigurationError(
            f"{where}: no JSON object", hint="give the config.json of a Hugging Face model"
        )
    inner = data.get("text_config")
    fields = Fields({**data, **inner} if isinstance(inner, dict) else data, where)
    if fields.flag("is_encoder_decoder") or fields.model_type in _UNCOUNTED:
        kind = fields.model_type or "encoder and decoder"
        raise ConfigurationError(
            f"{where}: model_type {kind!r}: its layers are of a kind that is not counted",
            hint="models of attention and MLPs or experts are; choose a near one from the table",
        )
    return fields


def _mlp(fields: Fields, *, hidden: int, layers: int) -> _Mlp:
    matrices = _matrices(fields)
    experts = fields.count_or_none(
        "num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"
    )
    if not experts or experts == 1:
        widths = ("intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim")
        width = fields.count_or_none(*widths)
        if width is None and matrices == _GATED:
            raise fields.missing(*widths)
        return _Mlp(matrices, width or _UNGATED_WIDTH * hidden)
    width = fields.count_or_none("moe_intermediate_size", "expert_ffn_hidden_size")
    plain = fields.count_or_none("intermediate_size_mlp")  # Llama 4: of its dense layers
    dense = _dense_layers(fields, layers)
    return _Mlp(
        matrices=matrices,
        intermediate=(plain or fields.count("intermediate_size")) if dense else None,
        experts=experts,
        experts_per_token=_chosen(fields, experts),
        moe_intermediate=width or fields.count("intermediate_size"),
        shared_intermediate=_shared(fields, width),
        dense_layers=dense,
    )


def _chosen(fields: Fields, experts: int) -> int:
    """Count the experts that a token passes through, some of all."""
    chosen = fields.count(
        "num_experts_per_tok", "experts_per_token", "moe_top_k", "num_experts_per_token"
    )
    if chosen >= experts:
        raise fields.wrong(
            f"a token passes through {chosen} of {experts} experts, not some of them"
        )
    return chosen


def _matrices(fields: Fields) -> int:
    if fields.model_type in _PLAIN_TYPES:
        return _PLAIN
    activation = fields.text("hidden_act", "activation_function", "hidden_activation")
    is_plain = activation in _PLAIN_ACTIVATIONS or fields.text("mlp_type") == "default"
    return _PLAIN if is_plain else _GATED


def _shared(fields: Fields, width: int | None) -> int | None:
    """Give the width of all shared experts of a layer together; None without one."""
    stated = fields.count_or_none("shared_expert_intermediate_size")
    if stated is not None:
        return stated
    if fields.model_type.startswith("llama4"):
        return fields.count("intermediate_size")
    shared = fields.count_or_none("n_shared_experts", "num_shared_experts")
    return shared * width if shared and width else None


def _dense_layers(fields: Fields, layers: int) -> int:
    """Count the layers of a sparse model that have a plain MLP."""
    dense = fields.count_or_none("first_k_dense_replace")
    if dense is None:
        listed = fields.listed("mlp_only_layers")
        every = fields.count_or_none("decoder_sparse_step", "interleave_moe_layer_step") or 1
        dense = len(listed) + (layers - layers // every)
    if dense > layers:
        raise fields.wrong(f"{dense} of {layers} layers have a plain MLP")
    return dense


def _params(fields: Fields, attention: Attention, mlp: _Mlp, size: _Size) -> tuple[float, float]:
    """Count all parameters, and those that work on one token."""
    hidden, layers = size.hidden, size.layers
    is_tied = fields.flag("tie_word_embeddings", default=fields.model_type in _TIED_TYPES)
    table = size.vocab * hidden
    outside = float(table if is_tied else 2 * table) + hidden
    if fields.model_type in _POSITION_TYPES:
        outside += hidden * (fields.count_or_none("n_positions", "max_position_embeddings") or 0)
    every = attention.params + 2 * hidden
    one = mlp.matrices * hidden
    dense = mlp.dense_layers or 0 if mlp.experts else layers
    plain = dense * one * (mlp.intermediate or 0)
    if not mlp.experts:
        total = outside + layers * every + plain
        return total, total
    sparse = layers - dense
    beside = hidden * mlp.experts + one * (mlp.shared_intermediate or 0)
    expert = one * (mlp.moe_intermediate or 0)
    common = outside + layers * every + plain + sparse * beside
    total = common + sparse * mlp.experts * expert
    return total, common + sparse * (mlp.experts_per_token or 0) * expert


def _name(file: Path) -> str:
    return file.resolve().parent.name if file.name == "config.json" else file.stem
