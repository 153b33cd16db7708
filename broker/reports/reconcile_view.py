"""What is shown of a plan held to a bill."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from broker.reports import words
from broker.reports.formats import Column, Plain, Report
from broker.reports.layout import Fit

_PERCENT = 100
_LARGE_USD = 1000


@dataclass(frozen=True, slots=True)
class ReconcileRow:
    """A line of the plan, charges of no line (`kind` is unexplained), or a total.

    `difference_usd` is effective less planned. `savings_rate` is a part of one: 1 − effective /
    list; None where nothing is listed. `first_line` is the first charge's in the bill.
    """

    kind: str
    what: str
    label: str
    provider: str
    planned_usd: Decimal
    list_usd: Decimal
    contracted_usd: Decimal
    effective_usd: Decimal
    billed_usd: Decimal
    difference_usd: Decimal
    planned_list_usd: Decimal
    planned_billed_usd: Decimal
    savings_rate: float | None
    executed: bool | None
    charges: int
    first_line: int | None


def reconcile_report(
    rows: tuple[ReconcileRow, ...], facts: Mapping[str, Plain]
) -> Report[ReconcileRow]:
    """Show planned and billed side by side: lines, the unexplained rest, the total."""
    return Report(
        schema="gpubroker.reconciliation/1",
        name="rows",
        row_type=ReconcileRow,
        rows=rows,
        columns=(
            Column("line", lambda row: row.what, fit=Fit.WRAP),
            Column("planned", lambda row: _money(row.planned_usd), "right"),
            Column("list", lambda row: _money(row.list_usd), "right"),
            Column("contracted", lambda row: _money(row.contracted_usd), "right"),
            Column("effective", lambda row: _money(row.effective_usd), "right"),
            Column("billed", lambda row: _money(row.billed_usd), "right", spare=1),
            Column("off by", lambda row: _signed(row.difference_usd), "right"),
            Column("saved", lambda row: _rate(row.savings_rate), "right"),
        ),
        facts=facts,
    )


def _signed(usd: Decimal) -> str:
    return f"{'+' * (usd > 0)}{_money(usd)}"


def _money(usd: Decimal) -> str:
    """Write an amount, below zero where it is a credit; a large one in whole dollars."""
    shown = f"{abs(usd):,.0f}" if abs(usd) >= _LARGE_USD else words.usd(abs(usd))
    return f"{'−' * (usd < 0)}{shown}"


def _rate(rate: float | None) -> str:
    return "–" if rate is None else f"{rate * _PERCENT:.1f}%"
