"""The fastest layout of a run on a number of GPUs, among those that fit.

Tensor 1, 2, 4, 8 inside a node, pipeline 1 to 16, data parallelism the rest, ZeRO 1 to 3,
micro-batches of 1, 2, 4, with and without recomputation; what a stack lacks is left out (torch FSDP
and Transformers have no pipeline here, Transformers and QLoRA no tensor parallelism).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from broker.domain.gpu import GpuModel
from broker.domain.workload import Method
from solver.sizing import constants
from solver.sizing.architecture import splits_over
from solver.sizing.training_memory import (
    Task,
    activation_bytes,
    buffer_bytes,
    weights_and_states,
)
from solver.sizing.training_time import Job, Split, Wires, step_s

TENSOR_SIZES = (1, 2, 4, 8)
PIPELINE_SIZES = (1, 2, 4, 8, 16)
MICRO_BATCHES = (1, 2, 4)
_FULL_SHARDING = 3


@dataclass(frozen=True, slots=True)
class Search:
    """What a search came to: the best split and its step, or how much memory the closest lacked.

    `tried` is 0 where no split has a sequence for every data-parallel rank.
    """

    split: Split | None
    step_s: float
    missing_gib: float
    tried: int


def fastest_split(
    job: Job, task: Task, *, gpu: GpuModel, wires: Wires, gpus: int, sequences: int
) -> Search:
    """Find the split with the shortest time per sequence of the global batch that fits.

    `sequences` is the global batch. Ties go to the first in the order of the search: less tensor
    and pipeline parallelism, lower ZeRO stage.
    """
    best: Split | None = None
    best_s, missing_gib, tried = float("inf"), float("inf"), 0
    for meshed in meshes(job, task, wires=wires, gpus=gpus, sequences=sequences):
        tried += 1
        fitting, lacked_gib = fitting_variants(task, meshed, gpu=gpu)
        missing_gib = min(missing_gib, lacked_gib)
        for split in fitting:
            time_s = step_s(job, split, wires)
            if time_s < best_s:
                best, best_s = split, time_s
    return Search(split=best, step_s=best_s, missing_gib=missing_gib, tried=tried)


def meshes(job: Job, task: Task, *, wires: Wires, gpus: int, sequences: int) -> Iterator[Split]:
    """List the ways to lay tensor, pipeline and data parallelism over the GPUs, unsharded."""
    tensors = TENSOR_SIZES if job.stack.has_tensor and task.method is not Method.QLORA else (1,)
    pipelines = PIPELINE_SIZES if job.stack.has_pipeline else (1,)
    for tensor in tensors:
        if wires.gpus_per_node % tensor or not splits_over(model=task.model, tensor=tensor):
            continue
        for pipeline in pipelines:
            if gpus % (tensor * pipeline) or task.model.layers % pipeline:
                continue
            data = gpus // (tensor * pipeline)
            yield from _batched(tensor, pipeline, data, sequences=sequences)


def fitting_variants(task: Task, meshed: Split, *, gpu: GpuModel) -> tuple[list[Split], float]:
    """List the sharded variants of a mesh worth timing, and the GiB that the closest one lacks.

    Stages 1 and 2 take the same time, so the first that fits stands for both; recomputation is
    tried only where keeping activations needs full sharding or does not fit. A pipeline takes
    stage 1 only, as engines do.
    """
    stages = (1,) if meshed.pipeline > 1 else (1, 2, 3)
    usable_gib = gpu.memory_gib * (1 - constants.MEMORY_RESERVE_SHARE)
    fitting: list[Split] = []
    missing_gib = float("inf")
    for recomputation in (False, True):
        for stage in stages:
            split = _variant(meshed, stage, recomputation=recomputation)
            lacked_gib = used_gib(task, split) - usable_gib
            missing_gib = min(missing_gib, lacked_gib)
            if lacked_gib <= 0:
                fitting.append(split)
                break
        if fitting and fitting[0].zero_stage < _FULL_SHARDING:
            break
    return fitting, missing_gib


def used_gib(task: Task, split: Split) -> float:
    """Sum what a split holds on each GPU at the peak, the reserve apart, in GiB."""
    held = sum(weights_and_states(task, split))
    return (held + activation_bytes(task, split) + buffer_bytes(task, split)) / constants.GIB


def _batched(tensor: int, pipeline: int, data: int, *, sequences: int) -> Iterator[Split]:
    for micro_batch in MICRO_BATCHES:
        if data * micro_batch > sequences:
            return
        yield Split(
            tensor=tensor,
            pipeline=pipeline,
            data=data,
            zero_stage=1,
            micro_batch=micro_batch,
            micro_batches=-(-sequences // (data * micro_batch)),
            recomputation=False,
        )


def _variant(meshed: Split, zero_stage: int, *, recomputation: bool) -> Split:
    return Split(
        tensor=meshed.tensor,
        pipeline=meshed.pipeline,
        data=meshed.data,
        zero_stage=zero_stage,
        micro_batch=meshed.micro_batch,
        micro_batches=meshed.micro_batches,
        recomputation=recomputation,
    )
