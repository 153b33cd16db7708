"""Known instance types, and the one place where a node's hardware is put together."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from broker.domain.gpu import GpuModel
from broker.domain.offer import Fabric, Hardware, Link, Shape, Virtualization
from broker.specs.facts import NodeFacts
from broker.specs.tables import Row, number, read_table, text

Nodes = Mapping[tuple[str, str], NodeFacts]
"""The instance types, by (provider, type in lower case)."""

_SWITCHED = (Link.NVSWITCH, Link.XGMI, Link.NVLINK_BRIDGE)
_RACK_GPUS = 72
_PAIR_GPUS = 2
_BOARD_GPUS = 8
"""GPUs of an SXM or OAM board, whether a node has all of them or is sold with a part."""


@dataclass(frozen=True, slots=True)
class Stated:
    """What a provider's reply says of a node; None is unsaid."""

    gpu_count: Fraction
    vcpus: float | None
    host_memory_gib: float | None
    local_disk_gb: float | None
    virtualization: Virtualization


def read_nodes() -> Nodes:
    """Read the instance types."""
    facts = (_facts(row) for row in read_table("nodes.csv"))
    return {(one.provider, one.instance_type.lower()): one for one in facts}


def find_node(nodes: Nodes, provider: str, instance_type: str) -> NodeFacts | None:
    """Find a type in any case; Azure's sizes also as price pages write them ("NC4as T4 v3").

    SageMaker's names ("ml.p5.48xlarge") lead to the machine behind them.
    """
    lowered = instance_type.strip().lower()
    size = "standard_" + lowered.replace(" ", "_").removeprefix("standard_")
    for key in (lowered, size, lowered.removeprefix("ml.")):
        if found := nodes.get((provider, key)):
            return found
    return None


def build_hardware(gpu: GpuModel, facts: NodeFacts | None, stated: Stated) -> Hardware:
    """Join what the reply says with the type's facts; an unknown link or fabric stays unknown.

    The link of PCIe cards has no figure: what two of them reach depends on the host, and sizing
    holds a measured one.
    """
    link = _link(gpu, facts, stated.gpu_count)
    shape = Shape(
        gpu=gpu.name,
        gpu_count=stated.gpu_count,
        link=link,
        link_gb_per_s=link_gb_per_s(gpu, link, stated.gpu_count),
        link_domain_gpus=link_domain_gpus(gpu, link, stated.gpu_count),
        fabric=facts.fabric if facts else Fabric.UNKNOWN,
        fabric_gbit_per_s=facts.fabric_gbit_per_s if facts else None,
    )
    said = stated.virtualization is not Virtualization.UNKNOWN
    return Hardware(
        shape=shape,
        stack=gpu.stack,
        gpu_memory_gib=_memory_gib(gpu, facts, stated.gpu_count),
        vcpus=stated.vcpus or (facts.vcpus if facts else None),
        host_memory_gib=stated.host_memory_gib or (facts.host_memory_gib if facts else None),
        local_disk_gb=stated.local_disk_gb or (facts.local_disk_gb if facts else None),
        cpu_architecture=facts.cpu_architecture if facts else None,
        virtualization=facts.virtualization if facts and not said else stated.virtualization,
    )


def link_gb_per_s(gpu: GpuModel, link: Link, gpu_count: Fraction) -> float | None:
    """Give the GB/s of one direction that a GPU of the node has to all its peers together.

    Infinity Fabric is a mesh: a GPU has one link to each of the seven others of its board, so a
    node that is sold with a part of the board has only the links among its own GPUs.
    """
    if link not in _SWITCHED:
        return None
    if link is Link.XGMI and gpu.link_gb_per_s and gpu_count < _BOARD_GPUS:
        return gpu.link_gb_per_s * float(gpu_count - 1) / (_BOARD_GPUS - 1)
    return gpu.link_gb_per_s


def link_domain_gpus(gpu: GpuModel, link: Link, gpu_count: Fraction) -> int | None:
    """Give how many GPUs the link joins, those of other nodes of a rack too; None for PCIe."""
    if link is Link.SINGLE:
        return 1
    if link is Link.NVLINK_BRIDGE and gpu.form != "SXM":
        return _PAIR_GPUS
    if link not in _SWITCHED:
        return None
    return _RACK_GPUS if gpu.form == "NVL72" else int(gpu_count)


def _link(gpu: GpuModel, facts: NodeFacts | None, gpu_count: Fraction) -> Link:
    if gpu_count <= 1:
        return Link.SINGLE
    if facts and facts.link not in (Link.UNKNOWN, Link.SINGLE):
        return facts.link
    return _datasheet_link(gpu, gpu_count)


def _datasheet_link(gpu: GpuModel, gpu_count: Fraction) -> Link:
    if gpu.form in ("SXM", "NVL72"):
        if gpu.architecture not in ("Volta", "Pascal"):
            return Link.NVSWITCH
        # Without a switch, two GPUs of a part of a board may share no NVLink at all.
        return Link.NVLINK_BRIDGE if gpu_count >= _BOARD_GPUS else Link.PCIE
    if gpu.form in ("PCIe", "NVL"):  # whether a cloud fits the bridge is not known
        return Link.PCIE
    return Link.XGMI if (gpu.form, gpu.vendor) == ("OAM", "AMD") else Link.UNKNOWN


def _memory_gib(gpu: GpuModel, facts: NodeFacts | None, gpu_count: Fraction) -> float:
    if gpu_count >= 1:
        return gpu.memory_gib
    stated = facts.gpu_memory_gib if facts else None
    return stated or gpu.memory_gib * float(gpu_count)


def _facts(row: Row) -> NodeFacts:
    return NodeFacts(
        provider=text(row, "provider"),
        instance_type=text(row, "instance_type"),
        gpu=text(row, "gpu"),
        gpu_count=Fraction(text(row, "gpu_count")),
        gpu_memory_gib=number(row, "gpu_memory_gib"),
        vcpus=number(row, "vcpus"),
        host_memory_gib=number(row, "host_memory_gib"),
        local_disk_gb=number(row, "local_disk_gb"),
        link=Link(text(row, "link")),
        fabric=Fabric(text(row, "fabric")),
        fabric_gbit_per_s=number(row, "fabric_gbit_per_s"),
        virtualization=Virtualization(text(row, "virtualization")),
        cpu_architecture=row["cpu_architecture"],
        source=text(row, "source"),
    )
