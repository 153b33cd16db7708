"""Candidates of disaggregated serving: replicas that only prefill, or only decode, on a shape.

What joins the pools of a place is told in *classes* of links. A replica has its GPUs' part of its
node's fabric, rounded down to a power of two in GB/s, as its own class, and may also be in any
slower one. So each pair of a prefill and a decode replica has a class in common, in which a cache
is sent at no more than either of them has.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from broker.domain.candidate import ClassRate, Refusal, ServingCandidate
from broker.domain.margin import kept_share
from broker.domain.offer import Shape
from broker.domain.pool import Pool, Role
from solver.sizing import serving_constants as constants
from solver.sizing.disaggregated import (
    Request,
    decode_pool,
    link_load,
    prefill_pool,
    transfer_s,
)
from solver.sizing.margins import margin_text
from solver.sizing.serving import (
    Setting,
    arithmetics,
    layout_of,
    not_dominated,
    replica_label,
    replicas,
    shape_refusal,
)
from solver.sizing.serving_facts import Replica
from solver.sizing.serving_layouts import GROUP_SIZES
from solver.sizing.serving_memory import room, sequence_gib
from solver.sizing.serving_trust import Trust, pool_trust
from solver.sizing.training import between_gb_per_s

FASTEST_GB_PER_S = 32.0
"""Links from here on are one class: a faster one hardly shortens the first token's time."""


def link_class(shape: Shape, gpus: int) -> float | None:
    """Give the class of the link that so many GPUs of a node have; None where it is not known.

    Of plain Ethernet it is what TCP reaches, as for the collectives of training.
    """
    node_gb_per_s = between_gb_per_s(shape)
    if node_gb_per_s is None:
        return None
    own = node_gb_per_s * gpus / float(shape.gpu_count)
    return min(2.0 ** math.floor(math.log2(own)), FASTEST_GB_PER_S)


def link_classes(shape: Shape) -> frozenset[float]:
    """List the classes that replicas of a node have for their own."""
    sizes = (one for one in GROUP_SIZES if shape.gpu_count % one == 0)
    classes = (link_class(shape, one) for one in sizes)
    return frozenset(one for one in classes if one is not None)


def pool_candidates(setting: Setting, pool: Pool) -> tuple[list[ServingCandidate], list[Refusal]]:
    """Size one replica of a pool on part of a node, for each precision and group size.

    Returns:
        The candidates of the pool's class that no other of their format on this shape beats, and a
        refusal for all that cannot be in it.
    """
    refusal = shape_refusal(setting)
    if refusal is not None:
        return [], [refusal]
    found, refusals = arithmetics(setting)
    candidates: list[ServingCandidate] = []
    for replica in replicas(setting, found):
        sized = replica if isinstance(replica, Refusal) else _sized(setting, pool, replica)
        if isinstance(sized, Refusal):
            refusals.append(sized)
        else:
            candidates.append(sized)
    return list(_best(candidates)), refusals


def _best(candidates: Iterable[ServingCandidate]) -> Iterator[ServingCandidate]:
    """Drop what another one beats that fits to the same replicas of the other pool."""
    ordered = sorted(candidates, key=lambda one: one.precision)
    for _, alike in groupby(ordered, key=lambda one: one.precision):
        yield from not_dominated(list(alike))


@dataclass(frozen=True, slots=True)
class _Work:
    """What a replica does of requests: its rate, and what its memory holds for them."""

    rate: ClassRate
    kv_gib: float
    told: str


def _sized(setting: Setting, pool: Pool, replica: Replica) -> ServingCandidate | Refusal:
    label = f"{pool.role}/{replica_label(replica)}"
    refusal = _misfit(setting, pool, replica, label)
    if refusal is not None:
        return refusal
    trust = pool_trust(replica)
    work = _prefilled if pool.role is Role.PREFILL else _decoded
    done = work(setting, pool, replica, trust)
    if not done.rate.requests_per_s:
        return setting.refuse(f"{pool.role}_misses", done.told, what=label)
    return ServingCandidate(
        id=f"{setting.service.name}/{setting.machine}/{label}"
        f"/{pool.link_gb_per_s:g}GBps@{setting.rtt_s * 1000:.0f}ms",
        service=setting.service.name,
        gpu=setting.shape.gpu,
        precision=replica.arithmetic.precision,
        layout=layout_of(replica.split),
        rtt_s=setting.rtt_s,
        memory=room(replica).use(sequences=done.rate.concurrency, kv_gib=done.kv_gib),
        rates=(done.rate,),
        label=trust.label,
        band=trust.band,
        assumptions=(*_assumptions(setting, pool, replica, trust), done.told),
        pool=pool,
    )


def _misfit(setting: Setting, pool: Pool, replica: Replica, label: str) -> Refusal | None:
    """Refuse a replica with a slower link than the pool's, or whose model has no such context."""
    own = link_class(setting.shape, replica.split.gpus)
    if own is None or own < pool.link_gb_per_s:
        detail = (
            "no fabric between nodes is known" if own is None else f"{own:g} GB/s of the fabric"
        )
        return setting.refuse("pool_link", detail, what=label)
    (size,) = setting.service.sizes
    longest, tokens = setting.model.max_context_tokens, size.input_tokens + size.output_tokens
    if longest is not None and tokens > longest:
        detail = f"{tokens} tokens > context of {longest}"
        return setting.refuse("context_too_long", detail, what=label)
    kv_gib = sequence_gib(replica, tokens=tokens if pool.role is Role.DECODE else size.input_tokens)
    space = room(replica)
    if not space.max_sequences(kv_gib):
        detail = f"does not fit by {space.missing_gib(kv_gib):.1f} GiB per GPU"
        return setting.refuse("does_not_fit", detail, what=label)
    return None


def _request(setting: Setting) -> Request:
    (size,) = setting.service.sizes
    return Request(float(size.input_tokens), float(size.output_tokens))


def _prefilled(setting: Setting, pool: Pool, replica: Replica, trust: Trust) -> _Work:
    request = _request(setting)
    sent_s = transfer_s(replica, request, link_gb_per_s=pool.link_gb_per_s)
    found = prefill_pool(replica, request, sent_s, limits=setting.limits, pessimism=trust.pessimism)
    told = (
        f"a cache is sent in {sent_s * 1000:.3g} ms, which is part of the time to the first token, "
        f"{found.ttft_s:.3g} s of {setting.limits.ttft_s:.3g} s; its link sends caches in "
        f"{float(link_load(found.requests_per_s, sent_s)):.0%} of the time"
    )
    rate = ClassRate(
        requests_per_s=found.requests_per_s * kept_share(setting.safety_margin, trust.band),
        concurrency=found.sequences,
        ttft_s=found.ttft_s,
        tpot_s=0.0,
    )
    return _Work(rate, sequence_gib(replica, tokens=request.input_tokens), told)


def _decoded(setting: Setting, pool: Pool, replica: Replica, trust: Trust) -> _Work:
    request = _request(setting)
    sent_s = transfer_s(replica, request, link_gb_per_s=pool.link_gb_per_s)
    found = decode_pool(replica, request, sent_s, limits=setting.limits, pessimism=trust.pessimism)
    busy = float(link_load(found.requests_per_s, sent_s))
    told = (
        f"answers wait for no prompt: {found.tpot_s * 1000:.3g} ms a token "
        f"of {setting.limits.tpot_s * 1000:.3g} ms; its link takes caches in {busy:.0%} of the time"
    )
    rate = ClassRate(
        requests_per_s=found.requests_per_s * kept_share(setting.safety_margin, trust.band),
        concurrency=found.sequences,
        ttft_s=0.0,
        tpot_s=found.tpot_s,
    )
    tokens = request.input_tokens + request.output_tokens
    return _Work(rate, sequence_gib(replica, tokens=tokens), told)


def _assumptions(setting: Setting, pool: Pool, replica: Replica, trust: Trust) -> tuple[str, ...]:
    other = Role.DECODE if pool.role is Role.PREFILL else Role.PREFILL
    cached = replica.prefix_cache_share
    ttft, tpot = trust.pessimism.ttft_factor, trust.pessimism.tpot_factor
    note = (replica.arithmetic.note,) if replica.arithmetic.note else ()
    joined = (
        f"{pool.role} alone, beside a {other} pool in {pool.place}: {replica.kv_bits:.0f}-bit KV "
        f"cache over {pool.fabric} at {pool.link_gb_per_s:g} GB/s a replica, its GPUs' part of the "
        "slower node's documented fabric, rounded down to a power of two; taken to join all nodes "
        "of the place"
    )
    return (
        joined,
        f"{cached:.0%} of prompts from the prefix cache" if cached else "no prefix cache",
        f"latency tested at {ttft:.3g} × the estimated TTFT and {tpot:.3g} × the estimated TPOT",
        f"arrivals with a dispersion of {constants.ARRIVAL_DISPERSION:g} (Poisson is 1)",
        margin_text(setting.safety_margin, trust.band),
        *note,
        *trust.doubts,
    )
