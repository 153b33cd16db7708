"""Fitted shares of the peak by GPU generation, and what a software stack costs.

The shares go with the step-time formula (they trade against its other parts): they are not GEMM
efficiencies. A generation that was not fitted gets a cautious one, good to ±45 %.
"""

from dataclasses import dataclass

from broker.domain.gpu import GpuModel, Precision
from broker.domain.workload import TrainingStack
from solver.sizing.accelerators import GpuClass, gpu_class

_UNFITTED_SHARE = 0.55
_UNFITTED_FP4_SHARE = 0.30

_AMPERE = {Precision.BF16: 0.94}
_VOLTA = {Precision.BF16: 0.68}
_HOPPER = {Precision.BF16: 0.78, Precision.FP8: 0.68}
_BLACKWELL = {Precision.BF16: 0.64, Precision.FP8: 0.67, Precision.NVFP4: 0.57}
_CDNA3 = {Precision.BF16: 0.49, Precision.FP8: 0.46}
_CDNA4 = {Precision.BF16: 0.60, Precision.FP8: 0.59}


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Share of the dense peak that linear layers reach, and whether it was fitted or assumed."""

    share: float
    is_fitted: bool


@dataclass(frozen=True, slots=True)
class StackCosts:
    """Slowdown of a stack against tuned kernels, and its launch time per layer and micro-batch."""

    slowdown: float
    launch_s: float
    has_tensor: bool
    has_pipeline: bool


def training_efficiency(*, gpu: GpuModel, precision: Precision) -> Efficiency:
    """Give the efficiency of a GPU's generation in a precision; FP16 counts as BF16."""
    same = Precision.BF16 if precision is Precision.FP16 else precision
    share = _fitted(gpu).get(same)
    if share is not None:
        return Efficiency(share, is_fitted=True)
    is_fp4 = same in (Precision.NVFP4, Precision.MXFP4)
    return Efficiency(_UNFITTED_FP4_SHARE if is_fp4 else _UNFITTED_SHARE, is_fitted=False)


def stack_costs(stack: TrainingStack) -> StackCosts:
    """Give the costs of a stack: Megatron and NeMo (tuned), torch FSDP, Transformers/DeepSpeed."""
    match stack:
        case TrainingStack.TUNED:
            return StackCosts(1.0, 60e-6, has_tensor=True, has_pipeline=True)
        case TrainingStack.TORCH:
            return StackCosts(1.24, 150e-6, has_tensor=True, has_pipeline=False)
        case TrainingStack.HF:
            return StackCosts(1.40, 4.9e-3, has_tensor=False, has_pipeline=False)


def _fitted(gpu: GpuModel) -> dict[Precision, float]:
    if gpu.architecture in ("CDNA3", "CDNA4"):
        return _CDNA3 if gpu.architecture == "CDNA3" else _CDNA4
    if gpu_class(gpu) is not GpuClass.NVIDIA_HBM:
        return {}
    by_architecture = {
        "Volta": _VOLTA,
        "Ampere": _AMPERE,
        "Hopper": _HOPPER,
        "Blackwell": _BLACKWELL,
        "Blackwell Ultra": _BLACKWELL,
    }
    return by_architecture.get(gpu.architecture, {})
