"""Memory of a serving replica: weights, KV cache, reserve, and room for how many sequences.

    room      = 0.92·memory − weights − context
    sequences = min((room − 2 GiB)/kv, room/(kv + 38.6 B·vocabulary), 1024)

The engine's limit of sequences is taken as set to what is needed, so its sampler buffers grow with
them. Weights agree with vLLM start logs to 0.5 % and KV bytes per token to 1 % where the checkpoint
is neither padded nor mixed in precision. What misses this but would start (weights, one sequence
and 2 GB within 97 % of the device) is one sequence, tight, and is not refused. Ignores page
rounding and CUDA graphs.
"""

from dataclasses import dataclass

from broker.domain.candidate import MemoryUse
from solver.sizing import serving_constants as constants
from solver.sizing.serving_facts import Replica

GIB = 2.0**30


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

    def starts(self, kv_gib: float) -> bool:
        """Say whether any engine could hold the weights and one sequence of `kv_gib`."""
        needed = self.weights_gib + kv_gib + constants.STARTS_GIB
        return needed <= constants.STARTS_SHARE * self.available_gib

    def max_sequences(self, kv_gib: float) -> float:
        """Count the sequences of `kv_gib` each on this GPU that fit at once; 0 if not even one."""
        floor = constants.ACTIVATION_FLOOR_GIB
        by_floor = (self.left_gib - floor) / kv_gib
        by_sampler = self.left_gib / (kv_gib + self.sampler_gib)
        count = min(by_floor, by_sampler, constants.MAX_SEQUENCES)
        if count >= 1:
            return count
        return 1.0 if self.starts(kv_gib) else 0.0

    def missing_gib(self, kv_gib: float) -> float:
        """Give the GiB per GPU that one sequence of `kv_gib` lacks; 0 or less if it fits."""
        needed = self.weights_gib + kv_gib + constants.STARTS_GIB
        return needed - constants.STARTS_SHARE * self.available_gib

    def use(self, *, sequences: float, kv_gib: float) -> MemoryUse:
        """Say what each GPU holds when `sequences` of `kv_gib` each are in flight."""
        working = max(constants.ACTIVATION_FLOOR_GIB, self.sampler_gib * sequences)
        held = self.weights_gib + sequences * kv_gib + self.context_gib
        free = constants.STARTS_SHARE * self.available_gib - held
        return MemoryUse(
            weights_gib=self.weights_gib,
            kv_cache_gib=sequences * kv_gib,
            activations_gib=min(working, max(free, constants.STARTS_GIB - self.context_gib)),
            reserve_gib=self.context_gib,
            available_gib=self.available_gib,
        )


def room(replica: Replica) -> Room:
    """Divide the memory of one GPU of a replica, in GiB."""
    weights = replica.weight_bytes_per_gpu().total
    grouped = replica.split.gpus > 1
    return Room(
        weights_gib=weights / GIB,
        context_gib=constants.CONTEXT_GROUP_GIB if grouped else constants.CONTEXT_GIB,
        available_gib=replica.gpu.memory_gib,
        sampler_gib=constants.SAMPLER_BYTES_PER_LOGIT * replica.model.vocab / GIB,
    )


def sequence_gib(replica: Replica, *, tokens: float) -> float:
    """Give the GiB that one sequence of `tokens` takes on each GPU that holds part of it."""
    return replica.sequence_bytes_per_gpu(tokens) / GIB
