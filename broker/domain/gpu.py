"""GPU models: what a datasheet says of one accelerator."""

from enum import StrEnum

from broker.domain.quantities import Frozen, Gib


class Stack(StrEnum):
    """The software world that a GPU belongs to."""

    CUDA = "cuda"
    ROCM = "rocm"
    XLA = "xla"
    NEURON = "neuron"
    GAUDI = "gaudi"
    ONEAPI = "oneapi"


class Precision(StrEnum):
    """Number formats of weights and compute."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    INT8 = "int8"
    INT4 = "int4"
    NVFP4 = "nvfp4"
    MXFP4 = "mxfp4"


class GpuModel(Frozen):
    """One GPU model; the name is canonical and carries the form, as `H100-SXM` or `A100-80-PCIe`.

    TFLOPS are dense. `memory_gib` is what drivers report as usable in whole, below the marketing
    figure. `link_gb_per_s` is one direction, to all peers together, 0 for a PCIe card without
    bridge, None where unknown.
    """

    name: str
    vendor: str
    architecture: str
    stack: Stack
    form: str
    memory_gb: float
    memory_gib: Gib
    memory_gb_per_s: float
    fp32_tflops: float | None
    bf16_tflops: float | None
    fp8_tflops: float | None
    int8_tflops: float | None
    fp4_tflops: float | None
    link_gb_per_s: float | None
    tdp_w: float | None
    release_year: int | None
    has_bf16: bool
    source: str
