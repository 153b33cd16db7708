"""Disaggregated serving: prompts on one pool of GPUs, answers on another, the cache sent between.

    prefill rate  = load / step(0, prompt)                 one prompt after another
    decode rate   = N / (output × step(N, no prompts))     N that memory and pace allow
    transfer      = cache of the prompt / link between the pools

A pool's GPUs may be of another model than the other's. Pools are balanced where prefill replicas ×
prefill rate equals decode replicas × decode rate. A prompt's cache stays where it was made until it
is sent, so that a prefill replica holds those in work and those on their way. Ignores layer-wise
transfer that hides behind the prefill (so the transfer counts in full), queues for the link, and
misses of the router.
"""

import math
from dataclasses import dataclass

import numpy as np

from solver.sizing import serving_constants as constants
from solver.sizing.queueing import residual_s, sequences_at, wait_s
from solver.sizing.roofline import costs_of, step
from solver.sizing.serving_facts import GIGA, Number, Replica, step_facts
from solver.sizing.serving_memory import room, sequence_gib
from solver.sizing.serving_rate import Limits, Pessimism

_GRID = 400
_FULLEST = 0.95
"""Prompts queue without bounds at a load of 1."""
_HALF = 0.5
_MOST = 2048


@dataclass(frozen=True, slots=True)
class Request:
    """The size of a request, in tokens."""

    input_tokens: float
    output_tokens: float


@dataclass(frozen=True, slots=True)
class PrefillPool:
    """One replica that only prefills: requests per second within the first token's limit.

    `sequences` are those whose cache it holds, each rank for itself, as the percentile meets them.
    """

    requests_per_s: float
    ttft_s: float
    transfer_s: float
    sequences: float = 0.0


@dataclass(frozen=True, slots=True)
class DecodePool:
    """One replica that only decodes: requests per second, and sequences in flight."""

    requests_per_s: float
    sequences: float
    tpot_s: float


@dataclass(frozen=True, slots=True)
class Disaggregated:
    """Both pools of one deployment; a rate of 0 means that a limit cannot be kept."""

    prefill: PrefillPool
    decode: DecodePool

    @property
    def prefill_per_decode(self) -> float:
        """Give the prefill replicas that keep one decode replica busy; infinite if they cannot."""
        if not self.prefill.requests_per_s:
            return math.inf
        return self.decode.requests_per_s / self.prefill.requests_per_s


def disaggregated(
    prefill: Replica,
    decode: Replica,
    request: Request,
    *,
    link_gb_per_s: float,
    limits: Limits,
    pessimism: Pessimism,
) -> Disaggregated:
    """Size one replica of each pool for requests of one size.

    Args:
        prefill: the replica that works on prompts.
        decode: the replica that answers; of the same network and cache format.
        request: the size.
        link_gb_per_s: what joins the pools, one direction in GB/s of one replica.
        limits: the latency objective.
        pessimism: factors from estimated to tested times.
    """
    sent_s = transfer_s(prefill, request, link_gb_per_s=link_gb_per_s)
    return Disaggregated(
        prefill=prefill_pool(prefill, request, sent_s, limits=limits, pessimism=pessimism),
        decode=decode_pool(
            decode,
            request,
            transfer_s(decode, request, link_gb_per_s=link_gb_per_s),
            limits=limits,
            pessimism=pessimism,
        ),
    )


def transfer_s(replica: Replica, request: Request, *, link_gb_per_s: float) -> float:
    """Time the cache of a whole prompt over the link between the pools, in seconds."""
    held = replica.sequence_bytes_per_gpu(request.input_tokens)
    shards = replica.split.pipeline * min(replica.split.tensor, replica.model.kv_heads)
    parts = replica.split.pipeline if replica.model.kv_lora_rank else shards
    return held * parts / (link_gb_per_s * GIGA)


def prefill_pool(
    replica: Replica, request: Request, sent_s: float, *, limits: Limits, pessimism: Pessimism
) -> PrefillPool:
    """Find the largest rate of prompts that memory holds and whose first token comes in time.

    The transfer counts as part of the time to the first token, and so does the queue for the link,
    over which caches go one after the other.
    """
    facts = step_facts(
        replica, input_tokens=request.input_tokens, output_tokens=request.output_tokens
    )
    alone = step(costs_of(facts), sequences=0.0, prompt_tokens=facts.new_tokens, carries=1.0)
    own = float(alone)
    load = np.linspace(0.0, _FULLEST, _GRID)
    dispersion = constants.ARRIVAL_DISPERSION
    rest = residual_s(mean_s=own, squared_variation=0.0, dispersion=dispersion)
    waits = wait_s(utilization=load, residual=rest, share=limits.ttft_share)
    link = link_load(load / own * replica.split.attention_data, sent_s)
    sending = residual_s(mean_s=sent_s, squared_variation=0.0, dispersion=dispersion)
    queue = wait_s(utilization=link, residual=sending, share=limits.ttft_share)
    first = (own + np.asarray(waits)) * pessimism.ttft_factor + sent_s + np.asarray(queue)
    kv_gib = sequence_gib(replica, tokens=request.input_tokens)
    held = sequences_at(
        mean=load * (1 + (sent_s + np.asarray(queue)) / own),
        share=limits.ttft_share,
        dispersion=dispersion,
    )
    fits = np.asarray(held) <= room(replica).max_sequences(kv_gib)
    kept = np.flatnonzero((first <= limits.ttft_s) & fits & (link <= _FULLEST))
    place = int(kept[-1]) if kept.size else 0
    rate = float(load[place]) / own * replica.split.attention_data if kept.size else 0.0
    return PrefillPool(rate, float(first[place]), sent_s, float(np.asarray(held)[place]))


def link_load(requests_per_s: Number, sent_s: float) -> Number:
    """Give the part of the time in which a replica's link is sending or taking in a cache."""
    return requests_per_s * sent_s


def decode_pool(
    replica: Replica, request: Request, sent_s: float, *, limits: Limits, pessimism: Pessimism
) -> DecodePool:
    """Find the most sequences that memory holds and that all get their tokens in time.

    No more requests are taken than fill the replica's link half of the time: what they then wait
    for each other on it is half a transfer in the mean, and is not in any time.
    """
    facts = step_facts(
        replica, input_tokens=request.input_tokens, output_tokens=request.output_tokens
    )
    costs = costs_of(facts)
    kv_gib = sequence_gib(replica, tokens=request.input_tokens + request.output_tokens)
    held = room(replica).max_sequences(kv_gib)
    mean = np.geomspace(0.01, _MOST, _GRID)
    dispersion = constants.ARRIVAL_DISPERSION
    crowd = sequences_at(mean=mean, share=limits.tpot_share, dispersion=dispersion)
    pace = step(costs, sequences=crowd, prompt_tokens=0.0, carries=0.0) * pessimism.tpot_factor
    kept = np.flatnonzero((np.asarray(pace) <= limits.tpot_s) & (np.asarray(crowd) <= held))
    if not kept.size:
        return DecodePool(0.0, 0.0, float(np.asarray(pace)[0]))
    place = int(kept[-1])
    many = float(mean[place])
    usual = step(costs, sequences=many, prompt_tokens=0.0, carries=0.0)
    rate = many / (request.output_tokens * float(usual)) * replica.split.attention_data
    most = _HALF / sent_s if sent_s else math.inf
    return DecodePool(
        min(rate, most), float(np.asarray(crowd)[place]), float(np.asarray(pace)[place])
    )
