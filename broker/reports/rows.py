"""The rows that are shown: flat, every figure with its unit in its name.

A field is a column of CSV and a key of JSON and YAML, in the order that it has here; the fields of
a row inside a row take the place of their row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """Where an offer is, and who sells it; None is unknown.

    `operator` is the cloud whose machine an aggregator sells, empty where it is the provider's own.
    """

    provider: str
    operator: str
    instance_type: str
    tier: str
    region: str
    zone: str | None
    country: str | None
    continent: str | None
    latitude_deg: float | None
    longitude_deg: float | None
    partition: str
    certifications: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MachineRow:
    """What an offer sells; None is unknown. `memory_gib` is of all GPUs of the node.

    `gpu_memory_gb_per_s` and `pflop_per_s` are of one GPU as its data sheet has them, the latter
    dense and in the number format `compute`. `link_gb_per_s` is one direction of one GPU.
    """

    gpu: str
    gpu_form: str | None
    gpu_count: Fraction
    gpu_memory_gib: float
    memory_gib: float
    gpu_memory_gb_per_s: float | None
    compute: str
    pflop_per_s: float | None
    stack: str
    link: str
    link_gb_per_s: float | None
    link_domain_gpus: int | None
    fabric: str
    fabric_gbit_per_s: float | None
    max_cluster_nodes: int | None
    virtualization: str
    vcpus: float | None
    host_memory_gib: float | None
    local_disk_gb: float | None
    cpu_architecture: str | None


@dataclass(frozen=True, slots=True)
class PriceRow:
    """What a node costs. Prices per unit spread an upfront part over the term.

    `usd_per_gib_hour` counts GPU memory, `usd_per_tb_per_s_hour` its bandwidth, and
    `usd_per_pflop_per_s_hour` the compute that `pflop_per_s` has; None is unknown. The parts are
    what the price of the node is the sum of, where the source says so; the quote is as the source
    has it.
    """

    price_kind: str
    usd_per_hour: Decimal
    upfront_usd: Decimal | None
    effective_usd_per_hour: Decimal
    usd_per_gpu_hour: Decimal
    usd_per_gib_hour: Decimal
    usd_per_tb_per_s_hour: Decimal | None
    usd_per_pflop_per_s_hour: Decimal | None
    gpus_usd_per_hour: Decimal | None
    host_usd_per_hour: Decimal | None
    disk_usd_per_hour: Decimal | None
    quote_amount: Decimal
    quote_currency: str
    usd_per_quote_unit: Decimal
    converted_on: date | None


@dataclass(frozen=True, slots=True)
class TermsRow:
    """On which terms; None is unknown, or does not apply.

    `commitment_scope` is what a savings plan covers. A block without `block_starts_at` starts when
    the buyer chooses, up to `block_book_ahead_days` ahead. Interruptions are the share lost in a
    month, at least and at most. `until` is when the host takes its machine back.
    """

    term_months: int | None
    payment: str | None
    commitment_scope: str
    block_starts_at: datetime | None
    block_lengths_h: tuple[int, ...]
    block_book_ahead_days: int | None
    minimum_h: float | None
    billing_step_s: float | None
    prepaid: bool | None
    notice_s: float | None
    min_interruption_share: float | None
    max_interruption_share: float | None
    min_nodes: int
    max_nodes: int | None
    stock_nodes: int | None
    stock_gpus: int | None
    stock_level: str | None
    stock_pool: str
    until: datetime | None


@dataclass(frozen=True, slots=True)
class SeenRow:
    """When and where an offer was seen; `held` says why it is not planned with, if it is not."""

    evidence: str
    observed_at: datetime
    age_h: float
    effective_at: datetime | None
    valid_until: datetime | None
    stale: bool
    undated: bool
    source: str
    warnings: tuple[str, ...]
    held: str
    held_detail: str


@dataclass(frozen=True, slots=True)
class OfferRow:
    """One offer."""

    key: str
    place: PlaceRow
    machine: MachineRow
    price: PriceRow
    terms: TermsRow
    seen: SeenRow


@dataclass(frozen=True, slots=True)
class RefreshRow:
    """One provider's part of a refresh. `offers` stand after it; all others are rows counted.

    `missing` parts could not be read, and `kept` offers of them stay as they were.
    `age_h` is the age in hours of the newest standing offer; `error` says why it was not replaced.
    """

    provider: str
    status: str
    received: int
    offers: int
    new: int
    changed: int
    vanished: int
    kept: int
    missing: tuple[str, ...]
    rejected: Mapping[str, int]
    quarantined: Mapping[str, int]
    age_h: float | None
    elapsed_s: float
    error: str
    hint: str


@dataclass(frozen=True, slots=True)
class CoverageRow:
    """One cell of the matrix: what a provider sells of a GPU in a price kind.

    `offers` passed the trust gates, `stale` of them are too old to plan with; ages are in hours.
    `quarantined` counts what is held back by reason.
    """

    provider: str
    gpu: str
    price_kind: str
    offers: int
    stale: int
    newest_age_h: float | None
    oldest_age_h: float | None
    evidence: Mapping[str, int]
    quarantined: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class KindRow:
    """What the catalog holds of one price kind, and how providers call what falls under it.

    `examples` of the `offers` are invented; `sellers` counts the providers of the others.
    """

    price_kind: str
    offers: int
    examples: int
    sellers: int
    called: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatusRow:
    """What the catalog holds of one provider: offers by price kind, ages in hours, what is held.

    `stale` offers are too old to plan with; `missing` parts could not be read in the last run.
    """

    provider: str
    offers: int
    price_kinds: Mapping[str, int]
    evidence: Mapping[str, int]
    stale: int
    newest_age_h: float | None
    oldest_age_h: float | None
    quarantined: Mapping[str, int]
    rejected: Mapping[str, int]
    missing: tuple[str, ...]
    last_run: str
    last_run_at: datetime | None
    error: str
