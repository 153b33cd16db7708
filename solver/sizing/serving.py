"""Serving candidates: one replica of a service on part of a node, by precision and group size."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from broker.domain.candidate import (
    ClassRate,
    Layout,
    MemoryUse,
    Refusal,
    ServingCandidate,
)
from broker.domain.gpu import GpuModel, Stack
from broker.domain.llm import LlmModel
from broker.domain.offer import Shape
from broker.domain.workload import Service, SizeClass
from solver.sizing import constants
from solver.sizing.accelerators import is_too_old, is_two_devices
from solver.sizing.architecture import splits_over
from solver.sizing.links import Interconnect, serving_link
from solver.sizing.precisions import Arithmetic, serving_arithmetic
from solver.sizing.roofline import step_costs
from solver.sizing.serving_memory import Room, room, sequence_gib
from solver.sizing.serving_rate import (
    Demand,
    Limits,
    Operation,
    Pessimism,
    largest_operation,
    operation,
)
from solver.sizing.trust import Trust, serving_trust

TENSOR_SIZES = (1, 2, 4, 8)
_IDLE_SEQUENCES = 0.01
_NOTHING = ClassRate(requests_per_s=0, concurrency=0, ttft_s=0, tpot_s=0)
_TIGHT = 16
"""Fewer sequences than this leave nothing for bursts or another engine's reserve."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all candidates of one service on one shape share."""

    service: Service
    shape: Shape
    gpu: GpuModel
    model: LlmModel
    rtt_s: float
    safety_margin: float

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


@dataclass(frozen=True, slots=True)
class Replica:
    """One way to run a replica: number format, group size and what joins the group."""

    arithmetic: Arithmetic
    tensor: int
    link: Interconnect

    @property
    def layout(self) -> Layout:
        """Give the layout."""
        return Layout(tensor=self.tensor)

    @property
    def label(self) -> str:
        """Name the replica within its shape."""
        return f"{self.arithmetic.precision}/{self.layout}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a replica does with one size class: its rate, or why it is 0 (reason and detail)."""

    rate: ClassRate
    kv_gib: float
    max_sequences: float
    reason: str = ""
    detail: str = ""


def shape_refusal(setting: Setting) -> Refusal | None:
    """Refuse a shape that no replica can be sized on, or None."""
    gpu, count = setting.gpu, setting.shape.gpu_count
    if count.denominator != 1:
        return setting.refuse("fractional_gpus", f"{count} of a {gpu.name}: whole GPUs only")
    if is_too_old(gpu):
        return setting.refuse("too_old", f"{gpu.name}: current engines do not run on it")
    if gpu.stack in (Stack.XLA, Stack.ONEAPI):
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
        elif arithmetic.precision not in {other.precision for other in found}:
            found.append(arithmetic)
    return found, refusals


def replicas(setting: Setting, found: Sequence[Arithmetic]) -> Iterator[Replica | Refusal]:
    """List the replicas to size: each precision on 1, 2, 4, 8 GPUs that divide the node."""
    count = int(setting.shape.gpu_count)
    for tensor in (size for size in TENSOR_SIZES if count % size == 0):
        link = serving_link(shape=setting.shape, gpu=setting.gpu, gpus=tensor)
        if link is None:
            detail = f"the link among {tensor} GPUs is {setting.shape.link}"
            yield setting.refuse("link_unknown", detail, what=f"tp{tensor}")
        elif not splits_over(model=setting.model, tensor=tensor):
            detail = f"{setting.model.heads} heads ({setting.model.kv_heads} for keys and values)"
            yield setting.refuse(
                "heads_do_not_split", f"{detail} do not divide by {tensor}", what=f"tp{tensor}"
            )
        else:
            yield from (Replica(arithmetic, tensor, link) for arithmetic in found)


def size_replica(setting: Setting, replica: Replica) -> ServingCandidate | Refusal:
    """Size one replica for every size class of the service."""
    space = room(
        gpu=setting.gpu,
        model=setting.model,
        precision=replica.arithmetic.precision,
        tensor=replica.tensor,
    )
    trust = serving_trust(
        gpu=setting.gpu,
        model=setting.model,
        precision=replica.arithmetic.precision,
        is_pcie=replica.link.is_pcie,
    )
    verdicts = [
        judge(setting, replica, size=size, space=space, pessimism=trust.pessimism)
        for size in setting.service.sizes
    ]
    if not any(verdict.rate.requests_per_s for verdict in verdicts):
        detail = "; ".join(dict.fromkeys(verdict.detail for verdict in verdicts))
        return setting.refuse(verdicts[0].reason, detail, what=replica.label)
    rtt_ms = setting.rtt_s * 1000
    return ServingCandidate(
        id=f"{setting.service.name}/{setting.shape.gpu}/{setting.shape.link}/"
        f"{replica.label}@{rtt_ms:.0f}ms",
        service=setting.service.name,
        gpu=setting.shape.gpu,
        precision=replica.arithmetic.precision,
        layout=replica.layout,
        rtt_s=setting.rtt_s,
        memory=_fullest(space, verdicts),
        rates=tuple(verdict.rate for verdict in verdicts),
        label=trust.label,
        band=trust.band,
        assumptions=_assumptions(setting, replica, trust, verdicts),
    )


def judge(
    setting: Setting, replica: Replica, *, size: SizeClass, space: Room, pessimism: Pessimism
) -> Verdict:
    """Find what a replica sustains of one size class alone, or why it cannot serve it."""
    tokens = size.input_tokens + size.output_tokens
    kv_gib = sequence_gib(model=setting.model, tokens=tokens, tensor=replica.tensor)
    max_sequences = space.max_sequences(kv_gib)
    blank = Verdict(_NOTHING, kv_gib, max_sequences)
    longest = setting.model.max_context_tokens
    if longest is not None and tokens > longest:
        detail = f"{_name(size)}: {tokens} tokens > context of {longest}"
        return replace(blank, reason="context_too_long", detail=detail)
    if not max_sequences:
        detail = f"{_name(size)}: does not fit by {space.missing_gib(kv_gib):.1f} GiB per GPU"
        return replace(blank, reason="does_not_fit", detail=detail)
    demand = _demand(setting, replica, size=size, max_sequences=max_sequences)
    best = largest_operation(demand, limits=setting.limits, pessimism=pessimism)
    if best is None:
        idle = operation(
            demand, mean_sequences=_IDLE_SEQUENCES, limits=setting.limits, pessimism=pessimism
        )
        reason, detail = _miss(setting, size=size, idle=idle)
        return replace(blank, rate=_rate(idle, 0.0), reason=reason, detail=detail)
    return replace(blank, rate=_rate(best, 1 - setting.safety_margin))


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


def _demand(setting: Setting, replica: Replica, *, size: SizeClass, max_sequences: float) -> Demand:
    sizes = setting.service.sizes
    mean = sum(one.share * one.input_tokens for one in sizes)
    square = sum(one.share * one.input_tokens**2 for one in sizes)
    return Demand(
        costs=step_costs(
            gpu=setting.gpu,
            model=setting.model,
            arithmetic=replica.arithmetic,
            tensor=replica.tensor,
            link=replica.link,
            input_tokens=size.input_tokens,
            output_tokens=size.output_tokens,
        ),
        input_tokens=size.input_tokens,
        output_tokens=size.output_tokens,
        neighbour_tokens=mean,
        neighbour_variation=square / mean**2 - 1,
        max_sequences=max_sequences,
    )


def _miss(setting: Setting, *, size: SizeClass, idle: Operation) -> tuple[str, str]:
    limits, slo = setting.limits, setting.service.slo
    if idle.ttft_s > limits.ttft_s:
        limit = f"{slo.ttft.limit_s:.3g} s less {setting.rtt_s:.3g} s of network"
        late = f"TTFT {_percentile(slo.ttft.share)} {idle.ttft_s:.3g} s"
        return "ttft_missed", f"{_name(size)}: {late} > {limit}"
    late = f"TPOT {_percentile(slo.tpot.share)} {idle.tpot_s * 1000:.3g} ms"
    return "tpot_missed", f"{_name(size)}: {late} > {limits.tpot_s * 1000:.3g} ms"


def _rate(best: Operation, margin: float) -> ClassRate:
    return ClassRate(
        requests_per_s=best.requests_per_s * margin,
        concurrency=best.sequences if margin else 0.0,
        ttft_s=best.ttft_s,
        tpot_s=best.tpot_s,
    )


def _fullest(space: Room, verdicts: Sequence[Verdict]) -> MemoryUse:
    uses = (space.use(sequences=one.rate.concurrency, kv_gib=one.kv_gib) for one in verdicts)
    return max(uses, key=lambda use: use.used_gib)


def _assumptions(
    setting: Setting, replica: Replica, trust: Trust, verdicts: Sequence[Verdict]
) -> tuple[str, ...]:
    ttft, tpot = trust.pessimism.ttft_factor, trust.pessimism.tpot_factor
    general = (
        "continuous batching and chunked prefill as in vLLM, 16-bit KV cache, no prefix cache",
        f"latency tested at {ttft:g} × the estimated TTFT and {tpot:g} × the estimated TPOT",
        f"arrivals with a dispersion of {constants.ARRIVAL_DISPERSION:g} (Poisson is 1)",
        f"rates less a safety margin of {setting.safety_margin:.0%}",
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
