"""Time of one training step, part by part; the form is fitted to public measurements.

    linear    = t·F/(e·peak)·(1 + s/k)·(1 + w·tp/h)   t tokens per GPU, k tokens per micro-batch
    attention = t·A/(a·peak16)
    memory    = passes·t·L·h·2 B ÷ bandwidth, and what experts and 4-bit weights move
    compute   = S·(linear + attention + memory), at least the launches of every layer
    step      = (compute + tensor + context + experts)·(1 + (pp − 1)/(vp·m))
                + exposed data-parallel time + optimizer

Experts have matrices of their own width and batch. The constants trade against each other: they
explain a step, not each part of it. Ignores stragglers, failures and the data loader. Errors on
measurements that the constants were not fitted to stand in docs/accuracy.md.
"""

import math
from dataclasses import dataclass

import numpy as np

from solver.sizing import training_constants as fixed
from solver.sizing.training_constants import TimeConstants
from solver.sizing.training_facts import (
    FULL_SHARDING,
    Job,
    Number,
    Spread,
    Wires,
    choose,
    gpu_tokens,
    held_params,
    larger,
    place,
    smaller,
)
from solver.sizing.training_traffic import (
    context_s,
    exchange_s,
    tensor_s,
    traffic_s,
)

GIGA = 1e9
TERA = 1e12
BYTES_16 = 2.0


@dataclass(frozen=True, slots=True)
class StepParts:
    """Seconds of a step by part; `exposed_s` is what no work hides of `traffic_s`."""

    compute_s: Number
    tensor_s: Number
    context_s: Number
    exchange_s: Number
    bubble_s: Number
    traffic_s: Number
    exposed_s: Number
    optimizer_s: Number

    @property
    def step_s(self) -> Number:
        """Sum the parts that follow each other."""
        busy = self.compute_s + self.tensor_s + self.context_s + self.exchange_s
        return busy + self.bubble_s + self.exposed_s + self.optimizer_s


def step_parts(
    job: Job, spread: Spread, wires: Wires, constants: TimeConstants = fixed.TIME
) -> StepParts:
    """Time a step, part by part, in seconds."""
    gain = _gain(job, constants)
    compute = compute_s(job, spread, constants) * gain
    tensor = tensor_s(job, spread, wires, constants)
    context = context_s(job, spread, wires, constants)
    exchange = exchange_s(job, spread, wires, constants) * gain
    busy = compute + tensor + context + exchange
    filled = larger(1.0, spread.micro_batches)
    bubble = busy * (spread.pipeline - 1) / (spread.virtual_stages * filled)
    traffic = traffic_s(job, spread, wires, constants)
    window = (busy + bubble) * hiding_share(spread)
    hidden = larger(0.0, traffic - fixed.OVERLAP_SHARE * window)
    return StepParts(
        compute_s=compute,
        tensor_s=tensor,
        context_s=context,
        exchange_s=exchange,
        bubble_s=bubble,
        traffic_s=traffic,
        exposed_s=hidden + constants.exposed_share * traffic,
        optimizer_s=optimizer_s(job, spread),
    )


def step_s(job: Job, spread: Spread, wires: Wires, constants: TimeConstants = fixed.TIME) -> Number:
    """Time one step in seconds: work with the bubble, exposed traffic, optimizer."""
    slow = 1 + (constants.encoder_factor - 1) * job.is_encoder
    return step_parts(job, spread, wires, constants).step_s * slow


def passes(job: Job, spread: Spread, constants: TimeConstants) -> Number:
    """Count FLOPs per parameter and token: 6, 4 with frozen weights; + 2 of the forward pass again.

    Selective recomputation repeats a part of the forward pass.
    """
    again = 2 * spread.recomputation + constants.selective_share * spread.selective
    return 4 + 2 * job.is_full + again


def linear_s(job: Job, spread: Spread, constants: TimeConstants) -> Number:
    """Time the matrices of a step on one GPU in seconds, experts at their own efficiency."""
    tokens = spread.micro_batch * job.sequence_length / spread.context
    ranks = larger(spread.expert / spread.tensor, 1.0)
    expert_tokens = tokens * job.experts_per_token * ranks / job.experts
    dense = _small(tokens, constants) * (1 + constants.narrow_width * spread.tensor / job.hidden)
    expert = _small(expert_tokens, constants) * constants.expert_factor
    expert = expert * (1 + constants.expert_half_width / job.expert_width)
    work = job.dense_step_params * dense + job.expert_step_params * expert
    share = place(constants.peak_share, job.rating)
    is_plain = smaller(1.0, job.stack)
    cast = 1 + (constants.low_precision_factor - 1) * job.is_low_precision * is_plain
    rate = share * job.peak_tflops * TERA
    return gpu_tokens(job, spread) * passes(job, spread, constants) * work * cast / rate


def attention_s(job: Job, spread: Spread, constants: TimeConstants) -> Number:
    """Time attention in seconds: 6·L·h·s FLOPs per token (causal), + 2·L·h·s recomputed."""
    per_token = (6 + 2 * spread.recomputation) * (1 + job.is_encoder)
    flops = per_token * job.attention_layers * job.query_width * job.sequence_length
    share = place(constants.attention_share, job.attention)
    is_uneven = (job.stack == 1) & (spread.context > 1)
    uneven = choose(is_uneven, constants.uneven_context_factor, 1.0)
    return gpu_tokens(job, spread) * flops * uneven / (share * job.peak_16_tflops * TERA)


def memory_s(job: Job, spread: Spread, constants: TimeConstants) -> Number:
    """Time what moves through memory beside the matrices, in seconds."""
    routed = job.is_sparse * job.experts_per_token * (job.hidden + job.expert_width)
    width = constants.memory_passes * job.hidden + constants.expert_passes * routed
    repeat = 1 + (fixed.RECOMPUTED_PASS - 1) * spread.recomputation
    moved = gpu_tokens(job, spread) * job.layers * width * BYTES_16 * repeat
    weights = job.params / (spread.tensor * spread.pipeline)
    unpacked = job.is_quantized * spread.micro_batches * weights * constants.dequantize_bytes
    return (moved + unpacked) / (job.memory_gb_per_s * GIGA)


def compute_s(job: Job, spread: Spread, constants: TimeConstants) -> Number:
    """Time the work of one GPU in a step, in seconds, without communication or bubble."""
    matrices = linear_s(job, spread, constants) + attention_s(job, spread, constants)
    slow = place(constants.slowdown, job.stack)
    work = (matrices + memory_s(job, spread, constants)) * slow
    repeat = 1 + (fixed.RECOMPUTED_PASS - 1) * spread.recomputation
    hooks = 1 + (constants.full_launch_factor - 1) * job.is_full
    launches = (fixed.TUNED_LAUNCH_S, fixed.TORCH_LAUNCH_S, constants.hf_launch_s)
    launch = place(launches, job.stack) * choose(job.stack > 1, hooks, 1.0)
    floor = job.layers / spread.pipeline * spread.micro_batches * launch * repeat
    joined: Number = at_least(work, floor)
    return joined


def at_least(work_s: Number, floor_s: Number) -> Number:
    """Join work and its floor smoothly: (work⁴ + floor⁴)^(1/4)."""
    return (work_s**fixed.FLOOR_POWER + floor_s**fixed.FLOOR_POWER) ** (1 / fixed.FLOOR_POWER)


def hiding_share(spread: Spread) -> Number:
    """Give the share of a step's work that its data-parallel traffic can hide behind, of 1.

    ZeRO-3 sends in every micro-batch. Else gradients go out with the last micro-batch, or with the
    last of each pipeline stage: min(1, pp·vp/m).
    """
    last = smaller(1.0, spread.pipeline * spread.virtual_stages / spread.micro_batches)
    return choose(spread.zero_stage == FULL_SHARDING, 1.0, last)


def optimizer_s(job: Job, spread: Spread) -> Number:
    """Time the optimizer's pass over memory: 30 B·P_l/shards + 8 B·P_l; none for adapters."""
    shards = choose(spread.zero_stage >= 1, spread.shards, 1.0)
    moved = fixed.OPTIMIZER_STATE_BYTES / shards + fixed.OPTIMIZER_WEIGHT_BYTES
    return job.is_full * moved * held_params(job, spread) / (job.memory_gb_per_s * GIGA)


def model_flops_per_token(job: Job) -> Number:
    """Count FLOPs per token that the model needs, none of them recomputed: 6N + 6·L·h·s."""
    attention = 6 * job.attention_layers * job.query_width * job.sequence_length
    params = job.dense_step_params + job.expert_step_params
    return (4 + 2 * job.is_full) * params + attention


def _small(tokens: Number, constants: TimeConstants) -> Number:
    return 1 + constants.small_batch_tokens / tokens


def _gain(job: Job, constants: TimeConstants) -> Number:
    """Give the factor of a release's age: tuned stacks, and all that is sparse, get faster."""
    years = fixed.REFERENCE_YEAR - job.year
    tuned = choose(job.stack == 0, math.log(constants.gain_per_year), 0.0)
    sparse = job.is_sparse * math.log(constants.expert_gain_per_year)
    gain: Number = np.exp(years * (tuned + sparse))
    return gain
