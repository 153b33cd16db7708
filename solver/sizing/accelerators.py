"""What an accelerator is to the formulas: its class and its peaks."""

from enum import StrEnum

from broker.domain.gpu import GpuModel, Precision, Stack

_HBM_ARCHITECTURES = ("Volta", "Hopper")
_HBM_FAMILIES = ("A100", "A800", "A30", "B200", "GB200", "B300")
_HBM_FORMS = ("SXM", "NVL", "NVL72", "Superchip")
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
