"""The rows that are shown: flat, every figure with its unit in its name.

A field is a column of CSV and a key of JSON and YAML, in the order that it has here; the fields of
a row inside a row take the place of their row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class MachineRow:
    """What an offer sells and where; None is unknown. `memory_gib` is of all GPUs of the node."""

    provider: str
    instance_type: str
    region: str
    zone: str | None
    country: str | None
    continent: str | None
    tier: str
    gpu: str
    gpu_count: Fraction
    gpu_memory_gib: float
    memory_gib: float
    vcpus: float | None
    host_memory_gib: float | None
    local_disk_gb: float | None
    virtualization: str
    link: str
    fabric: str
    fabric_gbit_per_s: float | None
    stock_nodes: int | None


@dataclass(frozen=True, slots=True)
class PriceRow:
    """What a node costs, and on which terms. Prices per unit spread an upfront part over the term.

    `usd_per_gib_hour` counts GPU memory, `usd_per_tb_per_s_hour` its bandwidth, and
    `usd_per_pflop_per_s_hour` dense BF16 compute; None is unknown.
    """

    price_kind: str
    term_months: int | None
    payment: str | None
    notice_s: float | None
    usd_per_hour: Decimal
    upfront_usd: Decimal | None
    effective_usd_per_hour: Decimal
    usd_per_gpu_hour: Decimal
    usd_per_gib_hour: Decimal
    usd_per_tb_per_s_hour: Decimal | None
    usd_per_pflop_per_s_hour: Decimal | None


@dataclass(frozen=True, slots=True)
class OfferRow:
    """One offer; `held` says why it is not planned with, and is empty if it is."""

    key: str
    machine: MachineRow
    price: PriceRow
    evidence: str
    observed_at: datetime
    age_h: float
    valid_until: datetime | None
    source: str
    held: str
    held_detail: str


@dataclass(frozen=True, slots=True)
class RefreshRow:
    """One provider's part of a refresh. `offers` stand after it; all others are rows counted.

    `age_h` is the age in hours of the newest standing offer; `error` says why it was not replaced.
    """

    provider: str
    status: str
    received: int
    offers: int
    new: int
    changed: int
    vanished: int
    rejected: Mapping[str, int]
    quarantined: Mapping[str, int]
    age_h: float | None
    elapsed_s: float
    error: str
    hint: str


@dataclass(frozen=True, slots=True)
class StatusRow:
    """What the catalog holds of one provider: offers by price kind, ages in hours, what is held."""

    provider: str
    offers: int
    price_kinds: Mapping[str, int]
    evidence: Mapping[str, int]
    newest_age_h: float | None
    oldest_age_h: float | None
    quarantined: Mapping[str, int]
    rejected: Mapping[str, int]
    last_run: str
    last_run_at: datetime | None
    error: str
