"""Figures of a neural network that memory and time follow from; parameters in units."""

from broker.domain.llm import LlmModel
from solver.sizing import serving_constants as constants

BILLION = 1e9
_TIED_BELOW = 1.5
_PLAIN_BITS = 16.0


def expert_params(model: LlmModel) -> float:
    """Count the parameters that lie in routed experts.

        W_e = (P − A) / (1 − k/E)      from  P = W_e + W_r  and  A = W_e·k/E + W_r

    P all, A active parameters, E experts of which a token uses k. 0 for dense models.
    """
    if not model.experts or not model.experts_per_token:
        return 0.0
    idle_share = 1 - model.experts_per_token / model.experts
    return (model.params_b - model.active_params_b) * BILLION / idle_share


def input_embedding_params(model: LlmModel) -> float:
    """Count the input embedding where it is a matrix of its own, else 0.

    A tied embedding works as the output head, so its FLOPs count. What a dense model has beyond
    its layers is one vocabulary × hidden matrix when tied, two when not; sparse ones are untied.
    """
    table = float(model.vocab * model.hidden)
    if model.is_moe or model.intermediate is None:
        return table
    attention = 2 * model.hidden * model.head_dim * (model.heads + model.kv_heads)
    mlp = model.mlp_matrices * model.hidden * model.intermediate
    beyond = model.params_b * BILLION - model.layers * (attention + mlp)
    return table if beyond > _TIED_BELOW * table else 0.0


def is_mla(model: LlmModel) -> bool:
    """Say whether the model keeps a compressed latent instead of keys and values."""
    return model.kv_lora_rank is not None


def window_share(model: LlmModel) -> float:
    """Give the share of the layers with a KV cache whose cache stops growing at the window."""
    if not model.window_layers or not model.window_tokens:
        return 0.0
    return model.window_layers / model.kv_layers


def kv_shards(*, model: LlmModel, tensor: int) -> int:
    """Count the parts that a sequence's KV cache is cut into: at most one per KV head.

    MLA keeps one latent for all heads, so every GPU of the group holds a full copy.
    """
    return 1 if is_mla(model) else min(tensor, model.kv_heads)


def kv_bytes(*, model: LlmModel, tokens: float, bits: float = _PLAIN_BITS) -> float:
    """Size the KV cache of one sequence over all layers, in bytes; `bits` are of a cached value.

    MHA, GQA and MLA by the model's bytes per token; windowed and chunked layers hold at most the
    window; layers of linear attention hold a state of fixed size instead, which engines keep in its
    own format whatever that of the cache is. Ignores page rounding.
    """
    share = window_share(model)
    held = tokens * (1 - share) + min(tokens, model.window_tokens or 0) * share
    return model.kv_bytes_per_token_bf16 * bits / _PLAIN_BITS * held + state_bytes(model)


def index_bytes(*, model: LlmModel, tokens: float) -> float:
    """Size the keys by which sparse latent attention finds what to read, in bytes.

    Every token has one in each layer, in 8 bits whatever the cache is in; all are kept, few read.
    """
    if model.attention_kind != "mla_dsa":
        return 0.0
    return tokens * model.layers * constants.INDEX_BYTES


def state_bytes(model: LlmModel) -> float:
    """Size the recurrent state of one sequence in layers without a KV cache, in bytes."""
    return (model.layers - model.kv_layers) * model.hidden * constants.STATE_BYTES_PER_HIDDEN


def prompt_attention_flops(*, model: LlmModel, tokens: float, cached_tokens: float = 0.0) -> float:
    """Count the attention FLOPs of a prompt: 4 × heads × head size × Σ layers (context/2) × tokens.

    A causal token sees half the prompt on average, a windowed one at most the window. Tokens found
    in a prefix cache are seen, but compute nothing: the rest sees (cached + tokens)/2 on average.
    """
    windowed = model.kv_layers * window_share(model)
    context = (tokens + cached_tokens) / 2
    seen = (model.kv_layers - windowed) * context
    seen += windowed * min(context, model.window_tokens or 0)
    return 4 * model.heads * model.head_dim * seen * (tokens - cached_tokens)


def decode_attention_flops(*, model: LlmModel, context_tokens: float) -> float:
    """Count the attention FLOPs of one decoded token, which matter for MLA only.

    In the absorbed form each head works on the latent of every past token:
    2 × heads × (2 × latent rank + rope size) × context, per layer. Else the KV read dominates: 0.
    """
    if model.kv_lora_rank is None:
        return 0.0
    width = constants.MLA_KEY_VALUE_RANKS * model.kv_lora_rank + (model.qk_rope_head_dim or 0)
    return 2.0 * model.heads * width * context_tokens * model.kv_layers


def splits_over(*, model: LlmModel, tensor: int) -> bool:
    """Say whether attention heads divide over a tensor-parallel group, as engines require."""
    if model.heads % tensor:
        return False
    return is_mla(model) or model.kv_heads % tensor == 0 or tensor % model.kv_heads == 0
