"""How far a training figure can be trusted: inside the range of measurements, or beyond it."""

from broker.domain.candidate import ErrorBand, Label
from broker.domain.gpu import GpuModel, Precision, Stack
from broker.domain.llm import LlmModel
from broker.domain.offer import Fabric
from broker.domain.workload import Method, TrainingStack
from solver.sizing.training_bands import BANDS, MEMORY_BAND, Kind, Scope
from solver.sizing.training_efficiency import MEASURED_RATINGS, rating

_LONGEST_SEQUENCE = 262_144
_MOST_GPUS = 16_384


def kind_of(
    *, model: LlmModel, stack: TrainingStack, method: Method, is_encoder: bool = False
) -> Kind:
    """Say which held-out errors an estimate shares."""
    if is_encoder:
        return Kind.ENCODER
    if model.is_moe:
        return Kind.SPARSE
    if stack is TrainingStack.HF:
        return Kind.HF
    if method is not Method.FULL:
        return Kind.ADAPTERS
    return Kind.TUNED if stack is TrainingStack.TUNED else Kind.TORCH


def generation_doubts(*, gpu: GpuModel, precision: Precision) -> tuple[str, ...]:
    """Say that no measurement of a GPU's generation in a precision is held."""
    if gpu.stack not in (Stack.CUDA, Stack.ROCM):
        return (f"no formula is fitted for {gpu.name}",)
    if rating(gpu=gpu, precision=precision) not in MEASURED_RATINGS:
        return (f"no training measurements fitted for {gpu.name} in {precision.upper()}",)
    return ()


def training_doubts(
    *,
    model: LlmModel,
    method: Method,
    sequence_length: int,
    gpus: int,
    fabric: Fabric | None,
    is_pcie: bool,
) -> tuple[str, ...]:
    """List what takes an estimate to the edge of the range; `fabric` None on one node."""
    doubts = []
    if model.is_moe:
        doubts.append("sparse model: steps differ widely by router, release and layout")
    if method is Method.QLORA:
        doubts.append("QLoRA: single runs are up to 2 times off")
    if is_pcie:
        doubts.append("GPUs over PCIe: hosts differ by a factor of 2")
    if fabric is Fabric.ETHERNET:
        doubts.append("TCP without RDMA is outside the fitted range")
    if sequence_length > _LONGEST_SEQUENCE:
        doubts.append(f"sequences beyond {_LONGEST_SEQUENCE:,} tokens are outside the fitted range")
    if gpus > _MOST_GPUS:
        doubts.append(f"more than {_MOST_GPUS:,} GPUs are outside the fitted range")
    return tuple(doubts)


def scope_of(*, generation: tuple[str, ...], edge: tuple[str, ...]) -> Scope:
    """Say how far from the measurements an estimate is."""
    if generation:
        return Scope.NEW_GPU
    return Scope.EDGE if edge else Scope.INSIDE


def label_of(scope: Scope, *, is_sparse: bool) -> Label:
    """Give the label: calibrated inside the range, else estimated."""
    is_inside = scope is Scope.INSIDE and not is_sparse
    return Label.CALIBRATED if is_inside else Label.ESTIMATED


def training_band(kind: Kind, scope: Scope) -> ErrorBand:
    """Give the 90 % band of a training rate."""
    low, high = BANDS[kind, scope]
    return ErrorBand(low_factor=low, high_factor=high)


def memory_band() -> ErrorBand:
    """Give the 90 % band of a peak of memory."""
    return ErrorBand(low_factor=MEMORY_BAND[0], high_factor=MEMORY_BAND[1])
