"""What a training step sends, and how long the links need: tensor, context, expert, data, pipeline.

A group that fits into the reach of the fast link stays on it. Beyond, tensor, context and expert
groups have one GPU's part of the NICs; a data-parallel ring has those of its whole domain, shared
by the tensor group.
"""

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
    domain_gpus,
    gpu_tokens,
    held_params,
    larger,
    smaller,
)

_GIGA = 1e9
_BYTES_16 = 2.0


def tensor_s(job: Job, spread: Spread, wires: Wires, constants: TimeConstants) -> Number:
    """Time the collectives of tensor parallelism in seconds.

    loss · t·L · 8·(tp − 1) · h·2 B ÷ link, half as much again when recomputing. In a mesh a group
    has the links among its own members.
    """
    values = gpu_tokens(job, spread) * job.layers * job.hidden * _BYTES_16
    sent = fixed.TENSOR_COLLECTIVES * (spread.tensor - 1) * values
    repeat = 1 + (fixed.TENSOR_RECOMPUTED - 1) * spread.recomputation
    peers, members = larger(wires.gpus_per_node - 1, 1.0), larger(spread.tensor - 1, 1.0)
    part = choose(wires.is_mesh > 0, smaller(1.0, members / peers), 1.0)
    link = _group_gb_per_s(spread.tensor, spread, wires) * part
    return constants.tensor_loss * repeat * sent / (link * _GIGA)


def context_s(job: Job, spread: Spread, wires: Wires, constants: TimeConstants) -> Number:
    """Time the keys and values that context ranks pass on, in seconds: loss·12·t·L·kv·(cp − 1)."""
    values = gpu_tokens(job, spread) * job.attention_layers * job.kv_width
    sent = fixed.CONTEXT_COLLECTIVES * values * (spread.context - 1)
    link = _group_gb_per_s(spread.tensor * spread.context, spread, wires)
    return constants.context_loss * sent / (link * _GIGA)


def exchange_s(job: Job, spread: Spread, wires: Wires, constants: TimeConstants) -> Number:
    """Time the all-to-all of experts in seconds: 4·t·k·h·2 B of what leaves a GPU."""
    values = gpu_tokens(job, spread) * job.experts_per_token * job.hidden * _BYTES_16
    away = (spread.expert - 1) / spread.expert
    sent = job.is_sparse * fixed.EXCHANGES * job.layers * values * away
    group = larger(spread.tensor, spread.expert)
    is_near = group <= domain_gpus(spread, wires)
    loss = choose(is_near, constants.exchange_loss, constants.exchange_nic_loss)
    return loss * sent / (_group_gb_per_s(group, spread, wires) * _GIGA)


def data_bytes(job: Job, spread: Spread) -> Number:
    """Size the data-parallel traffic of one GPU in a step, in bytes.

    ZeRO-1 and 2: 4 B·P_l·(n − 1)/n, gradients out and weights back. ZeRO-3: 6 B·P_l·m·(n − 1)/n,
    weights gathered twice and gradients once per micro-batch; a pipeline keeps what it gathered.
    Adapters: none, or the gathers of ZeRO-3.
    """
    share = (spread.shards - 1) / spread.shards
    held = held_params(job, spread)
    rounds = choose(spread.pipeline > 1, 1.0, larger(1.0, spread.micro_batches))
    full = 6 * held * rounds
    reduced = 4 * held * job.is_full
    return choose(spread.zero_stage == FULL_SHARDING, full, reduced) * share


def pipeline_bytes(job: Job, spread: Spread) -> Number:
    """Size the activations and gradients that a GPU hands to the next stage, in bytes."""
    tokens = spread.micro_batches * spread.micro_batch * job.sequence_length / spread.context
    handed = 2 * spread.virtual_stages * tokens * job.hidden * _BYTES_16 / spread.tensor
    return choose(spread.pipeline > 1, handed, 0.0)


def traffic_s(job: Job, spread: Spread, wires: Wires, constants: TimeConstants) -> Number:
    """Time the data-parallel and pipeline traffic of a step in seconds, before any overlap.

    Grows with log2 of the fast domains.
    """
    domain = domain_gpus(spread, wires)
    per_gpu = _nic_gb_per_s(wires)
    ring = smaller(wires.inside_gb_per_s, per_gpu * domain / spread.tensor)
    is_near = spread.tensor * spread.shards <= domain
    domains = larger(1.0, spread.gpus / domain)
    loss = constants.data_loss * (1 + constants.data_loss_per_doubling * np.log2(domains))
    data = data_bytes(job, spread) / choose(is_near, wires.inside_gb_per_s, ring)
    alone = spread.gpus <= domain
    hop = smaller(wires.inside_gb_per_s, per_gpu)
    handed = pipeline_bytes(job, spread) / choose(alone, wires.inside_gb_per_s, hop)
    return (loss * data + handed) / _GIGA


def _group_gb_per_s(group: Number, spread: Spread, wires: Wires) -> Number:
    """Give one GPU's GB/s inside a group: the fast link, or its part of the node's NICs."""
    is_near = group <= domain_gpus(spread, wires)
    slow = smaller(wires.inside_gb_per_s, _nic_gb_per_s(wires))
    return choose(is_near, wires.inside_gb_per_s, slow)


def _nic_gb_per_s(wires: Wires) -> Number:
    return wires.between_gb_per_s / wires.gpus_per_node
