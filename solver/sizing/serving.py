"""Serving candidates: one replica of a service on part of a node, by precision and layout."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from broker.domain.candidate import (
    ClassRate,
    Layout,
    MemoryUse,
    Refusal,
    ServingCandidate,
)
from broker.domain.engine import KvPrecision
from broker.domain.gpu import GpuModel
from broker.domain.llm import LlmModel
from broker.domain.margin import SafetyMargin, kept_share
from broker.domain.offer import Shape
from broker.domain.workload import Service, SizeClass
from solver.sizing import serving_constants as constants
from solver.sizing.accelerators import is_too_old, is_two_devices
from solver.sizing.engines import PLANNED, Engine, Release, year_of
from solver.sizing.margins import margin_text
from solver.sizing.precisions import Arithmetic, overflows, serving_arithmetic
from solver.sizing.roofline import costs_of
from solver.sizing.serving_facts import Replica, Split, fits_stack, step_facts
from solver.sizing.serving_layouts import Choice, splits
from solver.sizing.serving_memory import Room, room, sequence_gib
from solver.sizing.serving_rate import (
    IDLE_SEQUENCES,
    Demand,
    Limits,
    Operation,
    Pessimism,
    largest_operation,
    operation,
)
from solver.sizing.serving_trust import Trust, serving_trust

_NOTHING = ClassRate(requests_per_s=0, concurrency=0, ttft_s=0, tpot_s=0)
_TIGHT = 16
"""Fewer sequences than this leave nothing for bursts or another engine's reserve."""
_KV_BITS = {KvPrecision.BF16: 16.0, KvPrecision.FP8: 8.0}


@dataclass(frozen=True, slots=True)
class Setting:
    """What all candidates of one service on one shape share."""

    service: Service
    shape: Shape
    gpu: GpuModel
    model: LlmModel
    rtt_s: float
    safety_margin: SafetyMargin

    def refuse(self, reason: str, detail: str, *, what: str = "") -> Refusal:
        """Say why a shape, or one precision and layout on it, cannot carry the service."""
        subject = f"{self.shape.gpu}/{self.shape.link}" + (f"/{what}" if what else "")
        return Refusal(workload=self.service.name, subject=subject, reason=reason, detail=detail)

    @property
    def limits(self) -> Limits:
        """Give the latency objective as it stands at the replica: less the network round trip."""
        slo = self.service.slo
        return Limits(
            ttft_s=slo.ttft.limit_s - self.rtt_s,
            ttft_share=slo.ttft.share,
            tpot_s=slo.tpot.limit_s,
            tpot_share=slo.tpot.share,
        )

    @property
    def release(self) -> Release:
        """Give the engine, dated by its release, or as the newest that was measured."""
        engine, day = Engine(self.service.engine.value), self.service.engine_released_on
        return Release(engine, PLANNED.year if day is None else year_of(day))

    @property
    def machine(self) -> str:
        """Name the shape so that no other has its name: GPUs, link, and what the link is."""
        shape = self.shape
        parts = (shape.link_gb_per_s, shape.link_domain_gpus)
        link = "-".join((str(shape.link), *(f"{one:g}" for one in parts if one is not None)))
        return f"{shape.gpu}x{shape.gpu_count}/{link}"


def shape_refusal(setting: Setting) -> Refusal | None:
    """Refuse a shape that no replica can be sized on, or None."""
    gpu, count = setting.gpu, setting.shape.gpu_count
    if count.denominator != 1:
        detail = f"{count} of a {gpu.name}: whole GPUs and MIG slices only"
        return setting.refuse("fractional_gpus", detail)
    if is_too_old(gpu):
        return setting.refuse("too_old", f"{gpu.name}: current engines do not run on it")
    if not fits_stack(gpu):
        return setting.refuse(
            "stack_not_modelled", f"{gpu.name}: no formula holds for {gpu.stack} accelerators"
        )
    if is_two_devices(gpu):
        return setting.refuse(
            "split_card", f"{gpu.name} shows as two devices of half the memory; not modelled"
        )
    return None


def arithmetics(setting: Setting) -> tuple[list[Arithmetic], list[Refusal]]:
    """List how the GPU runs the service's precisions, each once, and refuse those it cannot."""
    found: list[Arithmetic] = []
    refusals: list[Refusal] = []
    for precision in setting.service.precisions:
        arithmetic = serving_arithmetic(gpu=setting.gpu, precision=precision)
        if arithmetic is None:
            detail = f"{setting.gpu.name} does not compute in {precision.upper()}"
            refusals.append(setting.refuse("precision_unsupported", detail, what=precision))
        elif overflows(gpu=setting.gpu, model=setting.model, precision=arithmetic.precision):
            detail = f"{setting.model.name} overflows in FP16: engines compute it in BF16 alone"
            refusals.append(setting.refuse("precision_unsupported", detail, what=precision))
        elif arithmetic.precision not in {other.precision for other in found}:
            found.append(arithmetic)
    return found, refusals


def replicas(setting: Setting, found: Sequence[Arithmetic]) -> Iterator[Replica | Refusal]:
    """List the replicas to size: each precision in each layout that divides the node."""
    for choice in splits(shape=setting.shape, gpu=setting.gpu, model=setting.model):
        if choice.reason:
            what = str(layout_of(choice.split))
            yield setting.refuse(choice.reason, choice.detail, what=what)
            continue
        yield from (_replica(setting, arithmetic, choice) for arithmetic in found)


def layout_of(split: Split) -> Layout:
    """Give the split as the layout of a plan."""
    return Layout(
        tensor=split.tensor,
        pipeline=split.pipeline,
        data=split.attention_data,
        expert=max(split.expert, split.attention_data),
    )


def replica_label(replica: Replica) -> str:
    """Name a replica within its shape."""
    return f"{replica.arithmetic.precision}/{layout_of(replica.split)}"


def size_replica(setting: Setting, replica: Replica) -> ServingCandidate | Refusal:
    """Size one replica for every size class of the service."""
    space, trust = room(replica), serving_trust(replica)
    verdicts = [
        judge(setting, replica, size=size, space=space, trust=trust)
        for size in setting.service.sizes
    ]
    if not any(verdict.rate.requests_per_s for verdict in verdicts):
        detail = "; ".join(dict.fromkeys(verdict.detail for verdict in verdicts))
        return setting.refuse(verdicts[0].reason, detail, what=replica_label(replica))
    return ServingCandidate(
        id=f"{setting.service.name}/{setting.machine}/{replica_label(replica)}"
        f"@{setting.rtt_s * 1000:.0f}ms",
        service=setting.service.name,
        gpu=setting.shape.gpu,
        precision=replica.arithmetic.precision,
        layout=layout_of(replica.split),
        rtt_s=setting.rtt_s,
        memory=_fullest(space, verdicts),
        rates=tuple(verdict.rate for verdict in verdicts),
        label=trust.label,
        band=trust.band,
        assumptions=_assumptions(setting, replica, trust, verdicts),
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a replica does with one size class: its rate, or why it is 0 (reason and detail)."""

    rate: ClassRate
    kv_gib: float
    max_sequences: float
    reason: str = ""
    detail: str = ""


def judge(
    setting: Setting, replica: Replica, *, size: SizeClass, space: Room, trust: Trust
) -> Verdict:
    """Find what a replica sustains of one size class alone, or why it cannot serve it."""
    tokens = size.input_tokens + size.output_tokens
    kv_gib = sequence_gib(replica, tokens=tokens)
    max_sequences = space.max_sequences(kv_gib)
    blank = Verdict(_NOTHING, kv_gib, max_sequences)
    longest = setting.model.max_context_tokens
    if longest is not None and tokens > longest:
        detail = f"{_name(size)}: {tokens} tokens > context of {longest}"
        return replace(blank, reason="context_too_long", detail=detail)
    if not max_sequences:
        detail = f"{_name(size)}: does not fit by {space.missing_gib(kv_gib):.1f} GiB per GPU"
        return replace(blank, reason="does_not_fit", detail=detail)
    demand = demand_of(setting, replica, size=size, max_sequences=max_sequences)
    best = largest_operation(demand, limits=setting.limits, pessimism=trust.pessimism)
    if best is None:
        idle = _idle(demand, setting.limits, trust.pessimism)
        reason, detail = _miss(setting, size=size, idle=idle)
        return replace(blank, rate=_rate(idle, 0.0), reason=reason, detail=detail)
    return replace(blank, rate=_rate(best, kept_share(setting.safety_margin, trust.band)))


def not_dominated(candidates: Sequence[ServingCandidate]) -> list[ServingCandidate]:
    """Drop candidates that another beats: no more GPUs per replica and no lower rate of any class.

    Of equal ones the first stays. Holds on one shape only, where a GPU costs the same to all.
    """
    kept: list[ServingCandidate] = []
    for number, one in enumerate(candidates):
        rivals = enumerate(candidates)
        if not any(
            _beats(rival, one) and (place < number or not _beats(one, rival))
            for place, rival in rivals
            if place != number
        ):
            kept.append(one)
    return kept


def _beats(one: ServingCandidate, other: ServingCandidate) -> bool:
    if one.layout.gpus > other.layout.gpus:
        return False
    pairs = zip(one.rates, other.rates, strict=True)
    return all(mine.requests_per_s >= theirs.requests_per_s for mine, theirs in pairs)


def _replica(setting: Setting, arithmetic: Arithmetic, choice: Choice) -> Replica:
    service = setting.service
    return Replica(
        gpu=setting.gpu,
        model=setting.model,
        arithmetic=arithmetic,
        split=choice.split,
        link=choice.link,
        release=setting.release,
        kv_bits=_KV_BITS[service.kv_precision],
        prefix_cache_share=service.prefix_cache_share,
        chunked_prefill=service.chunked_prefill,
    )


def demand_of(
    setting: Setting, replica: Replica, *, size: SizeClass, max_sequences: float
) -> Demand:
    """Say what requests of one size ask of a replica, beside the service's own mix."""
    sizes = setting.service.sizes
    mean = sum(one.share * one.input_tokens for one in sizes)
    square = sum(one.share * one.input_tokens**2 for one in sizes)
    new_share = 1 - replica.prefix_cache_share
    facts = step_facts(
        replica,
        input_tokens=float(size.input_tokens),
        output_tokens=float(size.output_tokens),
    )
    return Demand(
        costs=costs_of(facts),
        new_tokens=max(1.0, size.input_tokens * new_share),
        output_tokens=size.output_tokens,
        neighbour_tokens=mean * new_share,
        neighbour_variation=square / mean**2 - 1,
        max_sequences=max_sequences,
        ranks=replica.split.attention_data,
    )


def _idle(demand: Demand, limits: Limits, pessimism: Pessimism) -> Operation:
    return operation(demand, mean_sequences=IDLE_SEQUENCES, limits=limits, pessimism=pessimism)


def _miss(setting: Setting, *, size: SizeClass, idle: Operation) -> tuple[str, str]:
    limits, slo = setting.limits, setting.service.slo
    if idle.ttft_s > limits.ttft_s:
        late = f"TTFT {_percentile(slo.ttft.share)} {float(idle.ttft_s):.3g} s"
        less = f"{slo.ttft.limit_s:g} s less {setting.rtt_s:.2g} s of network"
        return "ttft_missed", f"{_name(size)}: {late} > {less}"
    late = f"TPOT {_percentile(slo.tpot.share)} {idle.tpot_s * 1000:.3g} ms"
    return "tpot_missed", f"{_name(size)}: {late} > {limits.tpot_s * 1000:.3g} ms"


def _rate(best: Operation, kept: float) -> ClassRate:
    return ClassRate(
        requests_per_s=float(best.requests_per_s * kept),
        concurrency=float(best.sequences) if kept else 0.0,
        ttft_s=float(best.ttft_s),
        tpot_s=float(best.tpot_s),
    )


def _fullest(space: Room, verdicts: Sequence[Verdict]) -> MemoryUse:
    uses = (space.use(sequences=one.rate.concurrency, kv_gib=one.kv_gib) for one in verdicts)
    return max(uses, key=lambda use: use.used_gib)


def _assumptions(
    setting: Setting, replica: Replica, trust: Trust, verdicts: Sequence[Verdict]
) -> tuple[str, ...]:
    ttft, tpot = trust.pessimism.ttft_factor, trust.pessimism.tpot_factor
    prefill = "chunked prefill" if replica.chunked_prefill else "prompts in steps of their own"
    cached = replica.prefix_cache_share
    general = (
        f"continuous batching and {prefill} as in {replica.release.engine} of "
        f"{replica.release.year:.1f}, {replica.kv_bits:.0f}-bit KV cache, "
        + (f"{cached:.0%} of prompts from the prefix cache" if cached else "no prefix cache"),
        f"latency tested at {ttft:.3g} × the estimated TTFT and {tpot:.3g} × the estimated TPOT",
        f"arrivals with a dispersion of {constants.ARRIVAL_DISPERSION:g} (Poisson is 1)",
        margin_text(setting.safety_margin, trust.band),
    )
    note = (replica.arithmetic.note,) if replica.arithmetic.note else ()
    fewest = min(one.max_sequences for one in verdicts)
    tight = (f"memory is tight: room for {fewest:.0f} sequences",) if fewest < _TIGHT else ()
    unserved = tuple(one.detail for one in verdicts if one.detail)
    return general + note + trust.doubts + tight + unserved


def _name(size: SizeClass) -> str:
    return f"{size.input_tokens} in, {size.output_tokens} out"


def _percentile(share: float) -> str:
    return f"p{share * 100:.0f}"
