"""Training candidates: a run on whole nodes of one shape, in its fastest layout that fits."""

import math
from dataclasses import dataclass

from broker.domain.candidate import Layout, Refusal, RunHours, TrainingCandidate
from broker.domain.gpu import GpuModel, Precision, Stack
from broker.domain.llm import LlmModel
from broker.domain.margin import SafetyMargin, kept_share
from broker.domain.offer import Fabric, Link, Shape, SpotTerms
from broker.domain.workload import Method, TrainingRun
from solver.sizing import constants as common
from solver.sizing import training_constants as fixed
from solver.sizing.accelerators import is_too_old, is_two_devices, native_tflops
from solver.sizing.architecture import BILLION
from solver.sizing.links import is_on_pcie, one_way_gb_per_s
from solver.sizing.margins import margin_text
from solver.sizing.precisions import overflows
from solver.sizing.restarts import (
    checkpoint_pause_s,
    gang_rate_per_hour,
    makespan_range,
    spot_rate_per_hour,
    startup_s,
    useful_share,
    young_interval_s,
)
from solver.sizing.training_estimate import Setup, TrainingEstimate, training_estimate
from solver.sizing.training_facts import Job, Split, Wires, job, one_spread
from solver.sizing.training_layouts import fastest_split
from solver.sizing.training_memory import (
    MemoryVerdict,
    Task,
    adapter_params,
    memory_verdict,
    training_memory,
)

_FORMATS = (Precision.BF16, Precision.FP16, Precision.FP8, Precision.NVFP4)
_BITS_PER_BYTE = 8
_LEAST_USEFUL_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Ground:
    """What all candidates of one run on one shape share; `spot` None is firm capacity."""

    run: TrainingRun
    shape: Shape
    gpu: GpuModel
    model: LlmModel
    spot: SpotTerms | None
    safety_margin: SafetyMargin

    def refuse(self, reason: str, detail: str, *, gpus: int | None = None) -> Refusal:
        """Say why a shape, or a number of GPUs of it, cannot do the run."""
        subject = f"{self.shape.gpu}x{self.shape.gpu_count}/{self.shape.fabric}"
        at = f"/{gpus} GPUs" if gpus else ""
        return Refusal(workload=self.run.name, subject=subject + at, reason=reason, detail=detail)

    @property
    def precision(self) -> Precision:
        """Give the format that the matrices are computed in."""
        return self.run.computed_in(self.gpu)

    @property
    def task(self) -> Task:
        """Give what memory depends on."""
        return Task(
            model=self.model,
            method=self.run.method,
            precision=self.precision,
            stack=self.run.stack,
            sequence_length=self.run.sequence_length,
        )

    @property
    def sequences(self) -> int:
        """Count the whole sequences of the global batch."""
        return max(1, self.run.global_batch_tokens // self.run.sequence_length)


@dataclass(frozen=True, slots=True)
class Uptime:
    """What a gang's up time is worth: useful and checkpointing shares, its start, what to say."""

    useful_share: float
    checkpoint_share: float
    startup_s: float
    rate_per_hour: float
    notes: tuple[str, ...]


def ground_refusal(ground: Ground) -> Refusal | None:
    """Refuse a shape on which no number of nodes can do the run, or None."""
    gpu, count = ground.gpu, ground.shape.gpu_count
    if ground.spot is not None and not ground.run.restartable:
        return ground.refuse("not_restartable", "the run may not be interrupted: never on spot")
    if count.denominator != 1:
        return ground.refuse("fractional_gpus", f"{count} of a {gpu.name}: whole GPUs only")
    if inside_gb_per_s(ground) is None:
        detail = f"the link among {count} GPUs is {ground.shape.link}"
        return ground.refuse("link_unknown", detail)
    return _gpu_refusal(ground)


def inside_gb_per_s(ground: Ground) -> float | None:
    """Give one direction's GB/s per GPU inside a node; infinite for one GPU, None where unknown."""
    count = int(ground.shape.gpu_count)
    if count == 1:
        return math.inf
    if ground.shape.link is Link.SINGLE:
        return None
    return one_way_gb_per_s(shape=ground.shape, gpu=ground.gpu, gpus=count)


def between_gb_per_s(shape: Shape) -> float | None:
    """Give a node's GB/s to other nodes that collectives can use; None where unknown.

    InfiniBand, EFA and RoCE are RDMA and count in full; plain Ethernet is TCP through the host.
    """
    if shape.fabric is Fabric.UNKNOWN or not shape.fabric_gbit_per_s:
        return None
    gbit_per_s = shape.fabric_gbit_per_s
    if shape.fabric is Fabric.ETHERNET:
        gbit_per_s = min(gbit_per_s * fixed.TCP_SHARE, fixed.TCP_CEILING_GBIT_PER_S)
    return gbit_per_s / _BITS_PER_BYTE


def size_run(ground: Ground, gpus: int) -> TrainingCandidate | Refusal:
    """Size the run on a number of GPUs in whole nodes, or say why it cannot be done there."""
    per_node = int(ground.shape.gpu_count)
    if gpus % per_node:
        detail = f"{gpus} GPUs are no whole number of nodes of {per_node}"
        return ground.refuse("gpus_do_not_divide", detail, gpus=gpus)
    nodes = gpus // per_node
    if nodes > 1 and between_gb_per_s(ground.shape) is None:
        detail = f"{nodes} nodes: fabric {ground.shape.fabric}, bandwidth not known"
        return ground.refuse("fabric_unknown", detail, gpus=gpus)
    wires = wires_of(ground)
    work = job(
        gpu=ground.gpu,
        model=ground.model,
        precision=ground.precision,
        method=ground.run.method,
        stack=ground.run.stack,
        sequence_length=ground.run.sequence_length,
    )
    if work is None or wires is None:
        return ground.refuse("precision_unsupported", f"{ground.gpu.name}: no peak known")
    return _fastest(ground, work, wires=wires, gpus=gpus)


def wires_of(ground: Ground) -> Wires | None:
    """Give the links of a shape; None where that inside a node is not known.

    A rack whose fast link joins several nodes is one domain; a bridge or a mesh is within a node.
    """
    shape, per_node = ground.shape, int(ground.shape.gpu_count)
    inside = inside_gb_per_s(ground)
    if inside is None:
        return None
    is_rack = shape.link is Link.NVSWITCH and math.isfinite(inside)
    return Wires(
        inside_gb_per_s=inside,
        between_gb_per_s=between_gb_per_s(shape) or inside * per_node,
        gpus_per_node=float(per_node),
        is_mesh=float(shape.link is Link.XGMI and per_node > 1),
        domain_gpus=float((shape.link_domain_gpus or 0) if is_rack else 0),
    )


def uptime(ground: Ground, *, nodes: int) -> Uptime:
    """Work out checkpoints, expected losses and restarts of a gang."""
    run = ground.run
    start_s = startup_s(params_b=ground.model.params_b, restart_s=run.restart.total_seconds())
    reclaims = 0.0
    if ground.spot is not None:
        reclaims = spot_rate_per_hour(ground.spot.monthly_interruption)
    rate = gang_rate_per_hour(nodes=nodes, spot_per_hour=reclaims)
    up_s = common.SECONDS_PER_HOUR / rate
    every = f"one interruption in {1 / rate:,.1f} h of the gang"
    if not run.restartable:
        note = f"not restartable: no loss counted, yet {every}"
        return Uptime(1.0, 0.0, start_s, rate, (note,))
    full = run.method is Method.FULL
    trained = ground.model.params_b * BILLION if full else adapter_params(ground.task)
    pause_s = checkpoint_pause_s(
        trained_params=trained, storage_gb_per_s=run.checkpoint.storage_gb_per_s
    )
    asked = run.checkpoint.interval
    if asked == "auto":
        interval_s = young_interval_s(pause_s=pause_s, up_s=up_s)
    else:
        interval_s = max(asked.total_seconds(), 1.0)
    share = useful_share(interval_s=interval_s, pause_s=pause_s, restart_s=start_s, up_s=up_s)
    notes = [f"{every}, checkpoint of {pause_s:,.0f} s every {interval_s / 60:,.0f} min"]
    if ground.spot is not None and ground.spot.monthly_interruption is None:
        notes.append("spot interruptions not known: taken as one in 10 node-hours")
    return Uptime(share, pause_s / interval_s, start_s, rate, tuple(notes))


def _gpu_refusal(ground: Ground) -> Refusal | None:
    gpu, precision = ground.gpu, ground.precision
    if is_too_old(gpu):
        return ground.refuse("too_old", f"{gpu.name}: current stacks do not train on it")
    if gpu.stack not in (Stack.CUDA, Stack.ROCM) or is_two_devices(gpu):
        return ground.refuse("stack_not_modelled", f"no training formula holds for {gpu.name}")
    if precision not in _FORMATS or native_tflops(gpu=gpu, precision=precision) is None:
        detail = f"{gpu.name} does not train in {precision.upper()}"
        return ground.refuse("precision_unsupported", detail)
    if overflows(gpu=gpu, model=ground.model, precision=precision):
        detail = f"{gpu.name}: {ground.model.name} overflows in FP16"
        return ground.refuse("precision_unsupported", detail)
    return None


def _fastest(ground: Ground, work: Job, *, wires: Wires, gpus: int) -> TrainingCandidate | Refusal:
    search = fastest_split(
        work, ground.task, gpu=ground.gpu, wires=wires, gpus=gpus, sequences=ground.sequences
    )
    if not search.tried:
        detail = f"a batch of {ground.sequences} sequences does not feed {gpus} GPUs"
        return ground.refuse("batch_too_small", detail, gpus=gpus)
    if search.split is None:
        detail = f"does not fit by {search.missing_gib:.1f} GiB per GPU in any layout"
        return ground.refuse("does_not_fit", detail + _tight(ground, search.missing_gib), gpus=gpus)
    nodes = gpus // int(ground.shape.gpu_count)
    up = uptime(ground, nodes=nodes)
    if up.useful_share < _LEAST_USEFUL_SHARE:
        detail = f"only {up.useful_share:.1%} of the up time is useful: {'; '.join(up.notes)}"
        return ground.refuse("interrupted_too_often", detail, gpus=gpus)
    setup = _setup(ground, search.split, wires, nodes=nodes)
    found = training_estimate(setup)
    if found is None:
        return ground.refuse("precision_unsupported", f"{ground.gpu.name}: no peak known")
    return _candidate(ground, setup, found, up)


def _tight(ground: Ground, missing_gib: float) -> str:
    """Say that a leaner release may fit what misses by less than the doubt of the estimate."""
    needed = missing_gib + ground.gpu.memory_gib * (1 - fixed.MEMORY_RESERVE_SHARE)
    if memory_verdict(needed, ground.gpu) is MemoryVerdict.TIGHT:
        return "; tight: within the error of the estimate"
    return ""


def _setup(ground: Ground, split: Split, wires: Wires, *, nodes: int) -> Setup:
    run, shape = ground.run, ground.shape
    return Setup(
        gpu=ground.gpu,
        model=ground.model,
        precision=ground.precision,
        method=run.method,
        stack=run.stack,
        sequence_length=run.sequence_length,
        split=split,
        wires=wires,
        fabric=shape.fabric if nodes > 1 else None,
        is_pcie=is_on_pcie(shape=shape, gpus=int(shape.gpu_count)),
    )


def _candidate(
    ground: Ground, setup: Setup, found: TrainingEstimate, up: Uptime
) -> TrainingCandidate:
    run, shape, split = ground.run, ground.shape, setup.split
    nodes = split.gpus // int(shape.gpu_count)
    layout = _layout(split)
    tokens_per_s = ground.sequences * run.sequence_length / found.step_s
    kept = kept_share(ground.safety_margin, found.band)
    paced = tokens_per_s / (1 + common.OVERHEAD_SHARE) * kept
    kind = "firm" if ground.spot is None else "spot"
    hours = _hours(ground, up, paced=paced)
    memory = training_memory(setup.task, one_spread(split), gpu=ground.gpu)
    return TrainingCandidate(
        id=f"{run.name}/{shape.gpu}x{shape.gpu_count}/{shape.fabric}/{nodes}n/{kind}/{layout}",
        run=run.name,
        shape=shape,
        nodes=nodes,
        on_spot=ground.spot is not None,
        layout=layout,
        memory=memory,
        tokens_per_s=paced * up.useful_share,
        useful_share=up.useful_share,
        startup_s=up.startup_s,
        mfu=found.mfu * tokens_per_s / found.tokens_per_s,
        label=found.label,
        band=found.band,
        assumptions=_assumptions(ground, up, hours, found, peak_gib=found.peak_gib),
        hours=hours,
    )


def _layout(split: Split) -> Layout:
    return Layout(
        tensor=split.tensor,
        pipeline=split.pipeline,
        data=split.data,
        context=split.context,
        expert=split.expert,
        zero_stage=split.zero_stage,
        micro_batch=split.micro_batch,
        recomputation=split.recomputation,
        selective=split.selective,
        virtual_stages=split.virtual_stages,
    )


def _hours(ground: Ground, up: Uptime, *, paced: float) -> RunHours:
    """Split a run's hours into what they go to; on spot with the range of its makespan."""
    work_h = ground.run.tokens / paced / common.SECONDS_PER_HOUR
    steps_h = work_h / (1 + common.OVERHEAD_SHARE)
    checkpoints_h = work_h * up.checkpoint_share
    start_h = up.startup_s / common.SECONDS_PER_HOUR
    billed_h = work_h / up.useful_share + start_h
    waits = None
    if ground.spot is not None:
        waits = makespan_range(
            work_h=work_h + start_h,
            billed_h=billed_h,
            up_h=1 / up.rate_per_hour,
            down_h=fixed.SPOT_DOWN_H,
        )
    return RunHours(
        steps_h=steps_h,
        evaluation_h=work_h - steps_h,
        checkpoints_h=checkpoints_h,
        losses_h=max(0.0, billed_h - start_h - work_h - checkpoints_h),
        initialisation_h=start_h,
        billed_h=billed_h,
        makespan_h=waits or (billed_h, billed_h),
    )


def _assumptions(
    ground: Ground, up: Uptime, hours: RunHours, found: TrainingEstimate, *, peak_gib: float
) -> tuple[str, ...]:
    overhead, margin = common.OVERHEAD_SHARE, margin_text(ground.safety_margin, found.band)
    general = (
        f"{ground.run.stack} software stack of 2026, Adam, FlashAttention",
        f"{overhead:.0%} over pure steps for evaluation and data",
        margin,
        (
            f"hours: {hours.steps_h:,.1f} steps, {hours.evaluation_h:,.1f} evaluation and data, "
            f"{hours.checkpoints_h:,.1f} checkpoints, {hours.losses_h:,.1f} lost and restarts, "
            f"{hours.initialisation_h:,.2f} initialisation"
        ),
    )
    notes: tuple[str, ...] = ()
    if ground.precision is not ground.run.precision:
        notes += (f"computed in {ground.precision.upper()}",)
    if ground.run.method is not Method.FULL:
        notes += (f"adapters of rank {fixed.ADAPTER_RANK} on every matrix",)
    if memory_verdict(peak_gib, ground.gpu) is MemoryVerdict.TIGHT:
        notes += (f"memory is tight: {peak_gib:,.0f} of {ground.gpu.memory_gib:,.0f} GiB",)
    if ground.spot is not None:
        low, high = hours.makespan_h
        notes += (f"waiting for spot included, done in {low:,.0f} to {high:,.0f} h (rough)",)
    return general + notes + up.notes + found.doubts
