"""Which fitted constants hold for a GPU in a precision, and what a software stack can do."""

from dataclasses import dataclass
from enum import IntEnum

from broker.domain.gpu import GpuModel, Precision
from broker.domain.workload import TrainingStack
from solver.sizing.accelerators import GpuClass, gpu_class
from solver.sizing.training_constants import OLD_KERNELS_UNTIL


class Rating(IntEnum):
    """Places of `TimeConstants.peak_share`: GPU generation and width of the number format."""

    VOLTA_16 = 0
    AMPERE_16 = 1
    HOPPER_16 = 2
    HOPPER_8 = 3
    BLACKWELL_16 = 4
    BLACKWELL_8 = 5
    BLACKWELL_4 = 6
    CDNA3_16 = 7
    CDNA3_8 = 8
    CDNA4_16 = 9
    CDNA4_8 = 10
    OTHER_16 = 11
    OTHER_8 = 12


class AttentionKernels(IntEnum):
    """Places of `TimeConstants.attention_share`."""

    OLDER_GPU = 0
    FITTING = 1
    OUTDATED = 2


MEASURED_RATINGS = frozenset(
    {
        Rating.AMPERE_16,
        Rating.HOPPER_16,
        Rating.HOPPER_8,
        Rating.BLACKWELL_16,
        Rating.BLACKWELL_8,
        Rating.BLACKWELL_4,
        Rating.CDNA3_8,
        Rating.CDNA4_8,
    }
)
"""Ratings with measurements of their own; the others are published or cautious guesses."""

STACKS = (TrainingStack.TUNED, TrainingStack.TORCH, TrainingStack.HF)
"""Order of the constants that differ by stack."""

_BITS = {Precision.BF16: 16, Precision.FP16: 16, Precision.FP8: 8, Precision.NVFP4: 4}
_GENERATIONS = {
    "Volta": "VOLTA",
    "Ampere": "AMPERE",
    "Hopper": "HOPPER",
    "Blackwell": "BLACKWELL",
    "Blackwell Ultra": "BLACKWELL",
    "CDNA3": "CDNA3",
    "CDNA4": "CDNA4",
}
_OLDER = ("Volta", "Turing", "Ampere", "Ada")


@dataclass(frozen=True, slots=True)
class StackTraits:
    """What a stack can lay out: Megatron and NeMo all, torch FSDP no pipeline, HF data only."""

    has_tensor: bool
    has_pipeline: bool
    has_context: bool
    has_experts: bool


def rating(*, gpu: GpuModel, precision: Precision) -> Rating:
    """Give the place of a GPU's generation in a precision; FP16 counts as BF16, cards as others."""
    bits = _BITS.get(precision, 16)
    generation = _GENERATIONS.get(gpu.architecture)
    is_card = gpu_class(gpu) is GpuClass.NVIDIA_GDDR
    name = f"{generation}_{bits}"
    if generation is None or is_card or name not in Rating.__members__:
        return Rating.OTHER_16 if bits == 16 else Rating.OTHER_8  # noqa: PLR2004 - bits
    return Rating[name]


def attention_kernels(*, gpu: GpuModel, stack: TrainingStack, year: float) -> AttentionKernels:
    """Say which attention kernels run: outdated ones are for plain stacks of before mid 2025."""
    is_outdated = year < OLD_KERNELS_UNTIL
    if gpu.architecture in _OLDER:
        return AttentionKernels.OLDER_GPU
    if is_outdated and stack is not TrainingStack.TUNED and gpu.architecture == "Hopper":
        return AttentionKernels.OUTDATED
    return AttentionKernels.FITTING


def stack_traits(stack: TrainingStack) -> StackTraits:
    """Say what a stack can lay out."""
    match stack:
        case TrainingStack.TUNED:
            return StackTraits(
                has_tensor=True, has_pipeline=True, has_context=True, has_experts=True
            )
        case TrainingStack.TORCH:
            return StackTraits(
                has_tensor=True, has_pipeline=False, has_context=True, has_experts=True
            )
        case TrainingStack.HF:
            return StackTraits(
                has_tensor=False, has_pipeline=False, has_context=False, has_experts=False
            )
