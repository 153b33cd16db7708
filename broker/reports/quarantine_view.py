"""What is shown of quarantine: what is held back and why, and what persons let through."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from broker.reports import words
from broker.reports.formats import Column, Report
from broker.reports.layout import Fit


@dataclass(frozen=True, slots=True)
class HeldRow:
    """An offer that is held back since an instant; `source` is where its price was read."""

    key: str
    provider: str
    gpu: str
    price_kind: str
    usd_per_hour: Decimal
    usd_per_gpu_hour: Decimal
    reason: str
    detail: str
    held_since: datetime
    held_h: float
    observed_at: datetime
    evidence: str
    source: str


@dataclass(frozen=True, slots=True)
class ReleaseRow:
    """What a person let through: who, when, which terms, against which doubt, and until when.

    `until` is the instant at which the offer said something else, None while the release holds.
    """

    key: str
    released_by: str
    released_at: datetime
    until: datetime | None
    reason: str
    detail: str
    note: str
    digest: str


def held_report(rows: tuple[HeldRow, ...]) -> Report[HeldRow]:
    """Show what is held back, in the order of keys."""
    return Report(
        schema="gpubroker.quarantine/1",
        name="quarantined",
        row_type=HeldRow,
        rows=rows,
        columns=(
            Column("offer", lambda row: row.key),
            Column("$/GPU-h", lambda row: words.usd(row.usd_per_gpu_hour), "right"),
            Column("reason", lambda row: row.reason.replace("_", " "), spare=2),
            Column("since", lambda row: words.age(row.held_h), "right", spare=1),
            Column("figures", lambda row: row.detail, fit=Fit.WRAP),
        ),
        facts={},
    )


def releases_report(rows: tuple[ReleaseRow, ...]) -> Report[ReleaseRow]:
    """Show what persons let through, the newest first."""
    return Report(
        schema="gpubroker.releases/1",
        name="releases",
        row_type=ReleaseRow,
        rows=rows,
        columns=(
            Column("offer", lambda row: row.key),
            Column("by", lambda row: row.released_by, fit=Fit.SHORTEN),
            Column("at", lambda row: f"{row.released_at:%Y-%m-%d %H:%M}", spare=2),
            Column("until", lambda row: f"{row.until:%Y-%m-%d %H:%M}" if row.until else "it holds"),
            Column("doubt", lambda row: row.detail or row.reason, fit=Fit.WRAP),
            Column("note", lambda row: row.note, fit=Fit.WRAP, spare=1),
        ),
        facts={},
    )
