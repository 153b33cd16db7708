"""What is shown of plans on their way to a purchase: states, lines, and the audit log."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from broker.reports import words
from broker.reports.formats import Column, Plain, Report
from broker.reports.layout import Fit

_SHOWN_DIGITS = 12
_FEWEST_DIGITS = 8
"""So many digits name a kept plan, where there is no room for more."""
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class PlanRow:
    """A kept plan; `approvals` of `approvals_needed` persons said yes, `executed` of `lines`."""

    hash: str
    workloads: str
    state: str
    total_usd: Decimal
    approved_by: str
    approvals: int
    approvals_needed: int
    executed: int
    lines: int
    kept_at: datetime


@dataclass(frozen=True, slots=True)
class LineRow:
    """A line of a plan to buy, and who bought it when, under which id of the provider."""

    line: str
    label: str
    price_kind: str
    usd: Decimal
    executed_by: str | None
    executed_at: datetime | None
    reference: str | None
    note: str | None


@dataclass(frozen=True, slots=True)
class EntryRow:
    """An entry of the audit log; `sha256` seals it with all before it."""

    number: int
    at: datetime
    actor: str
    action: str
    plan: str
    line: str
    detail: str
    sha256: str


def plans_report(rows: tuple[PlanRow, ...]) -> Report[PlanRow]:
    """Show plans with their states, the one kept last first."""
    return Report(
        schema="gpubroker.plans/1",
        name="plans",
        row_type=PlanRow,
        rows=rows,
        columns=(
            Column("plan", lambda row: row.hash[:_SHOWN_DIGITS]),
            Column("workloads", lambda row: row.workloads, fit=Fit.SHORTEN),
            Column("state", lambda row: row.state),
            Column("total $", lambda row: words.usd(row.total_usd), "right"),
            Column("approved", lambda row: f"{row.approvals} of {row.approvals_needed}", "right"),
            Column("by", lambda row: row.approved_by, fit=Fit.SHORTEN, spare=1),
            Column("executed", lambda row: f"{row.executed} of {row.lines}", "right"),
            Column("kept", lambda row: f"{row.kept_at:%Y-%m-%d %H:%M}", spare=2),
        ),
        facts={},
    )


def lines_report(rows: tuple[LineRow, ...], facts: Mapping[str, Plain]) -> Report[LineRow]:
    """Show what a plan buys, and what of it was bought."""
    return Report(
        schema="gpubroker.executed/1",
        name="lines",
        row_type=LineRow,
        rows=rows,
        columns=(
            Column("line", lambda row: row.line, fit=Fit.WRAP),
            Column("$", lambda row: words.usd(row.usd), "right"),
            Column("executed by", lambda row: row.executed_by or "–", fit=Fit.SHORTEN),
            Column(
                "at",
                lambda row: f"{row.executed_at:%Y-%m-%d %H:%M}" if row.executed_at else "",
                spare=1,
            ),
            Column("reference", lambda row: row.reference or "", fit=Fit.WRAP),
        ),
        facts=facts,
    )


def audit_report(rows: tuple[EntryRow, ...], problems: tuple[str, ...]) -> Report[EntryRow]:
    """Show the audit log, the oldest entry first."""
    return Report(
        schema="gpubroker.audit/1",
        name="entries",
        row_type=EntryRow,
        rows=rows,
        columns=(
            Column("no", lambda row: str(row.number), "right"),
            Column("at", lambda row: f"{row.at:%Y-%m-%d %H:%M}", fit=Fit.WRAP),
            Column("by", lambda row: row.actor, fit=Fit.SHORTEN),
            Column("did", lambda row: row.action.replace("_", " "), fit=Fit.WRAP),
            Column("plan", lambda row: row.plan[:_FEWEST_DIGITS]),
            Column("line", lambda row: row.line, fit=Fit.WRAP),
            Column("note", _note, fit=Fit.WRAP),
        ),
        facts={"holds": not problems, "problems": problems},
    )


def _note(row: EntryRow) -> str:
    """Name the plan that took another one's place as the plans are named."""
    return row.detail[:_FEWEST_DIGITS] if _HASH.fullmatch(row.detail) else row.detail
