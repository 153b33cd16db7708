"""GPU models: what a datasheet says of one accelerator."""

from enum import StrEnum
from fractions import Fraction
from typing import Self

from pydantic import model_validator

from broker.domain.quantities import Frozen, Gib, GpuCount

SLICE_PARTS = (Fraction(1, 4), Fraction(1, 2))
"""The parts of a GPU that a slice may be: they nest, so that slices fill GPUs without gaps."""

SLICE_FORM = "MIG"
"""The form of a slice that stands in the table of GPUs as one."""


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


class GpuSlice(Frozen):
    """A MIG slice of a GPU: the vendor's name of its profile (1g.20gb), and its part of the GPU.

    The part is of memory slices, on which slices are placed: a quarter starts at every second of
    eight, a half at the first or the fifth.
    """

    profile: str
    gpu_share: GpuCount

    @model_validator(mode="after")
    def _part_nests(self) -> Self:
        if self.gpu_share not in SLICE_PARTS:
            raise ValueError(
                f"{self.profile} takes {self.gpu_share} of a GPU; slices are 1/4 or 1/2"
            )
        return self
