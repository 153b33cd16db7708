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
class EgressTier:
    """What a GB costs until `up_to_gb` have left in one month; None has no end."""

    up_to_gb: Decimal | None
    usd_per_gb: Decimal


@dataclass(frozen=True, slots=True)
class EgressPrice:
    """Dollars per GB moved; `assumed` says that no row names exactly this pair.

    `usd_per_gb` is the dearest tier, which is the first that is paid. `tiers` are in the order of
    their volume; empty where there is one price. A GB is what the seller bills as one; some mean
    2³⁰ bytes, so that 10⁹ are charged up to 7 % too much and never too little.
    """

    usd_per_gb: Decimal
    assumed: bool
    source: str
    tiers: tuple[EgressTier, ...] = ()

    def usd(self, gb: Decimal) -> Decimal:
        """Price so many GB that leave within one month, tier by tier.

        What is free in a month belongs to the account and may be used up, so it is charged as the
        first GB that is paid; the volume of other traffic, which may earn a discount, is not known.
        """
        if not self.tiers:
            return gb * self.usd_per_gb
        total, moved = Decimal(0), Decimal(0)
        for tier in self.tiers:
            until = gb if tier.up_to_gb is None else min(gb, tier.up_to_gb)
            total += max(Decimal(0), until - moved) * (tier.usd_per_gb or self.usd_per_gb)
            moved = max(moved, until)
        return total


@dataclass(frozen=True, slots=True)
class StoragePrice:
    """Dollars for a GB kept for a month, of the class of storage that the provider calls so.

    A GB is what the seller bills as one; some mean 2³⁰ bytes.
    """

    usd_per_gb_month: Decimal
    storage_class: str
    source: str


@dataclass(frozen=True, slots=True)
class KeptPrice:
    """Dollars a month for what is kept somewhere; `assumed` if no source states the price."""

    usd_per_month: Decimal
    assumed: bool


@dataclass(frozen=True, slots=True)
class Certification:
    """An attestation that a provider publishes. `name` is a short code: soc2, iso27001, hipaa."""

    name: str
    scope: str
    source: str
