"""What joins the GPUs of a group: the nominal speed of one direction, and whether it is PCIe."""

from dataclasses import dataclass

from broker.domain.gpu import GpuModel
from broker.domain.offer import Link, Shape
from solver.sizing import constants, serving_constants

_FAST_LINKS = (Link.NVSWITCH, Link.NVLINK_BRIDGE, Link.XGMI)
_BRIDGE_GPUS = 2
_PCIE_5 = ("Hopper", "Blackwell", "Blackwell Ultra", "CDNA3", "CDNA4", "Gaudi3", "Battlemage")


@dataclass(frozen=True, slots=True)
class Interconnect:
    """Nominal GB/s of one direction among a group; what serving reaches of it is a constant."""

    gb_per_s: float
    is_pcie: bool = False


ALONE = Interconnect(gb_per_s=float("inf"))
"""A group of one GPU: nothing to send."""


def one_way_gb_per_s(*, shape: Shape, gpu: GpuModel, gpus: int) -> float | None:
    """Give the nominal GB/s of one direction among `gpus` of a node; None where unknown.

    A bridge joins two cards, or as many as its domain says; beyond that the group is on PCIe. XGMI
    is a mesh: a smaller group has only the links among its own members.
    """
    if shape.link in _FAST_LINKS and gpus <= _domain(shape):
        whole = shape.link_gb_per_s or gpu.link_gb_per_s or None
        if whole is None or shape.link is not Link.XGMI:
            return whole
        return mesh_gb_per_s(gb_per_s=whole, gpus=gpus, domain_gpus=_domain(shape))
    if shape.link in (Link.PCIE, Link.NVLINK_BRIDGE):
        return constants.PCIE_GB_PER_S
    return None


def mesh_gb_per_s(*, gb_per_s: float, gpus: int, domain_gpus: int) -> float:
    """Give the GB/s per GPU among `gpus` of a full mesh: its share of the links to all peers."""
    return gb_per_s * (gpus - 1) / (domain_gpus - 1)


def is_on_pcie(*, shape: Shape, gpus: int) -> bool:
    """Say whether a group of a node's GPUs talks over PCIe."""
    if shape.link is Link.NVLINK_BRIDGE:
        return gpus > _domain(shape)
    return shape.link is Link.PCIE


def pcie_link(gpu: GpuModel) -> Interconnect:
    """Give the PCIe link of a card: generation 5 from Hopper, Blackwell and CDNA3 on, else 4.

    Hosts with and without peer-to-peer are one class; they differ by a factor of two.
    """
    is_fifth = gpu.architecture in _PCIE_5
    speed = serving_constants.PCIE_5_GB_PER_S if is_fifth else serving_constants.PCIE_4_GB_PER_S
    return Interconnect(speed, is_pcie=True)


def serving_link(*, shape: Shape, gpu: GpuModel, gpus: int) -> Interconnect | None:
    """Give what joins a group of GPUs when serving; None where the link is unknown."""
    if gpus == 1:
        return ALONE
    if is_on_pcie(shape=shape, gpus=gpus):
        return pcie_link(gpu)
    one_way = one_way_gb_per_s(shape=shape, gpu=gpu, gpus=gpus)
    return None if one_way is None else Interconnect(one_way)


def _domain(shape: Shape) -> int:
    if shape.link is Link.NVLINK_BRIDGE:
        return shape.link_domain_gpus or _BRIDGE_GPUS
    return shape.link_domain_gpus or int(shape.gpu_count)
