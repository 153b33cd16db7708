"""What is shown of the change from one plan to another: lines, cost by cause, ordered steps."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from rich.text import Text

from broker.reports.formats import Column, Plain, Report, RowT, plain
from broker.reports.layout import Fit

_SHOWN_USD = Decimal("0.005")
"""Below it an amount shows as 0.00."""

_UNCHANGED = frozenset({"unchanged", "repriced"})


@dataclass(frozen=True, slots=True)
class LineRow:
    """One line of either plan; None where a plan does not have it.

    `change` is added, removed, changed, repriced or unchanged. Nodes are the fewest and the most of
    a step. `price_usd` is what its new price adds to the old purchase, None where it has none.
    """

    change: str
    line: str
    old_least_nodes: int | None
    old_most_nodes: int | None
    new_least_nodes: int | None
    new_most_nodes: int | None
    old_usd_per_hour: Decimal | None
    new_usd_per_hour: Decimal | None
    old_usd: Decimal
    new_usd: Decimal
    change_usd: Decimal
    price_usd: Decimal | None


@dataclass(frozen=True, slots=True)
class PartRow:
    """One cause's part of the change in cost; the parts add up to it.

    The true part may lie up to `uncertainty_usd` away, as the plans it is between are proven to
    their gaps only.
    """

    cause: str
    usd: Decimal
    uncertainty_usd: Decimal
    why: str


@dataclass(frozen=True, slots=True)
class StepRow:
    """One thing to do, in order: add, wait, drain or remove `nodes` of a line."""

    number: int
    at: datetime
    action: str
    nodes: int
    line: str
    workloads: str
    note: str


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One of the two plans, as a heading."""

    name: str
    total_usd: Decimal
    bound_usd: Decimal
    from_at: datetime
    to_at: datetime
    snapshot: str


@dataclass(frozen=True, slots=True)
class PlanDifference:
    """All that is told of two plans; `notes` are sentences for people."""

    old: PlanRow
    new: PlanRow
    lines: tuple[LineRow, ...]
    parts: tuple[PartRow, ...]
    steps: tuple[StepRow, ...]
    notes: tuple[str, ...]

    @property
    def change_usd(self) -> Decimal:
        """Give what the new plan costs more."""
        return self.new.total_usd - self.old.total_usd

    @property
    def is_no_change(self) -> bool:
        """Say whether the new plan buys the nodes that the old one does."""
        return all(row.change in _UNCHANGED for row in self.lines)


def diff_report(of: PlanDifference) -> Report[LineRow]:
    """Write a difference for machines: lines as rows, parts and steps beside them."""
    facts: dict[str, Plain] = {
        "verdict": "no_change" if of.is_no_change else "changed",
        "old_total_usd": plain(of.old.total_usd),
        "new_total_usd": plain(of.new.total_usd),
        "change_usd": plain(of.change_usd),
        "old_bound_usd": plain(of.old.bound_usd),
        "new_bound_usd": plain(of.new.bound_usd),
        "old_snapshot": of.old.snapshot,
        "new_snapshot": of.new.snapshot,
        "notes": of.notes,
    }
    return Report(
        schema="gpubroker.diff/1",
        name="lines",
        row_type=LineRow,
        rows=of.lines,
        columns=(),
        facts=facts,
        beside={"parts": of.parts, "steps": of.steps},
    )


def heading(of: PlanDifference) -> Iterator[str]:
    """Say in a few lines what the two plans cost, and whether anything has to be done."""
    for one in (of.old, of.new):
        span = f"{one.from_at:%Y-%m-%d} to {one.to_at:%Y-%m-%d}"
        yield f"{one.name:<7}{one.total_usd:>16,.2f} USD  {span}, catalog {one.snapshot[:12]}"
    share = f"  ({of.change_usd / of.old.total_usd:+.1%})" if of.old.total_usd else ""
    yield f"{'change':<7}{of.change_usd:>+16,.2f} USD{share}"
    if of.is_no_change:
        yield "no change: the new plan buys the same nodes at the same times"


def lines_table(of: PlanDifference) -> Report[LineRow]:
    """Show the lines that differ."""
    columns = (
        Column[LineRow]("change", lambda row: row.change),
        Column[LineRow]("line", lambda row: row.line, fit=Fit.BREAK),
        Column[LineRow]("nodes", _nodes, "right"),
        Column[LineRow]("old USD", lambda row: f"{row.old_usd:,.2f}", "right", spare=1),
        Column[LineRow]("new USD", lambda row: f"{row.new_usd:,.2f}", "right"),
        Column[LineRow]("USD more", lambda row: f"{row.change_usd:+,.2f}", "right"),
    )
    rows = tuple(row for row in of.lines if row.change != "unchanged")
    return _table(LineRow, rows, columns)


def parts_table(of: PlanDifference) -> Report[PartRow]:
    """Show what each cause adds to the cost, and their sum."""
    columns = (
        Column[PartRow]("cause", lambda row: row.cause),
        Column[PartRow]("USD", lambda row: f"{row.usd:+,.2f}", "right"),
        Column[PartRow]("±", lambda row: _within(row.uncertainty_usd), "right"),
        Column[PartRow]("why", lambda row: row.why, fit=Fit.WRAP),
    )
    total = PartRow("all", of.change_usd, Decimal(0), "")
    return _table(PartRow, (*of.parts, total), columns)


def steps_table(of: PlanDifference) -> Report[StepRow]:
    """Show what to do, in its order."""
    columns = (
        Column[StepRow]("", lambda row: f"{row.number}", "right"),
        Column[StepRow]("at (UTC)", lambda row: f"{row.at:%Y-%m-%d %H:%M}"),
        Column[StepRow]("do", lambda row: row.action),
        Column[StepRow]("nodes", lambda row: f"{row.nodes}" if row.nodes else "", "right"),
        Column[StepRow]("what", _what, fit=Fit.WRAP),
    )
    return _table(StepRow, of.steps, columns)


def notes_text(of: PlanDifference) -> Text:
    """Lay the notes out as paragraphs."""
    return Text("\n".join(f"! {note}" for note in of.notes), style="yellow")


def _table(
    row_type: type[RowT], rows: tuple[RowT, ...], columns: tuple[Column[RowT], ...]
) -> Report[RowT]:
    return Report(
        schema="gpubroker.diff/1",
        name="rows",
        row_type=row_type,
        rows=rows,
        columns=columns,
        facts={},
    )


def _nodes(row: LineRow) -> str:
    old = _range(row.old_least_nodes, row.old_most_nodes)
    new = _range(row.new_least_nodes, row.new_most_nodes)
    return old if old == new else f"{old} → {new}"


def _range(least: int | None, most: int | None) -> str:
    if most is None:
        return "0"
    return f"{most}" if least == most else f"{least}–{most}"


def _within(uncertainty: Decimal) -> str:
    return f"{uncertainty:,.2f}" if uncertainty >= _SHOWN_USD else ""


def _what(row: StepRow) -> str:
    carried = f" ({row.workloads})" if row.line and row.workloads else row.workloads
    return ": ".join(part for part in (f"{row.line}{carried}", row.note) if part)
