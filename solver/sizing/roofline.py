"""Time of one serving step: memory, compute, host and communication of a batch.

    touched = 1 − (1 − k/E)^B
    memory  = experts·touched + others + B·kv(context)         seconds to read them
    compute = B·token + prompt work that rides along on some steps
    step    = memory + compute + host + all-reduce + 10.6 µs·B

Memory and compute add: the fit finds no overlap. Form and constants are fitted to public
measurements (see constants); the held-out median error of the time per token is 16 %. Ignores
speculative decoding, prefix caches, sparse attention, LoRA adapters, power caps, uneven experts.
"""

import math
from dataclasses import dataclass

from broker.domain.gpu import GpuModel, Precision
from broker.domain.llm import LlmModel
from solver.sizing import constants
from solver.sizing.accelerators import gpu_class, serving_reach
from solver.sizing.architecture import (
    BILLION,
    decode_attention_flops,
    kv_bytes,
    kv_shards,
    prompt_attention_flops,
)
from solver.sizing.links import Interconnect
from solver.sizing.precisions import Arithmetic, weight_bytes

GIGA = 1e9
TERA = 1e12


@dataclass(frozen=True, slots=True)
class StepCosts:
    """Seconds that the parts of a step take on one replica, for requests of one size."""

    experts_s: float
    others_s: float
    expert_share_per_token: float
    sequence_memory_s: float
    sequence_compute_s: float
    prompt_token_s: float
    host_s: float
    reduce_s: float
    reduce_token_s: float


def touched_share(*, expert_share_per_token: float, sequences: float) -> float:
    """Give the share of expert weights that one step reads: 1 − (1 − k/E)^B; 1 when dense.

    Takes the choices of experts as independent and even.
    """
    if expert_share_per_token >= 1:
        return 1.0
    return 1 - math.pow(1 - expert_share_per_token, max(sequences, 1.0))


def compute_share(class_share: float, *, model: LlmModel, precision: Precision) -> float:
    """Give the share of the peak that matrices reach: less for experts and 4-bit floats."""
    share = class_share * (constants.MOE_COMPUTE_SHARE if model.is_moe else 1.0)
    is_fp4 = precision in (Precision.NVFP4, Precision.MXFP4)
    return share * (constants.FP4_COMPUTE_SHARE if is_fp4 else 1.0)


def host_s(*, layers: int, engine_s: float = constants.VLLM_STEP_S) -> float:
    """Give the host time of a step in seconds: scheduler and sampler, and launches per layer."""
    return engine_s + constants.LAYER_HOST_S * layers


def reduce_token_s(*, layers: int, hidden: int, tensor: int, link: Interconnect) -> float:
    """Give the seconds that the all-reduces of all layers add per token of a step.

    2 × layers × hidden × 4 B × (tp − 1)/tp ÷ link
    """
    if tensor == 1:
        return 0.0
    sent = constants.ALL_REDUCE_BYTES * hidden * (tensor - 1) / tensor
    return constants.ALL_REDUCES_PER_LAYER * layers * sent / (link.gb_per_s * GIGA)


def step_costs(
    *,
    gpu: GpuModel,
    model: LlmModel,
    arithmetic: Arithmetic,
    tensor: int,
    link: Interconnect,
    input_tokens: int,
    output_tokens: int,
    engine_s: float = constants.VLLM_STEP_S,
) -> StepCosts:
    """Price the parts of a step on `tensor` GPUs for requests of one size, in seconds.

    Decode reads the context at half of the output. KV cache and activations are in 16 bits.
    """
    reach = serving_reach(gpu_class(gpu))
    share = compute_share(reach.compute_share, model=model, precision=arithmetic.precision)
    flops_per_s = tensor * arithmetic.tflops * TERA * share
    bytes_per_s = gpu.memory_gb_per_s * GIGA * reach.bandwidth_share
    weights = weight_bytes(model=model, precision=arithmetic.precision)
    context = input_tokens + output_tokens / 2
    kv_per_gpu = kv_bytes(model=model, tokens=context) / kv_shards(model=model, tensor=tensor)
    token_flops = 2 * model.active_params_b * BILLION
    attention = decode_attention_flops(model=model, context_tokens=context)
    prompt_attention = prompt_attention_flops(model=model, tokens=input_tokens) / input_tokens
    return StepCosts(
        experts_s=weights.experts / tensor / bytes_per_s,
        others_s=weights.others / tensor / bytes_per_s,
        expert_share_per_token=_expert_share(model),
        sequence_memory_s=kv_per_gpu / bytes_per_s,
        sequence_compute_s=(token_flops + attention)
        / (flops_per_s * constants.DECODE_COMPUTE_SHARE),
        prompt_token_s=(token_flops + prompt_attention) / flops_per_s,
        host_s=host_s(layers=model.layers, engine_s=engine_s),
        reduce_s=constants.ALL_REDUCES_PER_LAYER * model.layers * link.latency_s,
        reduce_token_s=reduce_token_s(
            layers=model.layers, hidden=model.hidden, tensor=tensor, link=link
        ),
    )


def step_s(costs: StepCosts, *, sequences: float, prompt_tokens: float) -> float:
    """Time one step in seconds: `sequences` decode a token, `prompt_tokens` ride along."""
    touched = touched_share(
        expert_share_per_token=costs.expert_share_per_token, sequences=sequences + prompt_tokens
    )
    memory = costs.experts_s * touched + costs.others_s + sequences * costs.sequence_memory_s
    compute = sequences * costs.sequence_compute_s + prompt_tokens * costs.prompt_token_s
    sent = costs.reduce_s + costs.reduce_token_s * (sequences + prompt_tokens)
    host = costs.host_s + constants.SEQUENCE_HOST_S * sequences
    return memory + compute + sent + host


def mean_step_s(
    costs: StepCosts, *, sequences: float, prompts_per_step: float, input_tokens: int
) -> float:
    """Time a step in seconds on average, when `prompts_per_step` new prompts come with each.

    Below one, that share of the steps carries a whole prompt and reads the experts for it; the
    others only decode.
    """
    if prompts_per_step >= 1:
        carried = prompts_per_step * input_tokens
        return step_s(costs, sequences=sequences, prompt_tokens=carried)
    alone = step_s(costs, sequences=sequences, prompt_tokens=0.0)
    carrying = step_s(costs, sequences=sequences, prompt_tokens=float(input_tokens))
    return (1 - prompts_per_step) * alone + prompts_per_step * carrying


def _expert_share(model: LlmModel) -> float:
    if not model.experts or not model.experts_per_token:
        return 1.0
    return model.experts_per_token / model.experts
