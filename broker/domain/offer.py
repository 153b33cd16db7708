"""An offer: one way to buy one kind of node, and the rows that could not become one."""

from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from broker.domain.gpu import Stack
from broker.domain.quantities import (
    HOURS_PER_MONTH,
    Frozen,
    Gib,
    GpuCount,
    Instant,
    Share,
    Usd,
    quantize_usd,
)

UNKNOWN_REGION = "unknown"
"""The region of an offer whose source names none: shown, never planned with."""

NOT_ITS_PRICE = "not its price: "
"""How the warning begins that an offer carries while a what-if has changed its price."""


class PriceKind(StrEnum):
    """How a price is bought; one kind is never filled from another."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"
    RESERVED = "reserved"
    SAVINGS_PLAN = "savings_plan"
    CAPACITY_BLOCK = "capacity_block"
    CONTRACT = "contract"
    OWNED = "owned"


class Payment(StrEnum):
    """When a commitment is paid."""

    NO_UPFRONT = "no_upfront"
    PARTIAL_UPFRONT = "partial_upfront"
    ALL_UPFRONT = "all_upfront"
    MONTHLY = "monthly"


class Evidence(StrEnum):
    """How a price came to us. An `example` is invented: it shows a form, and nobody sells at it."""

    LIVE = "live"
    RECORDED = "recorded"
    COMPOSED = "composed"
    SHEET = "sheet"
    EXAMPLE = "example"


class Link(StrEnum):
    """What joins the GPUs inside one node."""

    NVSWITCH = "nvswitch"
    NVLINK_BRIDGE = "nvlink_bridge"
    XGMI = "xgmi"
    PCIE = "pcie"
    SINGLE = "single"
    UNKNOWN = "unknown"


class Fabric(StrEnum):
    """What joins nodes of one cluster."""

    INFINIBAND = "infiniband"
    EFA = "efa"
    ROCE = "roce"
    ETHERNET = "ethernet"
    UNKNOWN = "unknown"


class Virtualization(StrEnum):
    """What the buyer gets: the machine, a virtual one, or a container on it."""

    BARE_METAL = "bare_metal"
    VM = "vm"
    CONTAINER = "container"
    UNKNOWN = "unknown"


class Shape(Frozen):
    """GPU, count and link of a node, with the fabric behind it: what sizing needs to know.

    `link_gb_per_s` is one direction per GPU; `fabric_gbit_per_s` is per node. None is unknown.
    """

    gpu: str
    gpu_count: GpuCount
    link: Link
    link_gb_per_s: float | None
    link_domain_gpus: int | None
    fabric: Fabric
    fabric_gbit_per_s: float | None


class Hardware(Frozen):
    """One node: its shape and what else it has; None is unknown."""

    shape: Shape
    stack: Stack
    gpu_memory_gib: Gib
    vcpus: float | None = None
    host_memory_gib: float | None = None
    local_disk_gb: float | None = None
    cpu_architecture: str | None = None
    virtualization: Virtualization = Virtualization.UNKNOWN
    max_cluster_nodes: int | None = None

    @property
    def can_be_cut(self) -> bool:
        """Say whether the buyer has whole GPUs to cut into slices, which a container has not."""
        return self.virtualization in (Virtualization.VM, Virtualization.BARE_METAL)


class Place(Frozen):
    """Where a region lies; None is unknown.

    `country` is an ISO 3166 code, `continent` one of us (North America), sa, eu, ap, me, af, oc.
    """

    region: str
    zone: str | None = None
    country: str | None = None
    continent: str | None = None
    latitude_deg: float | None = None
    longitude_deg: float | None = None
    partition: str = "commercial"


class Commitment(Frozen):
    """What is promised for a lower price. `upfront_usd` is per node, due at the start.

    `scope` says what a savings plan covers ("compute", "ec2:p5"), where a machine has several.
    """

    term_months: Annotated[int, Field(ge=1)]
    payment: Payment
    upfront_usd: Usd = Decimal("0.000000")
    scope: str = ""


class Block(Frozen):
    """The window of a capacity block, paid in advance.

    `starts_at` is the one start on offer, None where the buyer chooses, up to `book_ahead_days`
    ahead. `lengths_h` are the lengths sold, in hours, shortest first.
    """

    starts_at: Instant | None = None
    lengths_h: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)]
    book_ahead_days: int | None = None


class Components(Frozen):
    """The parts that the price of a node is the sum of, in dollars per hour of the whole node."""

    gpus_usd: Usd
    host_usd: Usd = Decimal("0.000000")
    disk_usd: Usd = Decimal("0.000000")


class Billing(Frozen):
    """How use is billed, where the source says so; None is unknown."""

    minimum_h: float | None = None
    step_s: float | None = None
    prepaid: bool | None = None


class SpotTerms(Frozen):
    """What is known of interruptions; `monthly_interruption` is the share lost in a month."""

    notice_s: float | None = None
    monthly_interruption: tuple[Share, Share] | None = None


class Quote(Frozen):
    """The price as the source states it, before conversion to dollars."""

    amount: Annotated[Decimal, Field(gt=0)]
    currency: str
    usd_per_unit: Annotated[Decimal, Field(gt=0)] = Decimal(1)
    converted_on: date | None = None


class Provenance(Frozen):
    """Where and when an offer was seen. `undated` marks a sheet row that took the sheet's date."""

    source: str
    observed_at: Instant
    evidence: Evidence
    effective_at: Instant | None = None
    valid_until: Instant | None = None
    undated: bool = False


class Limits(Frozen):
    """How many nodes can be had, where the source says so.

    Offers of one `stock_pool` draw on the same `stock_gpus`: sizes of one host, or price kinds of
    one machine. Without a pool, the price kinds of a machine share its `stock_nodes`. Nobody has a
    node `until` later than that, whatever was rented.
    """

    stock_nodes: int | None = None
    stock_level: str | None = None
    stock_pool: str = ""
    stock_gpus: int | None = None
    min_nodes: Annotated[int, Field(ge=1)] = 1
    max_nodes: int | None = None
    until: Instant | None = None


class Offer(Frozen):
    """One way to buy one kind of node: where, what, on what terms, at what price, seen when.

    `usd_per_hour` is for the whole node; a reserved offer's upfront part stands in `commitment`.
    `tier` is the provider's class of service (secure, community, shared); empty where it has none.
    `operator` is the cloud whose machine an aggregator sells; empty where it is the provider's own.
    """

    provider: str
    instance_type: str
    place: Place
    price_kind: PriceKind
    hardware: Hardware
    usd_per_hour: Usd
    quote: Quote
    provenance: Provenance
    tier: str = ""
    operator: str = ""
    components: Components | None = None
    billing: Billing = Billing()
    commitment: Commitment | None = None
    block: Block | None = None
    spot: SpotTerms | None = None
    limits: Limits = Limits()
    certifications: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def machine(self) -> str:
        """Name the machine, whatever the price kind: provider/type/region[/zone][:tier]."""
        zone = f"/{self.place.zone}" if self.place.zone else ""
        tier = f":{self.tier}" if self.tier else ""
        return f"{self.provider}/{self.instance_type}/{self.place.region}{zone}{tier}"

    @property
    def key(self) -> str:
        """Name the offer, uniquely in a catalog: the machine, its price kind, its commitment."""
        parts: list[str] = [self.price_kind]
        if self.commitment:
            parts += [f"{self.commitment.term_months}m", self.commitment.payment]
            parts += [self.commitment.scope] if self.commitment.scope else []
        if self.block and self.block.starts_at:
            parts += [f"{self.block.starts_at:%Y%m%dT%H%MZ}", f"{self.block.lengths_h[0]}h"]
        return f"{self.machine}@{'-'.join(parts)}"

    @property
    def cloud(self) -> str:
        """Name the cloud whose machine it is, whoever sells it."""
        return self.operator or self.provider

    @property
    def stock(self) -> tuple[str, int] | None:
        """Name the stock that the offer draws on, and the GPUs in it; None where it is unknown."""
        pool = self.limits.stock_pool or self.machine
        if self.limits.stock_gpus is not None:
            return pool, self.limits.stock_gpus
        if self.limits.stock_nodes is not None:
            return pool, int(self.limits.stock_nodes * self.hardware.shape.gpu_count)
        return None

    @property
    def effective_usd_per_hour(self) -> Decimal:
        """Spread the upfront part over the term: the hourly cost of a node that is kept for it."""
        if self.commitment is None:
            return self.usd_per_hour
        hours = self.commitment.term_months * HOURS_PER_MONTH
        return quantize_usd(self.usd_per_hour + self.commitment.upfront_usd / hours)


class Rejection(Frozen):
    """A row that did not become an offer. `reason` is one of a closed set of short codes.

    `subject` names the row as the source does; `detail` says what was read, for a person.
    """

    provider: str
    subject: str
    reason: str
    detail: str = ""
