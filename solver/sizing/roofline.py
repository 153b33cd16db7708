"""Time of one serving step: memory, compute, host and communication of a batch.

    touched = 1 − (1 − k/E)^B
    memory  = experts·touched + others + B·kv(context)         seconds to read them
    compute = B·token + prompt work that rides along on some steps
    step    = max(memory, compute) + 0.9·min(memory, compute) + host + all-reduce + sequences·B

Hardly anything overlaps: the fit says so. Constants are those of `serving_constants`; the held-out
error stands in docs/accuracy.md. Ignores speculative decoding, sparse attention, LoRA adapters,
power caps, uneven routing (but for a factor where whole experts are dealt out).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from broker.domain.gpu import GpuModel
from broker.domain.llm import LlmModel
from solver.sizing import serving_constants as fixed
from solver.sizing.links import Interconnect
from solver.sizing.precisions import Arithmetic
from solver.sizing.serving_constants import FITTED, ServingConstants
from solver.sizing.serving_facts import Number, Replica, Split, StepFacts, step_facts


@dataclass(frozen=True, slots=True)
class StepCosts:
    """Seconds that the parts of a step take on one pipeline stage, for requests of one size."""

    experts_s: Number
    others_s: Number
    expert_share_per_token: Number
    sequence_memory_s: Number
    sequence_compute_s: Number
    prompt_token_s: Number
    host_s: Number
    sequence_host_s: Number
    prompt_host_s: Number
    reduce_s: Number
    reduce_token_s: Number
    overlap_loss_share: Number = 1.0
    interference_factor: Number = 1.0
    pipeline: Number = 1.0
    stage_loss_share: Number = 0.0
    ranks: Number = 1.0
    is_chunked: Number = 1.0

    @property
    def stage_factor(self) -> Number:
        """Give the stages that a token passes, with what uneven stages cost."""
        return self.pipeline * (1 + self.stage_loss_share * (self.pipeline - 1))


def touched_share(*, expert_share_per_token: Number, sequences: Number) -> Number:
    """Give the share of expert weights that one step reads: 1 − (1 − k/E)^B; 1 when dense.

    Takes the choices of experts as independent and even.
    """
    if isinstance(expert_share_per_token, float) and expert_share_per_token >= 1:
        return 1.0
    return 1 - (1 - expert_share_per_token) ** np.maximum(sequences, 1.0)


def step_costs(
    *,
    gpu: GpuModel,
    model: LlmModel,
    arithmetic: Arithmetic,
    tensor: int,
    link: Interconnect,
    input_tokens: int,
    output_tokens: int,
) -> StepCosts:
    """Price the parts of a step on `tensor` GPUs for requests of one size, in seconds.

    The engine is the planned one; KV cache and activations are in 16 bits.
    """
    replica = Replica(gpu, model, arithmetic, Split(tensor=tensor), link)
    facts = step_facts(replica, input_tokens=input_tokens, output_tokens=output_tokens)
    return costs_of(facts)


def costs_of(facts: StepFacts, constants: ServingConstants = FITTED) -> StepCosts:
    """Price what a step works on, in seconds."""
    flops_per_s = compute_share(facts, constants) * facts.peak_flops_per_s
    width = facts.expert_width
    width_share = width / (width + constants.expert_half_width)
    spread = 1 + facts.deals_experts * (constants.expert_spread_factor - 1)
    sparse_flops_per_s = flops_per_s * constants.expert_compute_factor * width_share / spread
    token_s = facts.other_flops / flops_per_s + facts.expert_flops / sparse_flops_per_s
    latent = facts.latent_flops / (facts.plain_flops_per_s * constants.latent_share)
    attention_flops_per_s = facts.plain_flops_per_s * constants.prompt_attention_share
    bytes_per_s = facts.bytes_per_s * _pick(constants.bandwidth_share, facts.memory_kind)
    gain = constants.host_gain_per_year ** (fixed.REFERENCE_YEAR - facts.year)
    reduce_s, reduce_token_s = reduce_times(facts, constants, gain)
    return StepCosts(
        experts_s=facts.expert_bytes / (bytes_per_s * constants.expert_bandwidth_factor),
        others_s=facts.other_bytes / bytes_per_s,
        expert_share_per_token=facts.expert_share,
        sequence_memory_s=facts.kv_bytes / (bytes_per_s * constants.kv_bandwidth_factor),
        sequence_compute_s=token_s / constants.decode_compute_factor + latent,
        prompt_token_s=token_s + facts.prompt_attention_flops / attention_flops_per_s,
        host_s=host_s(facts, constants) * gain / facts.pipeline,
        sequence_host_s=_pick(constants.sequence_host_s, facts.engine),
        prompt_host_s=_pick(constants.prompt_layer_host_s, facts.engine)
        * facts.layers
        * gain
        / facts.pipeline,
        reduce_s=reduce_s,
        reduce_token_s=reduce_token_s,
        overlap_loss_share=constants.overlap_loss_share,
        interference_factor=_pick(constants.interference_factor, facts.engine),
        pipeline=facts.pipeline,
        stage_loss_share=constants.stage_loss_share,
        ranks=facts.ranks,
        is_chunked=facts.is_chunked,
    )


def compute_share(facts: StepFacts, constants: ServingConstants) -> Number:
    """Give the share of the peak that matrices reach: by format, vendor, memory, generation."""
    years = facts.year - fixed.REFERENCE_YEAR
    by_format = (1.0, constants.gddr_compute_factor, 0.0, 0.0)
    by_vendor = (0.0, 0.0, constants.amd_compute_share, constants.other_compute_share)
    by_generation = (1.0, constants.blackwell_compute_factor, constants.ampere_compute_factor)
    share = _pick(constants.compute_share, facts.number_format)
    share = share * _pick(by_format, facts.memory_kind) + _pick(by_vendor, facts.memory_kind)
    share = share * _pick(by_generation, facts.generation)
    share = share * constants.compute_gain_per_year**years
    return np.minimum(share, fixed.LARGEST_SHARE)


def host_s(facts: StepFacts, constants: ServingConstants) -> Number:
    """Give the host time of a step at the reference year: scheduler, sampler, launches, routing."""
    layers = _pick(constants.layer_host_s, facts.engine) * facts.layers
    routing = _pick(constants.expert_layer_host_s, facts.engine) * facts.layers * facts.is_moe
    return _pick(constants.engine_host_s, facts.engine) + layers + routing


def reduce_times(
    facts: StepFacts, constants: ServingConstants, gain: Number
) -> tuple[Number, Number]:
    """Give the seconds that collectives of all layers add to a step, and for each of its tokens.

    All-reduce in a tensor-parallel group: 2 × layers × hidden × 4 B × (tp − 1)/tp ÷ link. Experts
    of attention data parallelism: two all-to-all of 2 B a value to at most four peers.
    """
    doublings = np.log2(np.maximum(facts.tensor, 2.0)) - 1
    crowding = 1 + constants.pcie_growth * doublings
    latency = facts.is_pcie * constants.pcie_latency_s * crowding
    latency = latency + (1 - facts.is_pcie) * constants.fast_link_latency_s * gain
    pcie = constants.pcie_share / crowding
    reached = facts.is_pcie * pcie + (1 - facts.is_pcie) * constants.fast_link_share
    bytes_per_s = facts.link_bytes_per_s * reached
    calls = fixed.ALL_REDUCES_PER_LAYER * facts.layers / facts.pipeline
    grouped = np.minimum(facts.tensor - 1, 1.0)
    sent = fixed.ALL_REDUCE_BYTES * facts.hidden * (facts.tensor - 1) / facts.tensor
    dealt = np.minimum(facts.ranks - 1, 1.0) * constants.exchange_factor
    peers = np.minimum(facts.ranks, fixed.EXCHANGE_PEERS)
    exchanged = dealt * fixed.EXCHANGE_BYTES * facts.hidden * peers
    return calls * latency * (grouped + dealt), calls * (sent + exchanged) / bytes_per_s


def stage_s(
    costs: StepCosts, *, sequences: Number, prompt_tokens: Number, carries: Number
) -> Number:
    """Time one stage of a step in seconds; `carries` is 1 where prompts ride along, else 0."""
    tokens = sequences + prompt_tokens
    touched = touched_share(
        expert_share_per_token=costs.expert_share_per_token, sequences=tokens * costs.ranks
    )
    memory = costs.experts_s * touched + costs.others_s + sequences * costs.sequence_memory_s
    compute = sequences * costs.sequence_compute_s + prompt_tokens * costs.prompt_token_s
    busy = np.maximum(memory, compute)
    busy = busy + costs.overlap_loss_share * np.minimum(memory, compute)
    host = costs.host_s + costs.sequence_host_s * sequences + carries * costs.prompt_host_s
    return busy + host + costs.reduce_s + costs.reduce_token_s * tokens


def step(costs: StepCosts, *, sequences: Number, prompt_tokens: Number, carries: Number) -> Number:
    """Time one step in seconds: `sequences` decode a token, `prompt_tokens` ride along.

    With pipeline stages the sequences are in as many groups, and a token passes all stages.
    Without chunked prefill prompts run in a step of their own, and the others wait.
    """
    groups = sequences / costs.pipeline
    mixed = stage_s(costs, sequences=groups, prompt_tokens=prompt_tokens, carries=carries)
    if isinstance(costs.is_chunked, float) and costs.is_chunked:
        return mixed * costs.stage_factor
    alone = stage_s(costs, sequences=groups, prompt_tokens=0.0, carries=0.0)
    prompts = stage_s(costs, sequences=0.0, prompt_tokens=prompt_tokens, carries=carries)
    apart = alone + carries * prompts
    return np.where(costs.is_chunked, mixed, apart) * costs.stage_factor


def mean_step(
    costs: StepCosts, *, sequences: Number, prompts_per_step: Number, new_tokens: Number
) -> Number:
    """Time a step in seconds on average, when `prompts_per_step` new prompts come with each.

    Below one, that share of the steps carries a whole prompt and reads the experts for it; the
    others only decode.
    """
    alone, added = _alone_and_added(costs, sequences, prompts_per_step, new_tokens)
    return alone + added


def felt_step(
    costs: StepCosts, *, sequences: Number, prompts_per_step: Number, new_tokens: Number
) -> Number:
    """Time a step as a decoding request feels it: schedulers hide part of the prompts of others."""
    alone, added = _alone_and_added(costs, sequences, prompts_per_step, new_tokens)
    return alone + costs.interference_factor * added


def mean_step_s(
    costs: StepCosts, *, sequences: float, prompts_per_step: float, input_tokens: int
) -> float:
    """Time a step of one replica in seconds on average; see `mean_step`."""
    found = mean_step(
        costs,
        sequences=sequences,
        prompts_per_step=prompts_per_step,
        new_tokens=float(input_tokens),
    )
    return float(found)


def _alone_and_added(
    costs: StepCosts, sequences: Number, prompts_per_step: Number, new_tokens: Number
) -> tuple[Number, Number]:
    """Time a step that only decodes, and what prompts add to it on average."""
    arriving = prompts_per_step / costs.pipeline
    alone = step(costs, sequences=sequences, prompt_tokens=0.0, carries=0.0)
    carried = np.maximum(arriving, 1.0) * new_tokens
    carrying = step(costs, sequences=sequences, prompt_tokens=carried, carries=1.0)
    share = np.minimum(np.maximum(arriving, 0.0), 1.0)
    return alone, share * (carrying - alone)


def _pick(table: tuple[float, ...], place: int | NDArray[np.int64]) -> Number:
    return table[place] if isinstance(place, int) else np.asarray(table)[place]
