"""Training candidates: a run on whole nodes of one shape, in its fastest layout that fits."""

import math
from dataclasses import dataclass

from broker.domain.candidate import Label, Layout, Refusal, TrainingCandidate
from broker.domain.gpu import GpuModel, Precision, Stack
from broker.domain.llm import LlmModel
from broker.domain.offer import Fabric, Link, Shape, SpotTerms
from broker.domain.workload import Method, TrainingRun
from solver.sizing import constants
from solver.sizing.accelerators import is_too_old, is_two_devices, native_tflops
from solver.sizing.architecture import BILLION
from solver.sizing.links import is_on_pcie, one_way_gb_per_s
from solver.sizing.restarts import (
    checkpoint_pause_s,
    gang_rate_per_hour,
    spot_rate_per_hour,
    startup_s,
    useful_share,
    young_interval_s,
)
from solver.sizing.training_layouts import fastest_split
from solver.sizing.training_memory import Task, training_memory
from solver.sizing.training_time import (
    TERA,
    Job,
    Split,
    Wires,
    attention_flops_per_token,
    job,
    linear_flops_per_token,
)
from solver.sizing.trust import training_band, training_doubts

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
    safety_margin: float

    def refuse(self, reason: str, detail: str, *, gpus: int | None = None) -> Refusal:
        """Say why a shape, or a number of GPUs of it, cannot do the run."""
        subject = f"{self.shape.gpu}x{self.shape.gpu_count}/{self.shape.fabric}"
        at = f"/{gpus} GPUs" if gpus else ""
        return Refusal(workload=self.run.name, subject=subject + at, reason=reason, detail=detail)

    @property
    def precision(self) -> Precision:
        """Give the format that the matrices are computed in: QLoRA and old GPUs have their own."""
        wished = self.run.precision
        if self.run.method is Method.QLORA or wished is Precision.BF16:
            return Precision.BF16 if self.gpu.has_bf16 else Precision.FP16
        return wished

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
    """What a gang's up time is worth: the useful share, the start, and what to say of it."""

    useful_share: float
    startup_s: float
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
        gbit_per_s = min(gbit_per_s * constants.TCP_SHARE, constants.TCP_CEILING_GBIT_PER_S)
    return gbit_per_s / _BITS_PER_BYTE


def size_run(ground: Ground, gpus: int) -> TrainingCandidate | Refusal:
    """Size the run on a number of GPUs in whole nodes, or say why it cannot be done there."""
    per_node = int(ground.shape.gpu_count)
    if gpus % per_node:
        detail = f"{gpus} GPUs are no whole number of nodes of {per_node}"
        return ground.refuse("gpus_do_not_divide", detail, gpus=gpus)
    nodes = gpus // per_node
    between = between_gb_per_s(ground.shape)
    inside = inside_gb_per_s(ground)
    if nodes > 1 and between is None:
        detail = f"{nodes} nodes: fabric {ground.shape.fabric}, bandwidth not known"
        return ground.refuse("fabric_unknown", detail, gpus=gpus)
    work = job(
        gpu=ground.gpu,
        model=ground.model,
        precision=ground.precision,
        method=ground.run.method,
        stack=ground.run.stack,
        sequence_length=ground.run.sequence_length,
    )
    if work is None or inside is None:
        return ground.refuse("precision_unsupported", f"{ground.gpu.name}: no peak known")
    wires = Wires(
        inside, between or inside, per_node, is_mesh=ground.shape.link is Link.XGMI and per_node > 1
    )
    return _fastest(ground, work, wires=wires, gpus=gpus)


def uptime(ground: Ground, *, nodes: int) -> Uptime:
    """Work out checkpoints, expected losses and restarts of a gang."""
    run = ground.run
    start_s = startup_s(params_b=ground.model.params_b, restart_s=run.restart.total_seconds())
    reclaims = 0.0
    if ground.spot is not None:
        reclaims = spot_rate_per_hour(ground.spot.monthly_interruption)
    rate = gang_rate_per_hour(nodes=nodes, spot_per_hour=reclaims)
    up_s = constants.SECONDS_PER_HOUR / rate
    every = f"one interruption in {1 / rate:,.1f} h of the gang"
    if not run.restartable:
        return Uptime(1.0, start_s, (f"not restartable: no loss counted, yet {every}",))
    full = run.method is Method.FULL
    trained = ground.model.params_b * BILLION * (1.0 if full else constants.ADAPTER_SHARE)
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
    return Uptime(share, start_s, tuple(notes))


def _gpu_refusal(ground: Ground) -> Refusal | None:
    gpu, precision = ground.gpu, ground.precision
    if is_too_old(gpu):
        return ground.refuse("too_old", f"{gpu.name}: current stacks do not train on it")
    if gpu.stack not in (Stack.CUDA, Stack.ROCM) or is_two_devices(gpu):
        return ground.refuse("stack_not_modelled", f"no training formula holds for {gpu.name}")
    if precision not in _FORMATS or native_tflops(gpu=gpu, precision=precision) is None:
        detail = f"{gpu.name} does not train in {precision.upper()}"
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
        return ground.refuse("does_not_fit", detail, gpus=gpus)
    up = uptime(ground, nodes=gpus // wires.gpus_per_node)
    if up.useful_share < _LEAST_USEFUL_SHARE:
        detail = f"only {up.useful_share:.1%} of the up time is useful: {'; '.join(up.notes)}"
        return ground.refuse("interrupted_too_often", detail, gpus=gpus)
    return _candidate(ground, work, split=search.split, step_s=search.step_s, up=up)


def _candidate(
    ground: Ground, work: Job, *, split: Split, step_s: float, up: Uptime
) -> TrainingCandidate:
    run, shape = ground.run, ground.shape
    nodes = split.gpus // int(shape.gpu_count)
    layout = Layout(
        tensor=split.tensor,
        pipeline=split.pipeline,
        data=split.data,
        zero_stage=split.zero_stage,
        micro_batch=split.micro_batch,
        recomputation=split.recomputation,
    )
    tokens_per_s = ground.sequences * run.sequence_length / step_s
    paced = tokens_per_s / (1 + constants.OVERHEAD_SHARE) * (1 - ground.safety_margin)
    doubts = training_doubts(
        gpu=ground.gpu,
        model=ground.model,
        precision=ground.precision,
        method=run.method,
        fabric=shape.fabric if nodes > 1 else None,
        is_pcie=is_on_pcie(shape=shape, gpus=int(shape.gpu_count)),
    )
    kind = "firm" if ground.spot is None else "spot"
    return TrainingCandidate(
        id=f"{run.name}/{shape.gpu}x{shape.gpu_count}/{shape.fabric}/{nodes}n/{kind}/{layout}",
        run=run.name,
        shape=shape,
        nodes=nodes,
        on_spot=ground.spot is not None,
        layout=layout,
        memory=training_memory(ground.task, split, gpu=ground.gpu),
        tokens_per_s=paced * up.useful_share,
        useful_share=up.useful_share,
        startup_s=up.startup_s,
        mfu=_mfu(ground, work, tokens_per_s=tokens_per_s, gpus=split.gpus),
        label=Label.ESTIMATED if doubts else Label.CALIBRATED,
        band=training_band(model=ground.model, stack=run.stack, doubts=doubts),
        assumptions=_assumptions(ground, up, doubts),
    )


def _mfu(ground: Ground, work: Job, *, tokens_per_s: float, gpus: int) -> float:
    """Give model FLOPs, none of them recomputed, over the dense peak of the precision."""
    flops = linear_flops_per_token(
        params=work.step_params, method=work.method, recomputation=False
    ) + attention_flops_per_token(
        layers=work.layers,
        hidden=work.hidden,
        sequence_length=work.sequence_length,
        recomputation=False,
    )
    peak = native_tflops(gpu=ground.gpu, precision=ground.precision) or math.inf
    return flops * tokens_per_s / (gpus * peak * TERA)


def _assumptions(ground: Ground, up: Uptime, doubts: tuple[str, ...]) -> tuple[str, ...]:
    overhead, margin = constants.OVERHEAD_SHARE, ground.safety_margin
    general = (
        f"{ground.run.stack} software stack, Adam, FlashAttention",
        f"{overhead:.0%} over pure steps for evaluation and data; safety margin of {margin:.0%}",
    )
    ran = ground.precision
    as_other = (f"computed in {ran.upper()}",) if ran is not ground.run.precision else ()
    return general + as_other + up.notes + doubts
