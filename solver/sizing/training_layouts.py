"""The fastest layout of a run on a number of GPUs, among those that fit: all of them at once.

Tensor 1 to 8 inside a node, pipeline 1 to 16, plain or interleaved, context 1 to 8 for long
sequences, experts over 1 to 64 data-parallel GPUs, data parallelism the rest; ZeRO 1 to 3,
micro-batches of 1 to 4, no, selective and full recomputation. What a stack lacks is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from broker.domain.gpu import GpuModel
from broker.domain.llm import LlmModel
from broker.domain.workload import Method
from solver.sizing import training_constants as fixed
from solver.sizing.architecture import splits_over
from solver.sizing.training_efficiency import stack_traits
from solver.sizing.training_facts import Job, Split, Spread, Wires
from solver.sizing.training_memory import Task, used_gib
from solver.sizing.training_time import step_s

TENSOR_SIZES = (1, 2, 4, 8)
PIPELINE_SIZES = (1, 2, 4, 8, 16)
CONTEXT_SIZES = (1, 2, 4, 8)
EXPERT_SIZES = (1, 2, 4, 8, 16, 32, 64)
MICRO_BATCHES = (1, 2, 4)
_LEAST_CONTEXT_TOKENS = 8192
"""Sequences are cut over GPUs down to parts of half of this: shorter ones gain nothing."""
_MOST_VIRTUAL = 8
_STAGES = (1, 2, 3)
_PIPELINE_STAGE = 1
_NONE, _SELECTIVE, _FULL = 0, 1, 2

_Array = NDArray[np.float64]


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
    """Find the split with the shortest step of the global batch that fits.

    `sequences` is the global batch. Ties go to the first in the order of the search: less tensor
    and pipeline parallelism, lower ZeRO stage, less recomputation.
    """
    spread = layouts(task, wires=wires, gpus=gpus, sequences=sequences)
    tried = len(np.asarray(spread.tensor))
    if not tried:
        return Search(None, float("inf"), float("inf"), 0)
    usable_gib = gpu.memory_gib * (1 - fixed.MEMORY_RESERVE_SHARE)
    lacked = np.asarray(used_gib(task, spread)) - usable_gib
    fitting = lacked <= 0
    if not fitting.any():
        return Search(None, float("inf"), float(lacked.min()), tried)
    chosen = _part(spread, fitting)
    seconds = np.asarray(step_s(job, chosen, wires))
    best = int(seconds.argmin())
    return Search(_split_at(chosen, best), float(seconds[best]), float(lacked.min()), tried)


def layouts(task: Task, *, wires: Wires, gpus: int, sequences: int) -> Spread:
    """List the ways to lay a run over the GPUs, one a place of each array."""
    axes = _axes(task)
    grid = np.meshgrid(*(np.array(axis, dtype=float) for axis in axes), indexing="ij")
    tensor, pipeline, context, expert, virtual, micro, stage, again = (one.ravel() for one in grid)
    data = gpus / (tensor * pipeline * context)
    virtual = np.where(virtual > 1, _interleaved(task.model, pipeline), 1.0)
    batches = np.ceil(sequences / (data * micro))
    valid = _is_laid(task, data, wires=wires, tensor=tensor, pipeline=pipeline)
    valid &= data * micro <= sequences
    valid &= (pipeline == 1) | (stage == _PIPELINE_STAGE)
    valid &= (np.asarray(grid[4]).ravel() == 1) | ((virtual > 1) & (batches % pipeline == 0))
    valid &= (expert == 1) | ((tensor * data * context) % expert == 0)
    spread = Spread(
        tensor=tensor,
        pipeline=pipeline,
        data=data,
        zero_stage=stage,
        micro_batch=micro,
        micro_batches=batches,
        recomputation=(again == _FULL).astype(float),
        virtual_stages=virtual,
        context=context,
        expert=expert,
        selective=(again == _SELECTIVE).astype(float),
    )
    return _part(spread, valid)


def _axes(task: Task) -> tuple[Sequence[int], ...]:
    traits, model = stack_traits(task.stack), task.model
    tensors = [one for one in TENSOR_SIZES if splits_over(model=model, tensor=one)]
    if not traits.has_tensor or task.method is Method.QLORA:
        tensors = [1]
    contexts = [
        one
        for one in CONTEXT_SIZES
        if one == 1 or task.sequence_length * 2 >= one * _LEAST_CONTEXT_TOKENS
    ]
    experts = [one for one in EXPERT_SIZES if model.experts and model.experts % one == 0]
    return (
        tensors,
        PIPELINE_SIZES if traits.has_pipeline else (1,),
        contexts if traits.has_context else (1,),
        experts if experts and traits.has_experts else (1,),
        (1, 2) if traits.has_pipeline else (1,),
        MICRO_BATCHES,
        _STAGES,
        (_NONE, _SELECTIVE, _FULL),
    )


def _is_laid(
    task: Task, data: _Array, *, wires: Wires, tensor: _Array, pipeline: _Array
) -> NDArray[np.bool_]:
    """Keep whole ranks, tensor groups inside a node, and stages of whole layers."""
    whole = (data >= 1) & (data == np.floor(data))
    inside = np.asarray(wires.gpus_per_node) % tensor == 0
    layered: NDArray[np.bool_] = task.model.layers % pipeline == 0
    laid: NDArray[np.bool_] = whole & inside & layered
    return laid


def _interleaved(model: LlmModel, pipeline: _Array) -> _Array:
    """Give the most stages per GPU that layers divide into; 1 without a pipeline."""
    most = [
        max(
            stages
            for stages in range(1, _MOST_VIRTUAL + 1)
            if stages == 1 or (size > 1 and model.layers % (size * stages) == 0)
        )
        for size in PIPELINE_SIZES
    ]
    places = np.log2(pipeline).astype(int)
    found: _Array = np.array(most, dtype=float)[places]
    return found


def _part(spread: Spread, chosen: NDArray[np.bool_]) -> Spread:
    return Spread(
        **{one.name: np.asarray(getattr(spread, one.name))[chosen] for one in fields(Spread)}
    )


def _split_at(spread: Spread, place: int) -> Split:
    found = {
        one.name: float(np.asarray(getattr(spread, one.name))[place]) for one in fields(Spread)
    }
    return Split(
        tensor=int(found["tensor"]),
        pipeline=int(found["pipeline"]),
        data=int(found["data"]),
        zero_stage=int(found["zero_stage"]),
        micro_batch=int(found["micro_batch"]),
        micro_batches=int(found["micro_batches"]),
        recomputation=found["recomputation"] > 0,
        virtual_stages=int(found["virtual_stages"]),
        context=int(found["context"]),
        expert=int(found["expert"]),
        selective=found["selective"] > 0,
    )
