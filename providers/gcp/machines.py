"""Machine types: the parts that each is billed by, and the ways in which it is sold.

Google's machine type list needs OAuth and a project, so shapes come from the table of nodes: GPUs,
cores, memory, and the local disk that comes with a machine and is billed with it. A disk there is
in GB (10⁹ bytes); Google sells partitions of 375 GiB.

N1 machines take GPUs freely; the table has a choice of common ones, named like
`n1-standard-8+nvidia-tesla-t4x1`. A3 Edge has no family here: what its GPUs cost is not published.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from broker.specs.facts import NodeFacts
from broker.specs.load import Specs
from providers.gcp.labels import LOCAL_SSD, Market, Part
from providers.gcp.wire import PartKind, Problem

NAME = "gcp"

_BYTES_PER_GB = 10**9
_BYTES_PER_GIB = 2**30


@dataclass(frozen=True, slots=True)
class Family:
    """Machine types that are billed alike. Without a host, the GPU's price has the whole machine.

    A shared host is one whose cores are sold with several models of GPU. A GPU is billed as so
    many units of the SKU.
    """

    types: re.Pattern[str]
    gpu: str
    host: str | None = None
    shared_host: bool = False
    units_per_gpu: int = 1


FAMILIES = (
    Family(re.compile(r"a2-(high|mega)gpu-\d+g"), "a100-40", "a2", shared_host=True),
    Family(re.compile(r"a2-ultragpu-\d+g"), "a100-80", "a2", shared_host=True),
    Family(re.compile(r"a3-highgpu-\d+g"), "h100", "a3"),
    Family(re.compile(r"a3-megagpu-\d+g"), "h100-mega", "a3plus"),
    Family(re.compile(r"a3-ultragpu-\d+g"), "h200", "a3ultra"),
    Family(re.compile(r"a4-highgpu-\d+g"), "b200"),
    Family(re.compile(r"a4x-highgpu-\d+g"), "gb200"),
    Family(re.compile(r"a4x-maxgpu-\d+g-metal"), "gb300"),
    Family(re.compile(r"g2-standard-\d+"), "l4", "g2"),
    Family(re.compile(r"g4-standard-(6|12|24)"), "rtx-pro-6000-eighth", units_per_gpu=8),
    Family(re.compile(r"g4-standard-\d+"), "rtx-pro-6000", "g4"),
    Family(re.compile(r"n1-\S+\+nvidia-tesla-t4x\d+"), "t4", "n1", shared_host=True),
    Family(re.compile(r"n1-\S+\+nvidia-tesla-p4x\d+"), "p4", "n1", shared_host=True),
    Family(re.compile(r"n1-\S+\+nvidia-tesla-p100x\d+"), "p100", "n1", shared_host=True),
    Family(re.compile(r"n1-\S+\+nvidia-tesla-v100x\d+"), "v100", "n1", shared_host=True),
)

_SPOT_AND_FLEX_START_ONLY = re.compile(r"a3-highgpu-[124]g")
_NOT_ON_DEMAND = re.compile(r"a3-ultragpu-|a4")
_CALENDAR_MODE = re.compile(r"a3-(high|mega|ultra)gpu-8g|a4")
_COMMITMENTS = (Market.ONE_YEAR, Market.THREE_YEARS)


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine type and how much of each part it is billed for: GPUs, cores, GiB."""

    node: NodeFacts
    needs: tuple[tuple[Part, Decimal], ...]
    own: tuple[Part, ...]
    """The parts that no other family has: where one has a price, the machine should have one."""

    @property
    def name(self) -> str:
        """Give the name of the type."""
        return self.node.instance_type


def machines(specs: Specs) -> Iterator[Machine]:
    """Give the machine types of the tables that belong to a family and whose shape is known."""
    for node in specs.nodes.values():
        family = _family(node)
        needs = _needs(node, family) if family else None
        if family and needs:
            hosts = () if family.shared_host else (PartKind.CORE, PartKind.RAM)
            own = (part for part, _ in needs if part.kind in (PartKind.GPU, *hosts))
            yield Machine(node, needs, tuple(own))


def sold(machine_type: str, market: Market) -> Problem | None:
    """Say why a type is not sold in a way for which its parts have prices.

    Google's pages on GPU machine types and provisioning, 2026: A4X, A4 and A3 Ultra are not sold
    on demand; A3 High below eight GPUs is spot or flex-start only; calendar mode takes whole A3
    machines and later ones.
    """
    small = _SPOT_AND_FLEX_START_ONLY.match(machine_type)
    if market is Market.ON_DEMAND and (small or _NOT_ON_DEMAND.match(machine_type)):
        return Problem("not_sold_on_demand", "listed on demand, but not sold so")
    if market in _COMMITMENTS and small:
        return Problem("not_sold_committed", "sold as spot and by flex-start only")
    if market is Market.CALENDAR and not _CALENDAR_MODE.match(machine_type):
        return Problem("not_sold_in_calendar_mode", "calendar mode takes whole A3 and A4 machines")
    return None


def _family(node: NodeFacts) -> Family | None:
    if node.provider != NAME:
        return None
    fitting = (one for one in FAMILIES if one.types.fullmatch(node.instance_type))
    return next(fitting, None)


def _needs(node: NodeFacts, family: Family) -> tuple[tuple[Part, Decimal], ...] | None:
    """List the parts with their amounts; None where the table lacks cores or memory."""
    count = Decimal(node.gpu_count.numerator) / node.gpu_count.denominator
    gpus = (Part(PartKind.GPU, family.gpu), count * family.units_per_gpu)
    if family.host is None:
        return (gpus,)
    if node.vcpus is None or node.host_memory_gib is None:
        return None
    cores = (Part(PartKind.CORE, family.host), Decimal(node.vcpus))
    memory = (Part(PartKind.RAM, family.host), Decimal(node.host_memory_gib))
    if not node.local_disk_gb:
        return gpus, cores, memory
    disk_gib = round(node.local_disk_gb * _BYTES_PER_GB / _BYTES_PER_GIB)
    return gpus, cores, memory, (LOCAL_SSD, Decimal(disk_gib))
