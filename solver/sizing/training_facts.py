"""What a training step works on, before any fitted constant: counts, widths, peaks, links.

Every field is a number, or an array of one per configuration: the formulas take both alike, so that
a fit over a thousand measurements, a search over a thousand layouts and a single estimate run
through the same lines.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from broker.domain.gpu import GpuModel, Precision
from broker.domain.llm import LlmModel
from broker.domain.workload import Method, TrainingStack
from solver.sizing import training_constants as fixed
from solver.sizing.accelerators import native_tflops
from solver.sizing.architecture import BILLION, expert_params, input_embedding_params
from solver.sizing.training_efficiency import STACKS, attention_kernels, rating

Number: TypeAlias = float | NDArray[np.float64]
Flag: TypeAlias = bool | NDArray[np.bool_]
FULL_SHARDING = 3
_MOST_EXPERTS = 0.9
"""Of the parameters that work on a token: attention and embeddings are the rest."""

_SIXTEEN_BIT = (Precision.BF16, Precision.FP16)


@dataclass(frozen=True, slots=True)
class Split:
    """How a step is split: sizes of each parallel axis, sharding, micro-batches, recomputation.

    `expert` GPUs, of those of a pipeline stage, hold whole experts of a sparse model.
    `selective` recomputes the cheap operators of a layer, `recomputation` all of it.
    `micro_batches` are those of a rank in a step; a fraction where a measured batch does not
    divide.
    """

    tensor: int
    pipeline: int
    data: int
    zero_stage: int
    micro_batch: int
    micro_batches: float
    recomputation: bool
    virtual_stages: int = 1
    context: int = 1
    expert: int = 1
    selective: bool = False

    @property
    def gpus(self) -> int:
        """Count the GPUs."""
        return self.tensor * self.pipeline * self.data * self.context


@dataclass(frozen=True, slots=True)
class Spread:
    """A split, or many, in numbers; flags are 0 or 1."""

    tensor: Number
    pipeline: Number
    data: Number
    zero_stage: Number
    micro_batch: Number
    micro_batches: Number
    recomputation: Number
    virtual_stages: Number
    context: Number
    expert: Number
    selective: Number

    @property
    def gpus(self) -> Number:
        """Count the GPUs."""
        return self.tensor * self.pipeline * self.data * self.context

    @property
    def shards(self) -> Number:
        """Count the ranks that share optimizer states: context ranks hold the same weights."""
        return self.data * self.context


@dataclass(frozen=True, slots=True)
class Wires:
    """Links: GB/s of one direction, per GPU inside a node and per node between them.

    `domain_gpus` is the reach of the fast link, 0 for a node's own; it is larger than a node in a
    rack of GB200. Infinite inside for a node of one GPU.
    """

    inside_gb_per_s: Number
    between_gb_per_s: Number
    gpus_per_node: Number
    is_mesh: Number = 0.0
    domain_gpus: Number = 0.0


@dataclass(frozen=True, slots=True)
class Job:
    """What a step works on; flags are 0 or 1, indices are places of the constants."""

    is_full: Number
    is_quantized: Number
    sequence_length: Number
    layers: Number
    attention_layers: Number
    hidden: Number
    query_width: Number
    kv_width: Number
    params: Number
    expert_params: Number
    dense_step_params: Number
    expert_step_params: Number
    experts: Number
    experts_per_token: Number
    expert_width: Number
    peak_tflops: Number
    peak_16_tflops: Number
    memory_gb_per_s: Number
    rating: Number
    attention: Number
    stack: Number
    is_low_precision: Number
    year: Number
    is_encoder: Number = 0.0
    """A bidirectional model, whose tokens see all others."""

    @property
    def is_sparse(self) -> Number:
        """Say whether a token passes through some experts of many."""
        return choose(self.experts > 1, 1.0, 0.0)


def spread_of(splits: Sequence[Split]) -> Spread:
    """Lay splits side by side, one a place of each array."""
    return Spread(
        **{
            one.name: np.array([float(getattr(split, one.name)) for split in splits])
            for one in fields(Split)
        }
    )


def one_spread(split: Split) -> Spread:
    """Give one split in numbers."""
    return Spread(**{one.name: float(getattr(split, one.name)) for one in fields(Split)})


def job(
    *,
    gpu: GpuModel,
    model: LlmModel,
    precision: Precision,
    method: Method,
    stack: TrainingStack,
    sequence_length: int,
    year: float = fixed.PLANNED_YEAR,
) -> Job | None:
    """Gather the figures of a run on a GPU; None where it lacks the precision."""
    peak, peak_16 = trained_tflops(gpu=gpu, precision=precision), gpu.bf16_tflops
    if peak is None or peak_16 is None:
        return None
    return Job(
        is_full=float(method is Method.FULL),
        is_quantized=float(method is Method.QLORA),
        sequence_length=float(sequence_length),
        layers=float(model.layers),
        attention_layers=attention_layers(model, sequence_length),
        hidden=float(model.hidden),
        query_width=float(model.heads * model.head_dim),
        kv_width=kv_width(model),
        params=model.params_b * BILLION,
        expert_params=expert_params(model),
        dense_step_params=_step_params(model)[0],
        expert_step_params=_step_params(model)[1],
        experts=float(model.experts or 1),
        experts_per_token=float(model.experts_per_token or 1),
        expert_width=float(model.moe_intermediate or 1),
        peak_tflops=peak,
        peak_16_tflops=peak_16,
        memory_gb_per_s=gpu.memory_gb_per_s,
        rating=float(rating(gpu=gpu, precision=precision)),
        attention=float(attention_kernels(gpu=gpu, stack=stack, year=year)),
        stack=float(STACKS.index(stack)),
        is_low_precision=float(precision not in _SIXTEEN_BIT),
        year=_software_year(year, gpu),
    )


def trained_tflops(*, gpu: GpuModel, precision: Precision) -> float | None:
    """Give the dense peak that training can use; in 4 bits a part of the matrices stays in 8."""
    peak = native_tflops(gpu=gpu, precision=precision)
    if precision is not Precision.NVFP4 or peak is None or gpu.fp8_tflops is None:
        return peak
    share = fixed.FOUR_BIT_SHARE
    return 1 / (share / peak + (1 - share) / gpu.fp8_tflops)


def _step_params(model: LlmModel) -> tuple[float, float]:
    """Count the parameters that work on one token: those of all tokens, and of routed experts."""
    working = model.active_params_b * BILLION - input_embedding_params(model)
    experts = min(expert_step_params(model), _MOST_EXPERTS * working)
    return working - experts, experts


def _software_year(year: float, gpu: GpuModel) -> float:
    """Limit the age of software to what was measured, and to when it was mature for the GPU."""
    first, last = fixed.SOFTWARE_YEARS
    mature = (gpu.release_year or fixed.REFERENCE_YEAR) + fixed.YEARS_TO_MATURE
    return min(max(year, first), last, mature)


def attention_layers(model: LlmModel, sequence_length: int) -> float:
    """Count layers of full causal attention; a windowed one counts by what its tokens see.

    A causal token sees half the sequence on average, one of a windowed layer at most the window.
    """
    windowed = float(model.window_layers or 0) if model.window_tokens else 0.0
    seen = min(1.0, 2.0 * (model.window_tokens or 0) / sequence_length)
    return model.kv_layers - windowed + windowed * seen


def kv_width(model: LlmModel) -> float:
    """Give the width of keys, or of values, of a layer; that of the latent with MLA."""
    return float(model.kv_lora_rank or model.kv_heads * model.head_dim)


def expert_step_params(model: LlmModel) -> float:
    """Count the parameters of the routed experts that work on one token."""
    sparse_layers = model.layers - (model.dense_layers or 0)
    matrices = model.mlp_matrices * model.hidden * (model.moe_intermediate or 0)
    return float(sparse_layers * (model.experts_per_token or 0) * matrices)


def larger(one: Number, other: Number) -> Number:
    """Give the larger of two numbers, or of each pair."""
    if isinstance(one, float) and isinstance(other, float):
        return max(one, other)
    found: Number = np.maximum(one, other)
    return found


def smaller(one: Number, other: Number) -> Number:
    """Give the smaller of two numbers, or of each pair."""
    if isinstance(one, float) and isinstance(other, float):
        return min(one, other)
    found: Number = np.minimum(one, other)
    return found


def choose(holds: Flag, then: Number, other: Number) -> Number:
    """Give `then` where a condition holds, else `other`."""
    if isinstance(holds, bool):
        return then if holds else other
    return np.where(holds, then, other)


def place(values: tuple[float, ...], index: Number) -> Number:
    """Look a constant up by its place, or one for each of many places."""
    if isinstance(index, float):
        return values[int(index)]
    found: Number = np.asarray(values)[np.asarray(index, dtype=np.intp)]
    return found


def gpu_tokens(job: Job, spread: Spread) -> Number:
    """Count the tokens of a step per GPU, those that fill up the last micro-batches included."""
    sequences = spread.micro_batches * spread.micro_batch * spread.data
    return sequences * job.sequence_length / spread.gpus


def domain_gpus(spread: Spread, wires: Wires) -> Number:
    """Count the GPUs that the fast link joins, of those that work."""
    return smaller(larger(wires.domain_gpus, wires.gpus_per_node), spread.gpus)


def held_params(job: Job, spread: Spread) -> Number:
    """Count the parameters that a GPU has before sharding; experts are dealt out, or split."""
    return held(job.params, job.expert_params, spread)


def held(params: Number, experts: Number, spread: Spread) -> Number:
    """Split parameters: experts over the GPUs that hold them, the rest over the tensor group."""
    parts = larger(spread.tensor, spread.expert)
    return ((params - experts) / spread.tensor + experts / parts) / spread.pipeline
