"""What an accelerator is to the formulas: its class, its peaks, the share of them it reaches."""

from dataclasses import dataclass
from enum import StrEnum

from broker.domain.gpu import GpuModel, Precision, Stack
from solver.sizing import constants

_HBM_ARCHITECTURES = ("Volta", "Hopper")
_HBM_FAMILIES = ("A100", "A800", "A30")
_HBM_FORMS = ("SXM", "NVL", "NVL72")
_TWO_DEVICE_CARDS = ("MI250", "MI250X", "Max1550")
_TOO_OLD = (
    "Kepler",
    "Maxwell",
    "Pascal",
    "Vega",
    "CDNA",
    "RDNA",
    "RDNA2",
    "NeuronCore-v1",
    "Gaudi",
)


class GpuClass(StrEnum):
    """GPUs that one set of fitted efficiencies describes."""

    NVIDIA_HBM = "nvidia_hbm"
    NVIDIA_GDDR = "nvidia_gddr"
    AMD = "amd"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Reach:
    """Shares of the datasheet's compute and bandwidth that serving kernels reach."""

    compute_share: float
    bandwidth_share: float


def gpu_class(gpu: GpuModel) -> GpuClass:
    """Say which efficiencies hold: NVIDIA by kind of memory, AMD, or anything else.

    The datasheet row does not say HBM or GDDR; form, architecture and family do.
    """
    if gpu.stack is Stack.ROCM:
        return GpuClass.AMD
    if gpu.stack is not Stack.CUDA:
        return GpuClass.OTHER
    by_family = gpu.name.split("-")[0] in _HBM_FAMILIES
    has_hbm = gpu.form in _HBM_FORMS or gpu.architecture in _HBM_ARCHITECTURES or by_family
    return GpuClass.NVIDIA_HBM if has_hbm else GpuClass.NVIDIA_GDDR


def serving_reach(kind: GpuClass) -> Reach:
    """Give the shares of peak compute and bandwidth that a class reaches when serving."""
    match kind:
        case GpuClass.NVIDIA_HBM:
            return Reach(constants.HBM_COMPUTE_SHARE, constants.HBM_BANDWIDTH_SHARE)
        case GpuClass.NVIDIA_GDDR:
            return Reach(constants.GDDR_COMPUTE_SHARE, constants.GDDR_BANDWIDTH_SHARE)
        case GpuClass.AMD:
            return Reach(constants.AMD_COMPUTE_SHARE, constants.AMD_BANDWIDTH_SHARE)
        case GpuClass.OTHER:
            return Reach(constants.OTHER_COMPUTE_SHARE, constants.OTHER_BANDWIDTH_SHARE)


def native_tflops(*, gpu: GpuModel, precision: Precision) -> float | None:
    """Give the dense matrix TFLOPS of a number format; None where the GPU has no units for it."""
    match precision:
        case Precision.BF16 | Precision.FP16:
            return gpu.bf16_tflops
        case Precision.FP8:
            return gpu.fp8_tflops
        case Precision.INT8:
            return gpu.int8_tflops
        case Precision.NVFP4 | Precision.MXFP4:
            return gpu.fp4_tflops
        case Precision.INT4:
            return None


def is_too_old(gpu: GpuModel) -> bool:
    """Say whether current engines do not run on the GPU: no matrix units, or support dropped."""
    return gpu.architecture in _TOO_OLD


def is_two_devices(gpu: GpuModel) -> bool:
    """Say whether one card shows as two devices, so that its memory is not one pool."""
    return gpu.name in _TWO_DEVICE_CARDS
