"""Classes of accelerators and their peaks."""

import pytest

from broker.domain.gpu import Precision
from broker.specs.load import Specs
from solver.sizing.accelerators import (
    GpuClass,
    gpu_class,
    is_too_old,
    is_two_devices,
    native_tflops,
)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("A100-80-PCIe", GpuClass.NVIDIA_HBM),
        ("A30", GpuClass.NVIDIA_HBM),
        ("H100-PCIe", GpuClass.NVIDIA_HBM),
        ("V100-PCIe-16", GpuClass.NVIDIA_HBM),
        ("GB200", GpuClass.NVIDIA_HBM),
        ("GH200-96", GpuClass.NVIDIA_HBM),
        ("A10G", GpuClass.NVIDIA_GDDR),
        ("L40S", GpuClass.NVIDIA_GDDR),
        ("RTXPRO6000", GpuClass.NVIDIA_GDDR),
        ("MI300X", GpuClass.AMD),
        ("Gaudi2", GpuClass.OTHER),
    ],
)
def test_a_gpu_belongs_to_the_class_of_its_memory(specs: Specs, name: str, kind: GpuClass) -> None:
    assert gpu_class(specs.gpu(name)) is kind


def test_int4_has_no_peak_of_its_own(specs: Specs) -> None:
    assert native_tflops(gpu=specs.gpu("H100-SXM"), precision=Precision.INT4) is None


def test_cards_of_two_devices_and_old_ones_are_known(specs: Specs) -> None:
    assert is_two_devices(specs.gpu("MI250X"))
    assert not is_two_devices(specs.gpu("MI300X"))
    assert is_too_old(specs.gpu("K80"))
    assert not is_too_old(specs.gpu("T4"))
