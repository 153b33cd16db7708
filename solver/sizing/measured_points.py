"""From measured points to corrections: each point against the estimate of its own configuration."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from fractions import Fraction

from broker.domain.gpu import GpuModel, Stack
from broker.domain.llm import LlmModel
from broker.domain.offer import Fabric, Link, Shape
from broker.domain.parts import Window
from broker.domain.workload import HardwareWish, TrainingRun
from solver.sizing import constants
from solver.sizing.candidates import training_candidates
from solver.sizing.engines import PLANNED, Release, engine_of
from solver.sizing.links import serving_link
from solver.sizing.measured import (
    FIRST_SPREAD,
    LEAST_RUNS,
    LEAST_SERVING_POINTS,
    RUN_SPREAD,
    STEP_SPREAD,
    Correction,
    Deployment,
    OwnNumbers,
    Residual,
    ServingCorrection,
    ServingPoint,
    Spread,
    TrainedOn,
    TrainingPoint,
)
from solver.sizing.precisions import serving_arithmetic
from solver.sizing.serving_estimate import Estimate, serving_estimate
from solver.sizing.serving_facts import Replica, Split

GpuOf = Callable[[str], GpuModel]
ModelOf = Callable[[str], LlmModel]

_ANY_WINDOW = Window(
    earliest=datetime(2026, 1, 1, tzinfo=UTC), deadline=datetime(2026, 1, 2, tzinfo=UTC)
)
"""A run must have one; its rate does not depend on it."""

_CARDS = ("PCIe", "NVL")
_RACK, _RACK_GPUS = "NVL72", 72
_BOARD_GPUS = 8


def own_numbers(
    serving: Iterable[ServingPoint],
    training: Iterable[TrainingPoint],
    *,
    gpu_of: GpuOf,
    model_of: ModelOf,
) -> OwnNumbers:
    """Correct every deployment that has points enough: three of serving, one run of training.

    A point without an estimate (the formulas refuse its configuration) corrects nothing.
    """
    steps: dict[Deployment, list[Residual]] = defaultdict(list)
    firsts: dict[Deployment, list[Residual]] = defaultdict(list)
    for point in serving:
        gpu, model = gpu_of(point.deployment.gpu), model_of(point.deployment.model)
        for kept, residual in (
            (steps, step_residual(point, gpu=gpu, model=model)),
            (firsts, first_residual(point, gpu=gpu, model=model)),
        ):
            if residual is not None:
                kept[point.deployment].append(residual)
    return OwnNumbers(
        serving={
            one: ServingCorrection(
                points=len(points),
                step=Correction(tuple(points), STEP_SPREAD),
                first=_enough(firsts[one], FIRST_SPREAD),
            )
            for one, points in steps.items()
            if len(points) >= LEAST_SERVING_POINTS
        },
        training=_corrected_runs(training, gpu_of, model_of),
    )


def _corrected_runs(
    training: Iterable[TrainingPoint], gpu_of: GpuOf, model_of: ModelOf
) -> dict[TrainedOn, Correction]:
    runs: dict[TrainedOn, list[Residual]] = defaultdict(list)
    for run in training:
        found = run_residual(run, gpu=gpu_of(run.trained.gpu), model=model_of(run.trained.model))
        if found is not None:
            runs[run.trained].append(found)
    return {
        one: Correction(tuple(points), RUN_SPREAD)
        for one, points in runs.items()
        if len(points) >= LEAST_RUNS
    }


def _enough(residuals: list[Residual], spread: Spread) -> Correction | None:
    enough = len(residuals) >= LEAST_SERVING_POINTS
    return Correction(tuple(residuals), spread) if enough else None


def step_residual(point: ServingPoint, *, gpu: GpuModel, model: LlmModel) -> Residual | None:
    """Hold the measured time per output token against its estimate; None where there is none.

    Without that time, the output tokens per second stand in for it: both are of the same steps.
    """
    estimated = estimated_point(point, gpu=gpu, model=model)
    if estimated is None:
        return None
    if point.tpot_s is not None and point.output_tokens > 1:
        return Residual(point.at, math.log(point.tpot_s / estimated.tpot_s))
    if point.tokens_per_s is not None:
        return Residual(point.at, math.log(estimated.tokens_per_s / point.tokens_per_s))
    return None


def first_residual(point: ServingPoint, *, gpu: GpuModel, model: LlmModel) -> Residual | None:
    """Hold the measured time to the first token against its estimate; None where there is none.

    Where memory admits fewer than ask, the wait says little of the prompt: such points are left.
    """
    estimated = estimated_point(point, gpu=gpu, model=model)
    if estimated is None or estimated.waits or point.ttft_s is None:
        return None
    return Residual(point.at, math.log(point.ttft_s / estimated.ttft_s))


def estimated_point(point: ServingPoint, *, gpu: GpuModel, model: LlmModel) -> Estimate | None:
    """Estimate what a benchmark of a replica prints at a concurrency; None where refused.

    The engine is taken as of today, whatever its version: what the version makes of it is part of
    what the points correct.
    """
    deployment = point.deployment
    arithmetic = serving_arithmetic(gpu=gpu, precision=deployment.precision)
    link = serving_link(shape=usual_shape(gpu, point.tensor), gpu=gpu, gpus=point.tensor)
    if arithmetic is None or link is None:
        return None
    replica = Replica(
        gpu=gpu,
        model=model,
        arithmetic=arithmetic,
        split=Split(tensor=point.tensor),
        link=link,
        release=Release(engine_of(deployment.engine), PLANNED.year),
    )
    return serving_estimate(
        replica,
        input_tokens=point.input_tokens,
        output_tokens=point.output_tokens,
        clients=point.concurrency,
    )


def run_residual(point: TrainingPoint, *, gpu: GpuModel, model: LlmModel) -> Residual | None:
    """Hold the measured step of a run against its estimate in the fastest layout; None if none."""
    estimated = estimated_tokens_per_s(point, gpu=gpu, model=model)
    if estimated is None:
        return None
    return Residual(point.at, math.log(estimated / point.tokens_per_s))


def estimated_tokens_per_s(point: TrainingPoint, *, gpu: GpuModel, model: LlmModel) -> float | None:
    """Estimate the tokens per second of pure steps; None where the run is refused."""
    trained = point.trained
    run = TrainingRun(
        name="measured",
        model=trained.model,
        tokens=1.0,
        window=_ANY_WINDOW,
        method=trained.method,
        precision=trained.precision,
        stack=trained.stack,
        sequence_length=point.sequence_length,
        global_batch_tokens=point.global_batch_tokens,
        hardware=HardwareWish(gpus=(point.gpus,)),
    )
    shape = usual_shape(
        gpu,
        point.gpus_per_node,
        fabric=Fabric(point.fabric) if point.fabric else Fabric.UNKNOWN,
        fabric_gbit_per_s=point.fabric_gbit_per_s,
    )
    found, _ = training_candidates(run, shape, gpu=gpu, model=model, spot=None, safety_margin=0.0)
    if not found:
        return None
    return found[0].tokens_per_s / found[0].useful_share * (1 + constants.OVERHEAD_SHARE)


def usual_shape(
    gpu: GpuModel,
    gpus: int,
    *,
    fabric: Fabric = Fabric.UNKNOWN,
    fabric_gbit_per_s: float | None = None,
) -> Shape:
    """Describe the node that a GPU of this form usually sits in, as a measurement rarely says.

    Cards are taken to be on PCIe, modules on the links of their vendor: what offers without a word
    on their link are taken for, so that points are held against the estimate that they correct.
    """
    link, domain_gpus = Link.SINGLE, None
    if gpus > 1:
        fast = Link.XGMI if gpu.stack is Stack.ROCM else Link.NVSWITCH
        link = Link.PCIE if gpu.form in _CARDS else fast
        domain_gpus = _RACK_GPUS if gpu.form == _RACK else None
    if link is Link.XGMI:  # a group on a part of the board has the links among its own GPUs
        domain_gpus = max(_BOARD_GPUS, gpus)
    return Shape(
        gpu=gpu.name,
        gpu_count=Fraction(gpus),
        link=link,
        link_gb_per_s=gpu.link_gb_per_s,
        link_domain_gpus=domain_gpus,
        fabric=fabric,
        fabric_gbit_per_s=fabric_gbit_per_s,
    )
