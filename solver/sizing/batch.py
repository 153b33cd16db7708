"""Batch candidates: nodes full of replicas that process a job's tokens as fast as they can.

A replica is that of serving, with its memory, layouts and step times, but nobody waits for an
answer: as many requests are in flight as fit in memory (none has a latency objective), each that
ends is followed by the next, so

    requests/s = N / (output tokens × step(N)),    N the largest that fits

and tokens/s = requests/s × tokens per request × replicas on a node × nodes. Of the precisions and
layouts that fit, the one with the most tokens/s on a node is taken: the node costs the same to all.

Nodes work apart from each other, so a lost one costs its own start and the requests in flight on
it, not the work of the others; there is no checkpoint. What an engine reads and writes is not
counted, nor the end of a job, when some replicas have nothing left to do.
"""

import math
from dataclasses import dataclass
from datetime import timedelta

from broker.domain.batch import BatchJob
from broker.domain.candidate import BatchCandidate, MemoryUse, Refusal
from broker.domain.gpu import GpuModel
from broker.domain.latency import LatencyObjective, Percentile
from broker.domain.llm import LlmModel
from broker.domain.load import LoadCurve
from broker.domain.margin import SafetyMargin, kept_share
from broker.domain.offer import Shape, SpotTerms
from broker.domain.quantities import steady
from broker.domain.workload import Service, SizeClass, Traffic
from solver.sizing.margins import margin_text
from solver.sizing.restarts import gang_rate_per_hour, spot_rate_per_hour, useful_share
from solver.sizing.serving import (
    Setting,
    arithmetics,
    demand_of,
    layout_of,
    replica_label,
    replicas,
    shape_refusal,
)
from solver.sizing.serving_facts import Replica
from solver.sizing.serving_memory import room, sequence_gib
from solver.sizing.serving_rate import steady_step_s
from solver.sizing.serving_trust import Trust, serving_trust

_S_PER_H = 3600.0
_HALVINGS = 3
_LEAST_USEFUL_SHARE = 0.05
_ROUNDING = 1e-9
_UNHURRIED = Percentile(p50=timedelta(days=1))


@dataclass(frozen=True, slots=True)
class BatchWork:
    """The tokens of one run of a job, and the whole slots of its window."""

    tokens: float
    slots: int
    slot_s: float

    @property
    def text(self) -> str:
        """Say how long the window is."""
        return f"its window has {self.slots} slots of {self.slot_s / _S_PER_H:g} h"


@dataclass(frozen=True, slots=True)
class NodeRate:
    """A node of a shape at work: its replicas, all alike, and the tokens/s of them together.

    The safety margin is taken off, interruptions are not. `request_s` is how long a request is in
    flight.
    """

    replica: Replica
    count: int
    concurrency: float
    memory: MemoryUse
    trust: Trust
    tokens_per_s: float
    request_s: float


def batch_candidates(
    job: BatchJob,
    work: BatchWork,
    shape: Shape,
    *,
    gpu: GpuModel,
    model: LlmModel,
    spot: SpotTerms | None,
    safety_margin: SafetyMargin,
) -> tuple[list[BatchCandidate], list[Refusal]]:
    """Size one run of a batch job on whole nodes of a shape.

    Args:
        job: the job; its `precisions` are tried in order.
        work: what one run of it has to do, and how long it may take.
        shape: the node's GPUs and link.
        gpu: the datasheet of `shape.gpu`.
        model: the network that `job.model` names.
        spot: what is known of interruptions on spot; None is firm capacity.
        safety_margin: share taken off every rate, or `from_error_band`: its band's bad end.

    Returns:
        A candidate for each number of nodes worth considering, all with the fastest replicas, and
        a refusal for all that cannot do the job.
    """
    setting = Setting(as_service(job), shape, gpu, model, 0.0, safety_margin)
    node, refusals = fastest_node(job, setting)
    if node is None:
        return [], refusals
    share, notes = _useful(job, node, spot)
    if share < _LEAST_USEFUL_SHARE:
        detail = f"only {share:.1%} of the up time is useful: {'; '.join(notes)}"
        return [], [*refusals, setting.refuse("interrupted_too_often", detail)]
    node_s = work.tokens / (node.tokens_per_s * share)
    counts = node_counts(work, node_s=node_s, startup_s=job.start_up.total_seconds())
    if not counts:
        detail = f"{work.text}, start_up {job.start_up} leaves nothing of them"
        return [], [*refusals, setting.refuse("window_too_short", detail)]
    one = _candidate(job, setting, node, spot=spot, share=share, notes=notes)
    return [_of_nodes(one, count) for count in counts], refusals


def node_counts(work: BatchWork, *, node_s: float, startup_s: float) -> tuple[int, ...]:
    """Choose numbers of nodes for work that takes one node `node_s` seconds; none if too late.

    Those that fill the whole window, half, a quarter and an eighth of it in one piece, and the one
    with the fewest node-slots (of equal ones the fewest nodes), as a slot is paid whole.
    """
    fewest: dict[int, int] = {}
    for slots in range(work.slots, 0, -1):
        left_s = slots * work.slot_s - startup_s
        if left_s > 0:
            fewest[slots] = max(1, math.ceil(node_s / left_s * (1 - _ROUNDING)))
    if not fewest:
        return ()
    wanted = {math.ceil(work.slots / 2**halved) for halved in range(_HALVINGS + 1)}
    cheapest = min(fewest, key=lambda slots: (slots * fewest[slots], fewest[slots]))
    chosen = {count for slots, count in fewest.items() if slots in wanted or slots == cheapest}
    return tuple(sorted(chosen))


def fastest_node(job: BatchJob, setting: Setting) -> tuple[NodeRate | None, list[Refusal]]:
    """Find the precision and layout that processes the most tokens on a node; None if none fits."""
    refusal = shape_refusal(setting)
    if refusal is not None:
        return None, [refusal]
    found, refusals = arithmetics(setting)
    best: NodeRate | None = None
    for replica in replicas(setting, found):
        sized = replica if isinstance(replica, Refusal) else _node_rate(job, setting, replica)
        if isinstance(sized, Refusal):
            refusals.append(sized)
        elif best is None or sized.tokens_per_s > best.tokens_per_s:
            best = sized
    return best, refusals


def _node_rate(job: BatchJob, setting: Setting, replica: Replica) -> NodeRate | Refusal:
    size, space, trust = setting.service.sizes[0], room(replica), serving_trust(replica)
    tokens = size.input_tokens + size.output_tokens
    longest = setting.model.max_context_tokens
    if longest is not None and tokens > longest:
        detail = f"{tokens} tokens of a request > context of {longest}"
        return setting.refuse("context_too_long", detail, what=replica_label(replica))
    kv_gib = sequence_gib(replica, tokens=tokens)
    held = space.max_sequences(kv_gib)
    if not held:
        detail = f"does not fit by {space.missing_gib(kv_gib):.1f} GiB per GPU"
        return setting.refuse("does_not_fit", detail, what=replica_label(replica))
    demand = demand_of(setting, replica, size=size, max_sequences=held)
    request_s = size.output_tokens * float(steady_step_s(demand, held))
    count = int(setting.shape.gpu_count) // replica.split.gpus
    requests_per_s = held / request_s * demand.ranks * count
    kept = kept_share(setting.safety_margin, trust.band)
    return NodeRate(
        replica=replica,
        count=count,
        concurrency=held * demand.ranks,
        memory=space.use(sequences=held, kv_gib=kv_gib),
        trust=trust,
        tokens_per_s=requests_per_s * job.tokens_per_request * kept,
        request_s=request_s,
    )


def _useful(job: BatchJob, node: NodeRate, spot: SpotTerms | None) -> tuple[float, tuple[str, ...]]:
    """Give the share of a node's up time that is work kept, and what it rests on."""
    reclaims = 0.0 if spot is None else spot_rate_per_hour(spot.monthly_interruption)
    rate = gang_rate_per_hour(nodes=1, spot_per_hour=reclaims)
    every = f"one interruption in {1 / rate:,.1f} h of a node"
    if not job.restartable:
        return 1.0, (f"not restartable: no loss counted, yet {every}",)
    share = useful_share(
        interval_s=node.request_s,
        pause_s=0.0,
        restart_s=job.start_up.total_seconds(),
        up_s=_S_PER_H / rate,
    )
    notes: tuple[str, ...] = (
        f"{every}: a start and the requests in flight, {node.request_s:,.0f} s of work",
    )
    if spot is not None and spot.monthly_interruption is None:
        notes += ("spot interruptions not known: taken as one in 10 node-hours",)
    return share, notes


def _candidate(
    job: BatchJob,
    setting: Setting,
    node: NodeRate,
    *,
    spot: SpotTerms | None,
    share: float,
    notes: tuple[str, ...],
) -> BatchCandidate:
    trust = node.trust
    return BatchCandidate(
        id=f"{job.name}/{setting.machine}/{'firm' if spot is None else 'spot'}"
        f"/{replica_label(node.replica)}",
        run=job.name,
        shape=setting.shape,
        nodes=1,
        on_spot=spot is not None,
        precision=node.replica.arithmetic.precision,
        layout=layout_of(node.replica.split),
        replicas=node.count,
        concurrency=node.concurrency,
        memory=node.memory,
        tokens_per_s=node.tokens_per_s * share,
        useful_share=share,
        startup_s=job.start_up.total_seconds(),
        label=trust.label,
        band=trust.band,
        assumptions=_assumptions(job, setting, node) + notes + trust.doubts,
    )


def _of_nodes(one: BatchCandidate, nodes: int) -> BatchCandidate:
    return one.model_copy(
        update={
            "id": f"{one.id}/{nodes}n",
            "nodes": nodes,
            "tokens_per_s": steady(one.tokens_per_s * nodes),
        }
    )


def _assumptions(job: BatchJob, setting: Setting, node: NodeRate) -> tuple[str, ...]:
    release, cached = node.replica.release, job.prefix_cache_share
    answers = f"answers of {job.output_tokens:,}" if job.output_share else "no answer"
    asked = (
        f"prompts of {job.input_tokens:,} tokens and {answers}, all of them waiting: "
        f"{node.concurrency:,.0f} in flight on a replica, as many as fit, without a latency limit"
    )
    engine = (
        f"continuous batching as in {release.engine} of {release.year:.1f}, "
        f"{node.replica.kv_bits:.0f}-bit KV cache, "
        + (f"{cached:.0%} of prompts from the prefix cache" if cached else "no prefix cache")
    )
    general = (
        asked,
        engine,
        "nodes of one offer that need no network between them, each with its part of the work",
        margin_text(setting.safety_margin, node.trust.band),
    )
    note = node.replica.arithmetic.note
    return general + ((note,) if note else ())


def as_service(job: BatchJob) -> Service:
    """Ask of a replica what the job asks, as a service that nobody waits for."""
    size = SizeClass(input_tokens=job.input_tokens, output_tokens=job.output_tokens)
    return Service(
        name=job.name,
        model=job.model,
        traffic=Traffic(requests_per_s=LoadCurve(mean=1.0, peak=1.0)),
        sizes=(size,),
        slo=LatencyObjective(ttft=_UNHURRIED, tpot=_UNHURRIED),
        precisions=job.precisions,
        users={"anywhere": 1.0},
        engine=job.engine,
        kv_precision=job.kv_precision,
        prefix_cache_share=job.prefix_cache_share,
    )
