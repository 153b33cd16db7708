"""How far a figure can be trusted: inside the range of public measurements, or beyond it."""

from dataclasses import dataclass

from broker.domain.candidate import ErrorBand, Label
from broker.domain.gpu import GpuModel, Precision, Stack
from broker.domain.llm import LlmModel
from broker.domain.offer import Fabric
from broker.domain.workload import Method, TrainingStack
from solver.sizing import constants
from solver.sizing.serving_rate import Pessimism
from solver.sizing.training_efficiency import training_efficiency

_MEASURED_FAMILIES = (
    "A100",
    "H100",
    "H200",
    "GH200",
    "B200",
    "B300",
    "GB200",
    "GB300",
    "L40S",
    "RTXPRO6000",
    "L4",
    "A10G",
    "A40",
)
_MEASURED_FORMATS = (
    Precision.BF16,
    Precision.FP16,
    Precision.FP8,
    Precision.NVFP4,
    Precision.MXFP4,
)


@dataclass(frozen=True, slots=True)
class Trust:
    """The label of a figure, its 90 % band, factors to test latency at, and what is doubtful."""

    label: Label
    band: ErrorBand
    pessimism: Pessimism
    doubts: tuple[str, ...]


def serving_trust(*, gpu: GpuModel, model: LlmModel, precision: Precision, is_pcie: bool) -> Trust:
    """Judge a serving estimate: calibrated on NVIDIA data-centre GPUs in one fast domain.

    Outside of it (other vendors, groups over PCIe, integer formats, layers of linear attention)
    the same formulas hold with wider bands.
    """
    doubts = []
    if gpu.stack is not Stack.CUDA or gpu.name.split("-")[0] not in _MEASURED_FAMILIES:
        doubts.append(f"few or no public serving measurements of {gpu.name}")
    if is_pcie:
        doubts.append("tensor parallelism over PCIe: hosts differ by a factor of 2")
    if precision not in _MEASURED_FORMATS:
        doubts.append(f"{precision.upper()} kernels differ widely")
    if model.kv_layers < model.layers:
        doubts.append("layers of linear attention: their state and time are rough")
    if doubts:
        band, tpot = constants.RATE_BAND_ESTIMATED, constants.TPOT_FACTOR_ESTIMATED
        ttft = constants.TTFT_FACTOR_ESTIMATED
    elif model.is_moe:
        band, tpot = constants.RATE_BAND_MOE, constants.TPOT_FACTOR_MOE
        ttft = constants.TTFT_FACTOR
    else:
        band, tpot = constants.RATE_BAND_DENSE, constants.TPOT_FACTOR_DENSE
        ttft = constants.TTFT_FACTOR
    return Trust(
        label=Label.ESTIMATED if doubts else Label.CALIBRATED,
        band=_band(band),
        pessimism=Pessimism(ttft_factor=ttft, tpot_factor=tpot),
        doubts=tuple(doubts),
    )


def training_doubts(
    *,
    gpu: GpuModel,
    model: LlmModel,
    precision: Precision,
    method: Method,
    fabric: Fabric | None,
    is_pcie: bool,
) -> tuple[str, ...]:
    """List what takes a training estimate out of the fitted range; `fabric` None on one node."""
    doubts = []
    if not training_efficiency(gpu=gpu, precision=precision).is_fitted:
        doubts.append(f"no training measurements fitted for {gpu.name} in {precision.upper()}")
    if model.is_moe:
        factor = constants.MOE_STEP_FACTOR
        doubts.append(f"sparse model: steps taken as {factor:g} times the formula (0.85 to 6.5)")
    if method is Method.QLORA:
        doubts.append("QLoRA: single runs are up to 2 times off")
    if is_pcie:
        doubts.append("GPUs over PCIe: hosts differ by a factor of 2")
    if fabric is Fabric.ETHERNET:
        doubts.append("TCP without RDMA is outside the fitted range")
    return tuple(doubts)


def training_band(*, model: LlmModel, stack: TrainingStack, doubts: tuple[str, ...]) -> ErrorBand:
    """Give the 90 % band of a training rate."""
    if model.is_moe:
        return _band(constants.TRAINING_BAND_MOE)
    if doubts:
        return _band(constants.TRAINING_BAND_ESTIMATED)
    is_hf = stack is TrainingStack.HF
    return _band(constants.TRAINING_BAND_HF if is_hf else constants.TRAINING_BAND)


def _band(factors: tuple[float, float]) -> ErrorBand:
    return ErrorBand(low_factor=factors[0], high_factor=factors[1])
