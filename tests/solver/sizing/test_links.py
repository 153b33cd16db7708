"""What joins a group of GPUs."""

import pytest
from sizing_cases import shape_of

from broker.domain.offer import Link
from broker.specs.load import Specs
from solver.sizing.links import (
    is_on_pcie,
    mesh_gb_per_s,
    one_way_gb_per_s,
    pcie_link,
    serving_link,
)


def test_nvlink_is_named_by_one_direction(specs: Specs) -> None:
    gpu = specs.gpu("H100-SXM")
    link = serving_link(shape=shape_of(gpu, 8), gpu=gpu, gpus=8)
    assert link is not None
    assert link.gb_per_s == 450
    assert not link.is_pcie


def test_one_gpu_needs_no_link(specs: Specs) -> None:
    gpu = specs.gpu("L4")
    link = serving_link(shape=shape_of(gpu, 8, link=Link.UNKNOWN), gpu=gpu, gpus=1)
    assert link is not None
    assert link.gb_per_s == float("inf")


def test_an_unknown_link_is_never_guessed(specs: Specs) -> None:
    gpu = specs.gpu("H100-SXM")
    assert serving_link(shape=shape_of(gpu, 8, link=Link.UNKNOWN), gpu=gpu, gpus=2) is None
    assert serving_link(shape=shape_of(gpu, 8, link=Link.SINGLE), gpu=gpu, gpus=2) is None


def test_a_switched_link_of_unknown_speed_is_unknown(specs: Specs) -> None:
    gpu = specs.gpu("H100-SXM").model_copy(update={"link_gb_per_s": None})
    assert serving_link(shape=shape_of(gpu, 8), gpu=gpu, gpus=2) is None


def test_a_bridge_joins_two_cards_and_no_more(specs: Specs) -> None:
    gpu = specs.gpu("A100-80-PCIe")
    shape = shape_of(gpu, 4, link=Link.NVLINK_BRIDGE)
    pair = serving_link(shape=shape, gpu=gpu, gpus=2)
    assert pair is not None
    assert pair.gb_per_s == 300
    assert serving_link(shape=shape, gpu=gpu, gpus=4) == pcie_link(gpu)
    assert is_on_pcie(shape=shape, gpus=4)
    assert not is_on_pcie(shape=shape, gpus=2)


def test_part_of_a_mesh_has_only_its_own_links(specs: Specs) -> None:
    # MI300X: 448 GB/s to seven peers, so 64 GB/s to one
    assert mesh_gb_per_s(gb_per_s=448, gpus=2, domain_gpus=8) == 64
    gpu = specs.gpu("MI300X")
    shape = shape_of(gpu, 8)
    assert one_way_gb_per_s(shape=shape, gpu=gpu, gpus=2) == pytest.approx(64)
    assert one_way_gb_per_s(shape=shape, gpu=gpu, gpus=8) == pytest.approx(448)


def test_pcie_is_twice_as_fast_from_its_fifth_generation_on(specs: Specs) -> None:
    assert pcie_link(specs.gpu("L40S")).gb_per_s == 31.5
    assert pcie_link(specs.gpu("RTXPRO6000")).gb_per_s == 63
    assert pcie_link(specs.gpu("L40S")).is_pcie
