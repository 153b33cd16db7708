"""What a serving step works on, before any fitted constant: bytes, FLOPs, messages, classes.

Every field is a number, or an array of one per configuration: the formulas take both alike, so that
a fit over thousands of measurements and a single estimate run through the same lines.
"""

from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from broker.domain.gpu import GpuModel, Precision, Stack
from broker.domain.llm import LlmModel
from solver.sizing import serving_constants as fixed
from solver.sizing.accelerators import GpuClass, gpu_class
from solver.sizing.architecture import (
    BILLION,
    decode_attention_flops,
    expert_params,
    index_bytes,
    kv_bytes,
    kv_shards,
    prompt_attention_flops,
)
from solver.sizing.engines import PLANNED, Release
from solver.sizing.links import Interconnect
from solver.sizing.precisions import Arithmetic, WeightBytes, weight_bytes

Number: TypeAlias = float | NDArray[np.float64]

GIGA = 1e9
TERA = 1e12
_PLAIN_BITS = 16.0
_FORMATS = {
    Precision.BF16: 0,
    Precision.FP16: 0,
    Precision.FP8: 1,
    Precision.INT8: 1,
    Precision.NVFP4: 2,
    Precision.MXFP4: 3,
    Precision.INT4: 4,
}
_MEMORIES = {
    GpuClass.NVIDIA_HBM: 0,
    GpuClass.NVIDIA_GDDR: 1,
    GpuClass.AMD: 2,
    GpuClass.OTHER: 3,
}
_BLACKWELL = ("Blackwell", "Blackwell Ultra")


@dataclass(frozen=True, slots=True)
class Split:
    """How a replica is laid over GPUs.

    `tensor` GPUs share each layer, `pipeline` stages share the layers; `expert` > 1 deals whole
    experts out to the GPUs of the group. With `attention_data` > 1 each GPU holds all of the
    attention and serves its own sequences (tensor is 1 then), and only the experts are dealt out.
    """

    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    attention_data: int = 1

    @property
    def gpus(self) -> int:
        """Count the GPUs of the replica."""
        return self.tensor * self.pipeline * self.attention_data

    @property
    def deals_experts(self) -> bool:
        """Say whether experts stay whole."""
        return self.expert > 1 or self.attention_data > 1


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica to time: hardware, network, number format, split, link, engine and options.

    `kv_bits` are the bits of a cached value. `prefix_cache_share` is the part of each prompt that
    is found in the cache. Without `chunked_prefill` prompts run in steps of their own.
    """

    gpu: GpuModel
    model: LlmModel
    arithmetic: Arithmetic
    split: Split
    link: Interconnect
    release: Release = PLANNED
    kv_bits: float = _PLAIN_BITS
    prefix_cache_share: float = 0.0
    chunked_prefill: bool = True

    @property
    def weights(self) -> WeightBytes:
        """Give the bytes of all weights of the replica."""
        return weight_bytes(model=self.model, precision=self.arithmetic.precision)

    def weight_bytes_per_gpu(self) -> WeightBytes:
        """Give the bytes of weights that each GPU holds."""
        split, weights = self.split, self.weights
        experts = split.tensor * split.attention_data * split.pipeline
        return WeightBytes(weights.experts / experts, weights.others / self._shards)

    def kv_bytes_per_gpu(self, tokens: float) -> float:
        """Give the bytes that one sequence of `tokens` takes on each GPU that holds part of it."""
        held = kv_bytes(model=self.model, tokens=tokens, bits=self.kv_bits)
        parts = kv_shards(model=self.model, tensor=self.split.tensor) * self.split.pipeline
        return held / parts

    def sequence_bytes_per_gpu(self, tokens: float) -> float:
        """Give all that one sequence keeps there: its cache, and what finds its way in it."""
        found = index_bytes(model=self.model, tokens=tokens) / self.split.pipeline
        return self.kv_bytes_per_gpu(tokens) + found

    @property
    def _shards(self) -> int:
        return self.split.tensor * self.split.pipeline


@dataclass(frozen=True, slots=True)
class StepFacts:
    """Bytes, FLOPs and messages of one GPU in a step, for requests of one size.

    `*_flops` are per token; per GPU and pipeline stage like the bytes. Classes are places in the
    tuples of the constants, or 0 and 1.
    """

    input_tokens: Number
    new_tokens: Number
    output_tokens: Number
    expert_bytes: Number
    other_bytes: Number
    kv_bytes: Number
    expert_flops: Number
    other_flops: Number
    latent_flops: Number
    prompt_attention_flops: Number
    expert_share: Number
    expert_width: Number
    peak_flops_per_s: Number
    plain_flops_per_s: Number
    bytes_per_s: Number
    memory_bytes: Number
    layers: Number
    hidden: Number
    tensor: Number
    pipeline: Number
    ranks: Number
    link_bytes_per_s: Number
    year: Number
    is_pcie: Number
    is_moe: Number
    deals_experts: Number
    is_chunked: Number
    number_format: int | NDArray[np.int64]
    memory_kind: int | NDArray[np.int64]
    generation: int | NDArray[np.int64]
    engine: int | NDArray[np.int64]


def step_facts(replica: Replica, *, input_tokens: float, output_tokens: float) -> StepFacts:
    """Count what a step of a replica works on; decode reads the context at half of the output."""
    gpu, model, split = replica.gpu, replica.model, replica.split
    weights, work = replica.weight_bytes_per_gpu(), _work(replica, input_tokens, output_tokens)
    return StepFacts(
        input_tokens=input_tokens,
        new_tokens=work.new_tokens,
        output_tokens=output_tokens,
        expert_bytes=weights.experts,
        other_bytes=weights.others,
        kv_bytes=replica.kv_bytes_per_gpu(input_tokens + output_tokens / 2),
        expert_flops=work.expert_flops,
        other_flops=work.other_flops,
        latent_flops=work.latent_flops,
        prompt_attention_flops=work.prompt_attention_flops,
        expert_share=_expert_share(model),
        expert_width=_expert_width(replica),
        peak_flops_per_s=replica.arithmetic.tflops * TERA,
        plain_flops_per_s=(gpu.bf16_tflops or replica.arithmetic.tflops) * TERA,
        bytes_per_s=gpu.memory_gb_per_s * GIGA,
        memory_bytes=gpu.memory_gib * 2.0**30,
        layers=float(model.layers),
        hidden=float(model.hidden),
        tensor=float(split.tensor),
        pipeline=float(split.pipeline),
        ranks=float(split.attention_data),
        link_bytes_per_s=replica.link.gb_per_s * GIGA,
        year=min(max(replica.release.year, fixed.FIRST_YEAR), fixed.LAST_YEAR),
        is_pcie=float(replica.link.is_pcie),
        is_moe=float(model.is_moe),
        deals_experts=float(split.deals_experts),
        is_chunked=float(replica.chunked_prefill),
        number_format=_FORMATS[replica.arithmetic.precision],
        memory_kind=_MEMORIES[gpu_class(gpu)],
        generation=_generation(gpu),
        engine=replica.release.engine.place,
    )


def stacked(rows: list[StepFacts]) -> StepFacts:
    """Join the facts of many configurations into one value of arrays."""
    return StepFacts(
        **{
            one.name: np.array([getattr(row, one.name) for row in rows])
            for one in fields(StepFacts)
        }
    )


def fits_stack(gpu: GpuModel) -> bool:
    """Say whether the formulas hold for a GPU's software: not for TPUs and Intel GPUs."""
    return gpu.stack not in (Stack.XLA, Stack.ONEAPI)


@dataclass(frozen=True, slots=True)
class _Work:
    new_tokens: float
    expert_flops: float
    other_flops: float
    latent_flops: float
    prompt_attention_flops: float


def _work(replica: Replica, input_tokens: float, output_tokens: float) -> _Work:
    """Count the tokens of a prompt that compute, and FLOPs per token on each GPU and stage."""
    model, shards = replica.model, replica.split.tensor * replica.split.pipeline
    cached = input_tokens * replica.prefix_cache_share
    new_tokens = max(input_tokens - cached, 1.0)
    attention = prompt_attention_flops(model=model, tokens=input_tokens, cached_tokens=cached)
    routed = 2 * expert_params(model) * _expert_share(model)
    context = input_tokens + output_tokens / 2
    return _Work(
        new_tokens=new_tokens,
        expert_flops=routed / shards,
        other_flops=(2 * model.active_params_b * BILLION - routed) / shards,
        latent_flops=decode_attention_flops(model=model, context_tokens=context) / shards,
        prompt_attention_flops=attention / new_tokens / shards,
    )


def _generation(gpu: GpuModel) -> int:
    """Tell NVIDIA generations with large memory that reach other shares than Hopper: 1, 2."""
    if gpu_class(gpu) is not GpuClass.NVIDIA_HBM:
        return 0
    return 1 if gpu.architecture in _BLACKWELL else 2 if gpu.architecture == "Ampere" else 0


def _expert_share(model: LlmModel) -> float:
    if not model.experts or not model.experts_per_token:
        return 1.0
    return model.experts_per_token / model.experts


def _expert_width(replica: Replica) -> float:
    width = float(replica.model.moe_intermediate or 1)
    return width if replica.split.deals_experts else width / replica.split.tensor
