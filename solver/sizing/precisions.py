"""Number formats: what a GPU can run, what it computes in, what the weights weigh."""

import re
from dataclasses import dataclass

from broker.domain.gpu import GpuModel, Precision, Stack
from broker.domain.llm import LlmModel
from solver.sizing import serving_constants as constants
from solver.sizing.accelerators import native_tflops
from solver.sizing.architecture import BILLION, expert_params

_BITS_PER_BYTE = 8
_PLAIN_BITS = 16
_NVFP4_DENSE_BITS = 8
_WEIGHT_BITS = {
    Precision.BF16: 16.0,
    Precision.FP16: 16.0,
    Precision.FP8: 8.0,
    Precision.INT8: 8.0,
    Precision.INT4: 4.25,  # groups of 64 with a 16-bit scale
    Precision.NVFP4: 4.5,  # groups of 16 with an 8-bit scale
    Precision.MXFP4: 4.25,  # groups of 32 with an 8-bit scale
}
_BF16_ALONE = re.compile(r"gemma-?[23](?!\d*b)")  # but not gemma-2b, of the first generation


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """How a precision runs on a GPU: the format kept, the peak computed at, and what to say."""

    precision: Precision
    tflops: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class WeightBytes:
    """Bytes of all weights: routed experts, and the rest."""

    experts: float
    others: float

    @property
    def total(self) -> float:
        """Sum both."""
        return self.experts + self.others


def serving_arithmetic(*, gpu: GpuModel, precision: Precision) -> Arithmetic | None:
    """Say how a GPU serves weights of a precision; None where it cannot.

    16-bit weights run as FP16 without BF16 units. INT4 is weight-only: 16-bit compute on
    any CUDA or ROCm GPU.
    MXFP4 without FP4 units is weight-only too, as gpt-oss runs on Hopper; with them it is taken
    at the FP8 peak, since kernels keep activations in 8 bits.
    """
    match precision:
        case Precision.BF16 | Precision.FP16:
            return _sixteen_bit(gpu, precision)
        case Precision.INT4:
            return _weight_only(gpu, precision)
        case Precision.MXFP4:
            if gpu.fp4_tflops is None or gpu.fp8_tflops is None:
                return _weight_only(gpu, precision) if gpu.has_bf16 else None
            return Arithmetic(precision, gpu.fp8_tflops, "MXFP4 weights computed in FP8")
        case Precision.NVFP4:
            return _native(gpu, precision) if gpu.stack is Stack.CUDA else None
        case _:
            return _native(gpu, precision)


def overflows(*, gpu: GpuModel, model: LlmModel, precision: Precision) -> bool:
    """Say whether a GPU would compute in FP16 what overflows there.

    vLLM refuses Gemma 2 and 3 in FP16, which quantized weights are computed in as well where there
    are no BF16 units; other engines answer them with nothing. Trained in it, their activations
    are infinite.
    """
    is_fp16 = precision is Precision.FP16 or not gpu.has_bf16
    return is_fp16 and _BF16_ALONE.search(f"{model.name} {model.hf_id}".lower()) is not None


def weight_bytes(*, model: LlmModel, precision: Precision) -> WeightBytes:
    """Size the weights in bytes, scales of quantized groups and unquantized parts included.

    Embedding and output head stay in 16 bits. NVFP4 checkpoints of sparse models keep all but the
    experts in 8 bits, MXFP4 ones (gpt-oss) in 16, with experts padded. Ignores norms and biases.
    """
    bits = _WEIGHT_BITS[precision]
    experts = expert_params(model)
    plain = min(2.0 * model.vocab * model.hidden, model.params_b * BILLION - experts)
    others = model.params_b * BILLION - experts - plain
    other_bits = _other_bits(model, precision, bits)
    padding = _expert_padding(model, precision)
    return WeightBytes(
        experts=experts * bits * padding / _BITS_PER_BYTE,
        others=(others * other_bits + plain * _PLAIN_BITS) / _BITS_PER_BYTE,
    )


def _sixteen_bit(gpu: GpuModel, precision: Precision) -> Arithmetic | None:
    if gpu.bf16_tflops is None:
        return None
    if precision is Precision.BF16 and not gpu.has_bf16:
        note = f"{gpu.name} has no BF16 units: runs as FP16"
        return Arithmetic(Precision.FP16, gpu.bf16_tflops, note)
    return Arithmetic(precision, gpu.bf16_tflops)


def _weight_only(gpu: GpuModel, precision: Precision) -> Arithmetic | None:
    if gpu.bf16_tflops is None or gpu.stack not in (Stack.CUDA, Stack.ROCM):
        return None
    note = f"{precision.upper()} is weight-only here: 16-bit compute"
    return Arithmetic(precision, gpu.bf16_tflops, note)


def _native(gpu: GpuModel, precision: Precision) -> Arithmetic | None:
    tflops = native_tflops(gpu=gpu, precision=precision)
    return None if tflops is None else Arithmetic(precision, tflops)


def _other_bits(model: LlmModel, precision: Precision, bits: float) -> float:
    if not model.is_moe:
        return bits
    if precision is Precision.NVFP4:
        return _NVFP4_DENSE_BITS
    return _PLAIN_BITS if precision is Precision.MXFP4 else bits


def _expert_padding(model: LlmModel, precision: Precision) -> float:
    width = model.moe_intermediate
    if precision is not Precision.MXFP4 or not width:
        return 1.0
    step = constants.MXFP4_PADDING_TOKENS
    return -(-width // step) * step / width
