"""Model architectures: the figures that memory and FLOPs follow from."""

from broker.domain.quantities import Frozen


class LlmModel(Frozen):
    """One neural network, by the figures of its published configuration.

    Parameters are in billions (10⁹). `mlp_matrices` is 3 for gated MLPs, 2 for plain ones.
    `kv_bytes_per_token_bf16` is over all layers; windowed layers are counted in it too, and
    `window_layers` says how many of them stop growing at `window_tokens`.
    """

    name: str
    hf_id: str
    params_b: float
    active_params_b: float
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int | None
    mlp_matrices: int
    experts: int | None
    experts_per_token: int | None
    moe_intermediate: int | None
    shared_expert_intermediate: int | None
    dense_layers: int | None
    vocab: int
    max_context_tokens: int | None
    attention_kind: str
    kv_layers: int
    window_layers: int | None
    window_tokens: int | None
    kv_lora_rank: int | None
    qk_rope_head_dim: int | None
    mla_q_lora_rank: int | None
    v_head_dim: int | None
    kv_bytes_per_token_bf16: float
    source: str

    @property
    def is_moe(self) -> bool:
        """Say whether only a part of the parameters works on each token."""
        return self.experts is not None
