"""What is shown of alerts: those that stand or stood, and what came of messages."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from broker.reports import words
from broker.reports.formats import Column, Report
from broker.reports.layout import Fit


@dataclass(frozen=True, slots=True)
class AlertRow:
    """One alert. `mended_at` is None while it stands; `told` are the sinks that heard of it."""

    kind: str
    scope: str
    subject: str
    state: str
    title: str
    since: datetime
    age_h: float
    usd_per_day: Decimal | None
    facts: tuple[str, ...]
    action: str
    opened_at: datetime
    changed_at: datetime
    mended_at: datetime | None
    told: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """A message that waits for its sink, how often it was tried, and what went wrong last."""

    sink: str
    key: str
    title: str
    made_at: datetime
    attempts: int
    error: str


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """A message to a sink and what became of it; `preview` is what a dry run would have sent."""

    sink: str
    outcome: str
    title: str
    key: str
    error: str
    hint: str
    preview: str


def alerts_report(
    rows: tuple[AlertRow, ...], waiting: tuple[WaitingRow, ...] = ()
) -> Report[AlertRow]:
    """Show alerts in the order in which they came."""
    return Report(
        schema="gpubroker.alert_list/1",
        name="alerts",
        row_type=AlertRow,
        rows=rows,
        columns=(
            Column("alert", lambda row: row.title, fit=Fit.WRAP),
            Column("since", lambda row: words.age(row.age_h), "right"),
            Column("$/day", lambda row: words.usd(row.usd_per_day), "right"),
            Column("over", lambda row: "yes" if row.mended_at else "", spare=3),
            Column("told", lambda row: ", ".join(row.told) or "nobody", fit=Fit.WRAP, spare=2),
            Column("to mend it", lambda row: row.action, fit=Fit.WRAP),
        ),
        facts={},
        beside={"waiting": waiting},
    )


def deliveries_report(rows: tuple[DeliveryRow, ...]) -> Report[DeliveryRow]:
    """Show what became of messages."""
    return Report(
        schema="gpubroker.deliveries/1",
        name="deliveries",
        row_type=DeliveryRow,
        rows=rows,
        columns=(
            Column("sink", lambda row: row.sink),
            Column("result", lambda row: row.outcome.replace("_", " ")),
            Column("message", lambda row: row.title, fit=Fit.WRAP),
        ),
        facts={},
    )
