"""The values that the tables hold beside the domain's: nodes, places of users, data transfer."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from broker.domain.offer import Fabric, Link, Virtualization


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What is public of one instance type; None is unknown, a fraction is a slice of a GPU.

    `fabric_gbit_per_s` is per node; `gpu_memory_gib` is set where the node's GPU is cut.
    """

    provider: str
    instance_type: str
    gpu: str
    gpu_count: Fraction
    gpu_memory_gib: float | None
    vcpus: float | None
    host_memory_gib: float | None
    local_disk_gb: float | None
    link: Link
    fabric: Fabric
    fabric_gbit_per_s: float | None
    virtualization: Virtualization
    cpu_architecture: str | None
    source: str


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A spelling that names no one GPU model.

    `reason` is unknown_gpu, ambiguous_gpu, mig_slice or not_a_gpu; `detail` is for a person;
    `may_be` are the models that an ambiguous one leaves.
    """

    reason: str
    detail: str
    may_be: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UserRegion:
    """Where a share of the users sits: a metropolis stands for the region."""

    name: str
    latitude_deg: float
    longitude_deg: float


@dataclass(frozen=True, slots=True)
class EgressPrice:
    """Dollars per GB (10⁹ bytes) moved; `assumed` says that no row names exactly this pair."""

    usd_per_gb: Decimal
    assumed: bool
    source: str
