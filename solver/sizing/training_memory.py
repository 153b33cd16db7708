"""Peak memory of a training run on each GPU: states, activations, logits, buffers; bytes.

    states       ZeRO-1 4 + 12/d, ZeRO-2 2 + 14/d, ZeRO-3 16/d bytes per parameter (Adam, 16-bit
                 weights; 2 more for the fp32 gradients of tuned stacks), over tp·pp, embeddings
                 over tp on the first stage; experts over ep·pp, with d the copies of each
    activations  tokens·(8h + 4q + 4kv + 2·matrices·f)/tp·c per layer; recomputed: 2h, one layer
    logits       bytes·tokens·vocabulary/tp

Rajbhandari et al. 2020 and Korthikanti et al. 2022 with fitted constants. Errors on measurements
that they were not fitted to stand in docs/accuracy.md. Layouts may be arrays: see training_facts.
"""

from dataclasses import dataclass
from enum import StrEnum

from broker.domain.candidate import MemoryUse
from broker.domain.gpu import GpuModel, Precision
from broker.domain.llm import LlmModel
from broker.domain.workload import Method, TrainingStack
from solver.sizing import constants as common
from solver.sizing import training_constants as fixed
from solver.sizing.architecture import (
    BILLION,
    expert_params,
    input_embedding_params,
    is_mla,
)
from solver.sizing.training_constants import MemoryConstants
from solver.sizing.training_efficiency import STACKS
from solver.sizing.training_facts import (
    FULL_SHARDING,
    Number,
    Spread,
    choose,
    held,
    kv_width,
    larger,
    smaller,
)

_GIGA = 1e9
_HALF_BYTES = 2.0
_MASTER_GRADIENT_BYTES = 2.0
_FULL_STATE_BYTES = 16.0
_PLAIN_MATRICES = 2
"""Of an MLP without a gate."""
_LAST_STAGE_KEEPS = 0.3
_LAST_STAGE_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Task:
    """What is trained and how, as far as memory depends on it.

    `state_bytes` replaces the bytes per trained parameter (8 for weights, gradients and optimizer
    in 16 bits); `adapter_params` are trained beside frozen weights, None for the usual;
    `extra_layer_bytes` is kept per token and layer beyond the formula, as dropout before adapters;
    `is_offloaded` keeps optimizer and master weights in host memory;
    `is_eager` is without FlashAttention, `is_compiled` with fused kernels where the stack has none
    by itself; `trains_embeddings` beside adapters.
    """

    model: LlmModel
    method: Method
    precision: Precision
    stack: TrainingStack
    sequence_length: int
    state_bytes: float | None = None
    adapter_params: float | None = None
    extra_layer_bytes: float = 0.0
    is_offloaded: bool = False
    is_eager: bool = False
    is_compiled: bool = True
    has_chunked_loss: bool = False
    trains_embeddings: bool = False
    splits_sequence: bool = True

    @property
    def has_8_bit_weights(self) -> bool:
        """Say whether weights stay in 8 bits, as tuned stacks keep them."""
        is_tuned = self.stack is TrainingStack.TUNED
        return is_tuned and self.precision in (Precision.FP8, Precision.NVFP4)


class MemoryVerdict(StrEnum):
    """Whether a peak fits: tight is within the error of the estimate of the device's memory."""

    FITS = "fits"
    TIGHT = "tight"
    DOES_NOT_FIT = "does_not_fit"


def memory_verdict(peak_gib: float, gpu: GpuModel) -> MemoryVerdict:
    """Judge a peak: up to 90 % of the device fits, up to 107 % is tight."""
    share = peak_gib / gpu.memory_gib
    if share <= fixed.TIGHT_SHARE:
        return MemoryVerdict.FITS
    return MemoryVerdict.TIGHT if share <= fixed.OVER_SHARE else MemoryVerdict.DOES_NOT_FIT


@dataclass(frozen=True, slots=True)
class PeakParts:
    """Bytes on one GPU at the peak of a step."""

    weights: Number
    states: Number
    activations: Number
    logits: Number
    gathered: Number
    runtime: Number

    @property
    def total(self) -> Number:
        """Sum the parts."""
        kept = self.weights + self.states + self.activations
        return kept + self.logits + self.gathered + self.runtime


def peak_parts(task: Task, spread: Spread, constants: MemoryConstants = fixed.MEMORY) -> PeakParts:
    """Size what each GPU holds at the peak of a step, in bytes."""
    factor = constants.allocated_factor
    place = STACKS.index(task.stack)
    weights, states = weights_and_states(task, spread, constants)
    activations = activation_bytes(task, spread, constants)
    return PeakParts(
        weights=weights * factor,
        states=states * factor,
        activations=activations * factor,
        logits=logit_bytes(task, spread, constants, activations=activations) * factor,
        gathered=gathered_bytes(task, spread, constants) * factor,
        runtime=constants.runtime_gb[place] * _GIGA,
    )


def used_gib(task: Task, spread: Spread, constants: MemoryConstants = fixed.MEMORY) -> Number:
    """Sum what a split holds on each GPU at the peak, the reserve apart, in GiB."""
    return peak_parts(task, spread, constants).total / common.GIB


def state_bytes_per_param(
    *, zero_stage: Number, shards: Number, whole: float, extra: float, weights: float = 2.0
) -> Number:
    """Give bytes per trained parameter of weights, gradients, master weights and Adam moments.

    With all of them 16 and no extra: ZeRO-0 16; 1: 4 + 12/d; 2: 2 + 14/d; 3: 16/d. `extra` bytes
    are fp32 gradients, sharded from stage 2 on.
    """
    gradients = 2.0 + extra
    rest = whole - weights - 2.0
    plain = weights + gradients + rest
    first = weights + gradients + rest / shards
    second = weights + (gradients + rest) / shards
    sharded = choose(zero_stage < FULL_SHARDING, second, plain / shards)
    return choose(zero_stage < 1, plain, choose(zero_stage < 2, first, sharded))  # noqa: PLR2004 - stages


def weights_and_states(
    task: Task, spread: Spread, constants: MemoryConstants = fixed.MEMORY
) -> tuple[Number, Number]:
    """Size frozen weights, and what is trained with its optimizer, in bytes per GPU."""
    if task.method is Method.FULL:
        return 0.0, _full_state_bytes(task, spread, constants)
    parts = spread.tensor * spread.pipeline
    per_param = frozen_bytes(task, constants) / (task.model.params_b * BILLION)
    table = per_param if task.method is Method.LORA else _HALF_BYTES
    frozen = _first_stage(task.model, frozen_bytes(task, constants), spread, table_bytes=table)
    frozen = frozen / spread.tensor
    shards = choose(spread.zero_stage == FULL_SHARDING, spread.shards, 1.0)
    return frozen / shards, adapter_bytes(task, constants) / parts


def _full_state_bytes(task: Task, spread: Spread, constants: MemoryConstants) -> Number:
    """Size what is trained with its optimizer: each part is sharded over its own copies alone.

    Of experts that are dealt out there are fewer copies than data-parallel ranks, often just one.
    """
    model = task.model
    params, experts = model.params_b * BILLION, expert_params(model)
    copies = spread.shards * spread.tensor / larger(spread.tensor, spread.expert)
    dense = _first_stage(model, params - experts, spread) / spread.tensor
    dealt = held(experts, experts, spread)
    return dense * _trained_bytes(task, spread, constants, shards=spread.shards) + (
        dealt * _trained_bytes(task, spread, constants, shards=larger(copies, 1.0))
    )


def _first_stage(
    model: LlmModel, whole: float, spread: Spread, *, table_bytes: float = 1.0
) -> Number:
    """Give what the first pipeline stage has of a whole: its part of the layers, all embeddings.

    An output head of its own is on the last stage, which keeps fewer activations.
    """
    embedding = table_bytes * model.vocab * model.hidden
    tables = embedding * (2 if input_embedding_params(model) else 1)
    return choose(spread.pipeline > 1, (whole - tables) / spread.pipeline + embedding, whole)


def _trained_bytes(
    task: Task, spread: Spread, constants: MemoryConstants, *, shards: Number
) -> Number:
    is_tuned = task.stack is TrainingStack.TUNED
    whole = constants.hf_state_bytes if task.stack is TrainingStack.HF else _FULL_STATE_BYTES
    if task.is_offloaded:
        whole = 2 * _HALF_BYTES
    if task.state_bytes is not None:
        whole = task.state_bytes
    weights = constants.fp8_bytes if task.has_8_bit_weights else _HALF_BYTES
    whole -= _HALF_BYTES - weights
    extra = _MASTER_GRADIENT_BYTES if is_tuned and not task.has_8_bit_weights else 0.0
    return state_bytes_per_param(
        zero_stage=spread.zero_stage,
        shards=shards,
        whole=whole,
        extra=extra,
        weights=weights,
    )


def frozen_bytes(task: Task, constants: MemoryConstants = fixed.MEMORY) -> float:
    """Size the frozen weights below adapters, in bytes, before they are split.

    LoRA 2 B per parameter, about 1 B in FP8 on tuned stacks; QLoRA about 0.6 B for linear layers
    (NF4 with scales), 2 B for embedding and head.
    """
    params = task.model.params_b * BILLION
    if task.method is Method.LORA:
        return params * (constants.fp8_bytes if task.has_8_bit_weights else _HALF_BYTES)
    plain = embedding_params(task.model)
    return (params - plain) * constants.nf4_bytes + plain * _HALF_BYTES


def embedding_params(model: LlmModel) -> float:
    """Count the parameters of embedding and head, at most half of the model."""
    return min(2.0 * model.vocab * model.hidden, 0.5 * model.params_b * BILLION)


def adapter_bytes(task: Task, constants: MemoryConstants = fixed.MEMORY) -> float:
    """Size LoRA adapters with gradients and optimizer, and embeddings trained beside them."""
    states = task.state_bytes or fixed.ADAPTER_STATE_BYTES
    adapters = adapter_params(task) * states
    if not task.trains_embeddings:
        return adapters
    return adapters + embedding_params(task.model) * constants.embedding_state_bytes


def adapter_params(task: Task) -> float:
    """Count the parameters of the adapters: those told, or of the usual rank on every matrix."""
    told = task.adapter_params
    return lora_params(task.model, rank=fixed.ADAPTER_RANK) if told is None else told


def lora_params(model: LlmModel, *, rank: int, with_mlp: bool = True) -> float:
    """Count LoRA parameters: rank·(in + out) of each adapted matrix of each layer.

    Experts of a layer share theirs, as Megatron-Bridge has it; Transformers adapts none.
    """
    queries, keys = model.heads * model.head_dim, kv_width(model)
    sides = 2 * (model.hidden + queries) + 2 * (model.hidden + keys)
    if with_mlp:
        sides += model.mlp_matrices * (model.hidden + inner_width(model))
    return float(rank * sides * model.layers)


def layer_activation_bytes(
    task: Task,
    spread: Spread,
    constants: MemoryConstants = fixed.MEMORY,
) -> Number:
    """Size what one layer keeps of a micro-batch for the backward pass, in bytes per GPU.

    tokens·(8h + 4q + 4kv + 2·matrices·f)/tp·c: FlashAttention, 16 bits; q is the width of the
    queries (h in Llama), f the inner width that a token passes through, of all its experts
    together; latents are kept as the keys and values that they are unfolded to. Frozen weights
    need no inputs: of an MLP of two matrices only what its activation function took stays. Eager:
    Korthikanti et al. 2022.
    """
    tokens = _micro_tokens(task, spread)
    if task.is_eager:
        return tokens * task.model.hidden * _eager_bytes(task, spread)
    model = task.model
    full = task.method is Method.FULL
    inner_values = model.mlp_matrices if full or model.mlp_matrices > _PLAIN_MATRICES else 1
    kept = 8 * model.hidden + 4 * model.heads * model.head_dim
    kept += 2 * unfolded_width(model) + 2 * inner_values * inner_width(model)
    share = constants.kept_share if full else constants.kept_lora_share
    is_fused = task.is_compiled or task.stack is TrainingStack.TUNED
    whole = kept * share * (1.0 if is_fused else constants.eager_factor) + task.extra_layer_bytes
    return tokens * whole / spread.tensor


def _eager_bytes(task: Task, spread: Spread) -> Number:
    model = task.model
    whole = fixed.EAGER_SCORE_BYTES * model.heads * task.sequence_length / model.hidden
    scores = whole * (1 - spread.selective)
    if task.splits_sequence:
        return (fixed.EAGER_BYTES + scores) / spread.tensor
    return fixed.EAGER_TENSOR_BYTES + (fixed.EAGER_SPLIT_BYTES + scores) / spread.tensor


def unfolded_width(model: LlmModel) -> int:
    """Give the width of keys and values of a token together, as attention works on them."""
    if not is_mla(model):
        return 2 * model.kv_heads * model.head_dim
    return model.heads * (model.head_dim + (model.v_head_dim or model.head_dim))


def inner_width(model: LlmModel) -> int:
    """Give the width of the MLP that one token passes through: dense, or its experts together."""
    if not model.is_moe:
        return model.intermediate or 4 * model.hidden
    routed = (model.experts_per_token or 0) * (model.moe_intermediate or 0)
    return routed + (model.shared_expert_intermediate or 0)


def activation_bytes(
    task: Task, spread: Spread, constants: MemoryConstants = fixed.MEMORY
) -> Number:
    """Size the activations that are alive at the peak in bytes per GPU, logits apart.

    The first pipeline stage keeps L/pp layers of min(pp, m) micro-batches, and when interleaved
    (pp − 1)/(pp·vp) more.
    """
    layer = layer_activation_bytes(task, spread, constants)
    layers = task.model.layers
    interleaved = 1 + (spread.pipeline - 1) / (spread.pipeline * spread.virtual_stages)
    filled = smaller(spread.pipeline, spread.micro_batches) / spread.pipeline
    alive = layers * choose(spread.virtual_stages > 1, interleaved, 1.0) * filled
    border = _micro_tokens(task, spread) * constants.checkpoint_bytes * task.model.hidden
    border = border / (spread.tensor if task.splits_sequence else 1.0)
    some = constants.selective_share / constants.kept_share
    part = 1 + (some - 1) * spread.selective * (0.0 if task.is_eager else 1.0)
    whole = alive * layer * part
    again = alive * border + layer * constants.layer_factor
    return choose(spread.recomputation > 0, again, whole)


def logit_bytes(
    task: Task, spread: Spread, constants: MemoryConstants, *, activations: Number
) -> Number:
    """Size logits, their gradient and the loss in bytes per GPU.

    In a pipeline they lie on the last stage, which keeps fewer activations: half of what they
    exceed a share of those by counts.
    """
    per_logit = constants.logit_bytes[STACKS.index(task.stack)]
    whole = per_logit * _micro_tokens(task, spread) * task.model.vocab / spread.tensor
    logits = whole / (fixed.CHUNKED_LOSS if task.has_chunked_loss else 1.0)
    beyond = larger(0.0, logits - _LAST_STAGE_KEEPS * activations) * _LAST_STAGE_SHARE
    return choose(spread.pipeline > 1, beyond, logits)


def gathered_bytes(task: Task, spread: Spread, constants: MemoryConstants) -> Number:
    """Size the weights and gradients that ZeRO-3 holds whole, in bytes per GPU.

    Those of a layer; in a pipeline those of the stage, which its next micro-batch needs again.
    """
    stage = _held_params(task.model, spread)
    layer = stage * spread.pipeline / task.model.layers
    whole = choose(spread.pipeline > 1, stage, layer)
    return choose(spread.zero_stage == FULL_SHARDING, constants.gather_bytes * whole, 0.0)


def training_memory(task: Task, spread: Spread, *, gpu: GpuModel) -> MemoryUse:
    """Say what each GPU holds at the peak of a step, with 7 % of it kept free, in GiB."""
    parts = peak_parts(task, spread)
    working = parts.activations + parts.logits + parts.gathered + parts.runtime
    return MemoryUse(
        weights_gib=float(parts.weights) / common.GIB,
        states_gib=float(parts.states) / common.GIB,
        activations_gib=float(working) / common.GIB,
        reserve_gib=gpu.memory_gib * fixed.MEMORY_RESERVE_SHARE,
        available_gib=gpu.memory_gib,
    )


def _micro_tokens(task: Task, spread: Spread) -> Number:
    return spread.micro_batch * task.sequence_length / spread.context


def _held_params(model: LlmModel, spread: Spread) -> Number:
    return held(model.params_b * BILLION, expert_params(model), spread)
