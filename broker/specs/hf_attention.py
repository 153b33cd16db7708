"""The attention of a model as its config.json has it: heads, windows, latents, their parameters."""

from dataclasses import dataclass

from broker.domain.errors import ConfigurationError
from broker.specs.hf_fields import Fields

_KV = 2
_BF16_BYTES = 2
_ALTERNATING = {"gemma2": 2, "gpt_oss": 2, "gemma3": 6, "gemma3_text": 6, "cohere2": 4}
"""Types without `layer_types` in older files: one layer in so many sees the whole context."""
_OTHER_LAYERS = (
    "linear_attn_config",
    "attn_type_list",
    "full_attn_idxs",
    "block_types",
    "layers_block_type",
    "hybrid_override_pattern",
)
"""Fields of models that mix attention with other layers, where they do not list `layer_types`."""
_WINDOWED_TYPES = ("mistral", "mixtral", "phi3", "starcoder2", "qwen2", "qwen3")


@dataclass(frozen=True, slots=True)
class Attention:
    """Heads and what is kept of a token. `params` are of one layer, in units.

    `window_layers` of the layers see `window_tokens` at most; the ranks are those of MLA.
    """

    kind: str
    heads: int
    kv_heads: int
    head_dim: int
    params: float
    kv_bytes_per_layer: int
    window_layers: int | None = None
    window_tokens: int | None = None
    kv_lora_rank: int | None = None
    q_lora_rank: int | None = None
    qk_rope_head_dim: int | None = None
    v_head_dim: int | None = None


def read_attention(fields: Fields, *, hidden: int, layers: int) -> Attention:
    """Read the attention.

    Raises:
        ConfigurationError: a field is missing, or some layers are no attention.
    """
    heads = fields.count("num_attention_heads", "n_head", "n_heads", "num_heads")
    _refuse_other_layers(fields)
    if fields.count_or_none("kv_lora_rank"):
        return _latent(fields, hidden=hidden, heads=heads)
    kv_heads = _kv_heads(fields, heads)
    head_dim = fields.count_or_none("head_dim", "kv_channels", "attention_head_dim")
    dim = head_dim or hidden // heads
    if not dim:
        raise fields.wrong(f"there are {heads} attention heads in a hidden size of {hidden}")
    windows, tokens = _windows(fields, layers)
    return Attention(
        kind=_kind(fields, heads, kv_heads, windowed=windows, layers=layers),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=dim,
        params=float(2 * hidden * dim * (heads + kv_heads)),
        kv_bytes_per_layer=_KV * _BF16_BYTES * kv_heads * dim,
        window_layers=windows or None,
        window_tokens=tokens if windows else None,
    )


def _refuse_other_layers(fields: Fields) -> None:
    """Refuse networks of which some layers are no attention."""
    kinds = {str(one) for one in fields.listed("layer_types")}
    strange = {"linear_attention", "mamba", "recurrent", "conv"} & kinds
    what = f"layer_types has {min(strange)!r}" if strange else ""
    if not kinds:
        field = fields.given(*_OTHER_LAYERS)
        if (fields.count_or_none("full_attention_interval") or 1) > 1:
            field = "full_attention_interval"
        what = f"{field} tells of layers that are no full attention" if field else ""
    if what:
        raise ConfigurationError(
            f"{fields.where}: {what}: such layers are not counted",
            hint="models of attention only are; choose a near one from the table",
        )


def _latent(fields: Fields, *, hidden: int, heads: int) -> Attention:
    """Read multi-head latent attention: one latent and one rotary part a token and layer."""
    kv_rank = fields.count("kv_lora_rank")
    rope = fields.count("qk_rope_head_dim")
    plain = fields.count("qk_nope_head_dim")
    value = fields.count("v_head_dim")
    q_rank = fields.count_or_none("q_lora_rank")
    query = heads * (plain + rope)
    params = hidden * q_rank + q_rank * query if q_rank else hidden * query
    params += hidden * (kv_rank + rope) + kv_rank * heads * (plain + value)
    params += heads * value * hidden
    return Attention(
        kind="mla_dsa" if fields.count_or_none("index_topk") else "mla",
        heads=heads,
        kv_heads=1,  # one latent for all heads
        head_dim=plain + rope,
        params=float(params),
        kv_bytes_per_layer=_BF16_BYTES * (kv_rank + rope),
        kv_lora_rank=kv_rank,
        q_lora_rank=q_rank,
        qk_rope_head_dim=rope,
        v_head_dim=value,
    )


def _kv_heads(fields: Fields, heads: int) -> int:
    """Count the heads of keys and values; Falcon of the first kind has one for all queries."""
    is_falcon = fields.model_type in ("falcon", "RefinedWeb", "RefinedWebModel")
    if is_falcon and not fields.flag("new_decoder_architecture"):
        return 1 if fields.flag("multi_query", default=True) else heads
    names = ("num_key_value_heads", "num_kv_heads", "n_head_kv")
    if fields.count_or_none(*names) is not None:
        return fields.count(*names)
    return 1 if fields.flag("multi_query") else heads


def _windows(fields: Fields, layers: int) -> tuple[int, int | None]:
    """Count the layers that see a window only, and give its tokens."""
    chunk = fields.count_or_none("attention_chunk_size")
    tokens = fields.count_or_none("sliding_window") or chunk
    if not tokens or not fields.flag("use_sliding_window", default=True):
        return 0, None
    kinds = fields.listed("layer_types")[:layers]  # layers that only predict ahead come after
    if kinds:
        windowed = ("sliding_attention", "chunked_attention")
        return sum(one in windowed for one in kinds), tokens
    if chunk:  # Llama 4: every fourth layer sees all
        return layers - layers // 4, tokens
    every = fields.count_or_none("sliding_window_pattern") or _ALTERNATING.get(fields.model_type)
    if every:
        return layers - layers // every, tokens
    if fields.model_type in _WINDOWED_TYPES:
        return layers, tokens
    return 0, None


def _kind(fields: Fields, heads: int, kv_heads: int, *, windowed: int, layers: int) -> str:
    if windowed:
        if fields.count_or_none("attention_chunk_size"):
            return "hybrid_chunked"
        return "sliding" if windowed == layers else "hybrid_sliding"
    return "mha" if kv_heads == heads else "gqa"
