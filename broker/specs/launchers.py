"""What the tools that launch machines call the clouds and GPUs that we know.

A tool's name for a GPU may cover several of our models on a cloud (`H100` for SXM and PCIe cards
alike); such a row is not `exact`, and only the machine's own name tells them apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from broker.specs.tables import Row, read_table, text

_EVERY_CLOUD = "*"


class Tool(StrEnum):
    """The tools that the tables know."""

    SKYPILOT = "skypilot"
    DSTACK = "dstack"


class Lack(StrEnum):
    """What a tool cannot do on a cloud.

    `instances` are machines that are held before and after a run; `docker` is a container image.
    """

    AUTODOWN = "autodown"
    DOCKER = "docker"
    INSTANCES = "instances"
    MULTI_NODE = "multi_node"
    PORTS = "ports"
    RESERVATION = "reservation"
    SPOT = "spot"


class MachineNames(StrEnum):
    """How a tool's name of a machine follows from the provider's own."""

    SAME = "same"
    UNNAMED = "unnamed"
    UNLESS_ATTACHED = "unless_attached"
    HOST = "host"
    UNCOUNTED = "uncounted"
    COUNT_LAST = "count_last"
    SPACED = "spaced"
    WITHOUT_CPUS = "without_cpus"
    NODE_ID = "node_id"
    SHADEFORM = "shadeform"


class RegionNames(StrEnum):
    """How a tool's name of a region follows from the provider's own."""

    SAME = "same"
    RUNPOD_COUNTRY = "runpod_country"
    VAST_CONTINENT = "vast_continent"
    COUNTRY_FIRST = "country_first"


@dataclass(frozen=True, slots=True)
class LaunchCloud:
    """A provider as a tool knows it. `tiers` are the classes of service that it can launch.

    `known_regions` are all that the tool knows; empty where it asks the cloud. `more_regions` says
    how it learns of others; empty where it cannot.
    """

    cloud: str
    machines: MachineNames
    regions: RegionNames
    lacks: frozenset[Lack]
    tiers: tuple[str, ...]
    known_regions: frozenset[str]
    more_regions: str


@dataclass(frozen=True, slots=True)
class LaunchGpu:
    """A GPU as a tool calls it on a cloud, for the machines whose name starts with `machines`.

    `memory_gib` is the tool's figure, where it needs one to tell two GPUs of a name apart.
    """

    name: str
    machines: str
    vendor: str
    memory_gib: int | None
    is_exact: bool


@dataclass(frozen=True, slots=True)
class Launchers:
    """The names of one tool: clouds by provider, GPUs by cloud and model."""

    clouds: Mapping[str, LaunchCloud]
    gpus: Mapping[tuple[str, str], tuple[LaunchGpu, ...]]

    def gpu(self, cloud: str, model: str, instance_type: str) -> LaunchGpu | None:
        """Find what a model is called on a cloud's machine; None where the tool has no name."""
        rows = self.gpus.get((cloud, model)) or self.gpus.get((_EVERY_CLOUD, model)) or ()
        return next((row for row in rows if instance_type.startswith(row.machines)), None)


def read_launchers(tool: Tool) -> Launchers:
    """Read the names of a tool from the tables of the package."""
    gpus: dict[tuple[str, str], tuple[LaunchGpu, ...]] = {}
    for row in read_table("launch_gpus.csv"):
        if row["tool"] == tool:
            key = text(row, "cloud"), text(row, "gpu")
            gpus[key] = (*gpus.get(key, ()), _gpu(row))
    regions: dict[str, set[str]] = {}
    for row in read_table("launch_regions.csv"):
        if row["tool"] == tool:
            regions.setdefault(text(row, "cloud"), set()).add(text(row, "region"))
    clouds = {
        text(row, "provider"): _cloud(row, regions)
        for row in read_table("launch_clouds.csv")
        if row["tool"] == tool
    }
    return Launchers(clouds, gpus)


def _cloud(row: Row, regions: Mapping[str, set[str]]) -> LaunchCloud:
    return LaunchCloud(
        cloud=text(row, "cloud"),
        machines=MachineNames(text(row, "machine")),
        regions=RegionNames(text(row, "region")),
        lacks=frozenset(Lack(word) for word in text(row, "lacks").split()),
        tiers=tuple(text(row, "tiers").split()),
        known_regions=frozenset(regions.get(text(row, "cloud"), ())),
        more_regions=text(row, "more_regions"),
    )


def _gpu(row: Row) -> LaunchGpu:
    memory = text(row, "memory_gib")
    return LaunchGpu(
        name=text(row, "name"),
        machines=text(row, "machines"),
        vendor=text(row, "vendor"),
        memory_gib=int(memory) if memory else None,
        is_exact=text(row, "exact") == "yes",
    )
