"""Memory of a serving replica: weights, KV cache, reserve, and room for how many sequences.

    room      = 0.92·memory − weights/tp − context
    sequences = min((room − 2 GiB)/kv, room/(kv + 38.6 B·vocabulary), 1024)

The engine's limit of sequences is taken as set to what is needed, so its sampler buffers grow with
them. Weights agree with vLLM start logs to 0.5 % and KV bytes per token to 1 % where the checkpoint
is neither padded nor mixed in precision. Ignores page rounding and CUDA graphs.
"""

from dataclasses import dataclass

from broker.domain.candidate import MemoryUse
from broker.domain.gpu import GpuModel, Precision
from broker.domain.llm import LlmModel
from solver.sizing import constants
from solver.sizing.architecture import kv_bytes, kv_shards
from solver.sizing.precisions import weight_bytes


@dataclass(frozen=True, slots=True)
class Room:
    """GiB of one GPU of a replica: what weights take, and what they leave for sequences."""

    weights_gib: float
    context_gib: float
    available_gib: float
    sampler_gib: float

    @property
    def left_gib(self) -> float:
        """Give what is left for KV cache and working memory; below zero if weights do not fit."""
        usable = self.available_gib * constants.MEMORY_SHARE
        return usable - self.weights_gib - self.context_gib

    def max_sequences(self, kv_gib: float) -> float:
        """Count the sequences of `kv_gib` each on this GPU that fit at once; 0 if not even one."""
        floor = constants.ACTIVATION_FLOOR_GIB
        by_floor = (self.left_gib - floor) / kv_gib
        by_sampler = self.left_gib / (kv_gib + self.sampler_gib)
        count = min(by_floor, by_sampler, constants.MAX_SEQUENCES)
        return count if count >= 1 else 0.0

    def missing_gib(self, kv_gib: float) -> float:
        """Give the GiB per GPU that one sequence of `kv_gib` lacks; 0 or less if it fits."""
        floor = max(constants.ACTIVATION_FLOOR_GIB, self.sampler_gib)
        return floor + kv_gib - self.left_gib

    def use(self, *, sequences: float, kv_gib: float) -> MemoryUse:
        """Say what each GPU holds when `sequences` of `kv_gib` each are in flight."""
        working = max(constants.ACTIVATION_FLOOR_GIB, self.sampler_gib * sequences)
        return MemoryUse(
            weights_gib=self.weights_gib,
            kv_cache_gib=sequences * kv_gib,
            activations_gib=working,
            reserve_gib=self.context_gib,
            available_gib=self.available_gib,
        )


def room(*, gpu: GpuModel, model: LlmModel, precision: Precision, tensor: int) -> Room:
    """Divide the memory of one GPU of a tensor-parallel group, in GiB."""
    weights = weight_bytes(model=model, precision=precision).total / tensor
    alone, grouped = constants.CONTEXT_GIB, constants.CONTEXT_GROUP_GIB
    return Room(
        weights_gib=weights / constants.GIB,
        context_gib=alone if tensor == 1 else grouped,
        available_gib=gpu.memory_gib,
        sampler_gib=constants.SAMPLER_BYTES_PER_LOGIT * model.vocab / constants.GIB,
    )


def sequence_gib(*, model: LlmModel, tokens: int, tensor: int) -> float:
    """Give the GiB that one sequence of `tokens` takes on each GPU of the group."""
    shards = kv_shards(model=model, tensor=tensor)
    return kv_bytes(model=model, tokens=tokens) / shards / constants.GIB
