"""A what-if: the plan as it is beside the plan with changes, and the lines that differ."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from rich.console import Group, RenderableType
from rich.text import Text

from broker.domain.offer import NOT_ITS_PRICE
from broker.domain.plan import SMALLEST_GAP, Plan, Status, Term
from broker.reports.formats import Column, Report, as_table, plain
from broker.reports.layout import Fit
from broker.reports.plan_view import heading, without_plan

_NOTHING = Decimal(0)
_DATA = frozenset({Term.EGRESS, Term.STORAGE})


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """A line of both plans: node-hours and dollars before and after.

    Data that is moved or kept has a line, too, without node-hours.
    """

    change: str
    line: str
    base_node_hours: Decimal
    node_hours: Decimal
    base_usd: Decimal
    usd: Decimal
    change_usd: Decimal


@dataclass(frozen=True, slots=True)
class _Figure:
    name: str
    base: str
    changed: str
    change: str


def what_if_report(base: Plan, changed: Plan, changes: tuple[str, ...]) -> Report[ChangedLine]:
    """Show the lines that differ; the totals and their proofs are the facts."""
    least, most = change_between(base, changed)
    return Report(
        schema="gpubroker.what-if/1",
        name="lines",
        row_type=ChangedLine,
        rows=changed_lines(base, changed),
        columns=(
            Column("change", lambda row: row.change),
            Column("line", lambda row: row.line, fit=Fit.BREAK),
            Column("node-hours", _hours, "right"),
            Column("USD", lambda row: f"{row.usd:,.2f}", "right"),
            Column("differs by", lambda row: f"{row.change_usd:+,.2f}", "right"),
        ),
        facts={
            "changes": changes,
            "base_status": base.status.value,
            "base_total_usd": plain(_total(base)),
            "base_bound_usd": plain(base.bound_usd),
            "base_gap_fraction": base.gap_fraction,
            "status": changed.status.value,
            "total_usd": plain(_total(changed)),
            "bound_usd": plain(changed.bound_usd),
            "gap_fraction": changed.gap_fraction,
            "least_change_usd": plain(least),
            "most_change_usd": plain(most),
        },
    )


def what_if_page(base: Plan, changed: Plan, changes: tuple[str, ...], width: int) -> RenderableType:
    """Lay the difference out for a terminal of `width` characters."""
    parts: list[RenderableType] = [
        heading(base, "What if"),
        Text(f"  {', '.join(changes)}", style="bold"),
        Text(),
        Text(as_table(_figures(base, changed), width).rstrip("\n")),
        *_interval(base, changed),
    ]
    report = what_if_report(base, changed, changes)
    missing = [one for one in (base, changed) if one.status is Status.INFEASIBLE]
    if missing:
        parts += [Text(), without_plan(missing[0])]
    elif report.rows:
        parts += [Text(), Text(as_table(report, width).rstrip("\n"))]
    else:
        parts += [Text(), Text("The purchases are the same.")]
    return Group(*parts, *_new_warnings(base, changed))


def change_between(base: Plan, changed: Plan) -> tuple[Decimal | None, Decimal | None]:
    """Give the least and the most by which the least possible cost can change.

    Each plan's least possible cost lies between its bound and its total; None without a plan.
    """
    if Status.INFEASIBLE in (base.status, changed.status):
        return None, None
    return changed.bound_usd - base.objective_usd, changed.objective_usd - base.bound_usd


def changed_lines(base: Plan, changed: Plan) -> tuple[ChangedLine, ...]:
    """List the lines that were added, removed or changed, the largest change first."""
    before = {one.id: one for one in base.purchases}
    after = {one.id: one for one in changed.purchases}
    rows = []
    for line in sorted(before.keys() | after.keys()):
        old, new = before.get(line), after.get(line)
        old_hours, old_usd = (old.node_hours, old.usd) if old else (_NOTHING, _NOTHING)
        hours, usd = (new.node_hours, new.usd) if new else (_NOTHING, _NOTHING)
        if (old_hours, old_usd) != (hours, usd):
            what = "added" if old is None else "removed" if new is None else "changed"
            rows.append(ChangedLine(what, line, old_hours, hours, old_usd, usd, usd - old_usd))
    old_data, new_data = _data_usd(base), _data_usd(changed)
    for line in sorted(old_data.keys() | new_data.keys()):
        old_usd, usd = old_data.get(line, _NOTHING), new_data.get(line, _NOTHING)
        if old_usd != usd:
            what = "added" if line not in old_data else "changed"
            what = what if line in new_data else "removed"
            rows.append(ChangedLine(what, line, _NOTHING, _NOTHING, old_usd, usd, usd - old_usd))
    return tuple(sorted(rows, key=lambda row: (-abs(row.change_usd), row.line)))


def _data_usd(plan: Plan) -> dict[str, Decimal]:
    """Name what is paid beside the purchases: data that is moved and kept."""
    return {
        f"{line.term.value} of {line.subject}": line.usd
        for line in plan.cost_lines
        if line.term in _DATA
    }


def _figures(base: Plan, changed: Plan) -> Report[_Figure]:
    """Set the totals and proofs of both plans side by side."""
    return Report(
        schema="",
        name="figures",
        row_type=_Figure,
        rows=tuple(_compared_figures(base, changed)),
        columns=(
            Column("", lambda row: row.name),
            Column("as it is", lambda row: row.base, "right"),
            Column("what if", lambda row: row.changed, "right"),
            Column("change", lambda row: row.change, "right"),
        ),
        facts={},
    )


def _compared_figures(base: Plan, changed: Plan) -> Iterator[_Figure]:
    old, new = _total(base), _total(changed)
    change = ""
    if old is not None and new is not None:
        share = f" ({(new - old) / old:+.1%})" if old else ""
        change = f"{new - old:+,.2f}{share}"
    yield _Figure("Total USD", _usd(old), _usd(new), change)
    yield _Figure("At least", _bound(base), _bound(changed), "")
    yield _Figure("Gap", _gap(base), _gap(changed), "")


def _interval(base: Plan, changed: Plan) -> Iterator[Text]:
    least, most = change_between(base, changed)
    is_proven = max(base.gap_fraction, changed.gap_fraction) <= SMALLEST_GAP
    if least is None or most is None or is_proven:
        return
    yield Text()
    yield Text(
        f"The least possible cost changes by {least:+,.2f} to {most:+,.2f} USD, as both totals are "
        "solved to a gap; a smaller --gap narrows it."
    )
    if least < 0 < most:
        yield Text("Whether it becomes dearer or cheaper is within the gaps, so not proven.")


def _new_warnings(base: Plan, changed: Plan) -> Iterator[Text]:
    """Tell what the changed plan warns of, but for the prices that were changed by intent."""
    for one in changed.warnings:
        if one not in base.warnings and NOT_ITS_PRICE not in one:
            yield Text(f"! {one}", style="yellow")


def _hours(row: ChangedLine) -> str:
    if row.base_node_hours == row.node_hours:
        return f"{row.node_hours:,.0f}"
    return f"{row.base_node_hours:,.0f} → {row.node_hours:,.0f}"


def _total(plan: Plan) -> Decimal | None:
    return None if plan.status is Status.INFEASIBLE else plan.objective_usd


def _usd(amount: Decimal | None) -> str:
    return "no plan" if amount is None else f"{amount:,.2f}"


def _bound(plan: Plan) -> str:
    return "" if plan.status is Status.INFEASIBLE else f"{plan.bound_usd:,.2f}"


def _gap(plan: Plan) -> str:
    return "" if plan.status is Status.INFEASIBLE else f"{plan.gap_fraction:.2%}"
