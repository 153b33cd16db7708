"""A sweep: what every point costs, in a table and in bars."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from rich.console import Group, RenderableType
from rich.text import Text

from broker.domain.plan import Plan, Status
from broker.reports.bars import bar
from broker.reports.formats import Column, Report, as_table
from broker.reports.layout import Fit, shorten
from broker.reports.plan_view import heading

_LONGEST_LABEL, _SHORTEST_BAR, _GAP = 40, 10, 2
Points = Sequence[tuple[tuple[str, ...], Plan]]
"""The values of each point, one a key, and its plan."""


@dataclass(frozen=True, slots=True)
class PointRow:
    """One point: its values, and what its plan costs; the second key is empty where there is one.

    `gpu_hours` are those bought, or owned and used, by GPU model.
    """

    key: str
    value: str
    second_key: str
    second_value: str
    status: str
    total_usd: Decimal | None
    bound_usd: Decimal | None
    gap_fraction: float | None
    gpu_hours: Mapping[str, int]
    purchases: int


def sweep_report(keys: Sequence[str], points: Points, snapshot: str) -> Report[PointRow]:
    """Show every point in the order of the sweep; `snapshot` names the unchanged catalog."""
    columns = [Column[PointRow](keys[0], lambda row: row.value)]
    columns += [Column[PointRow](key, lambda row: row.second_value) for key in keys[1:]]
    return Report(
        schema="gpubroker.sweep/1",
        name="points",
        row_type=PointRow,
        rows=tuple(_row(keys, values, plan) for values, plan in points),
        columns=(
            *columns,
            Column("USD", lambda row: _usd(row.total_usd), "right"),
            Column("at least", lambda row: _bound(row.bound_usd), "right"),
            Column("gap", lambda row: _percent(row.gap_fraction), "right"),
            Column("GPU-hours", _hours, fit=Fit.WRAP, spare=1),
        ),
        facts={"snapshot": snapshot},
    )


def sweep_page(report: Report[PointRow], first: Plan, width: int) -> RenderableType:
    """Lay a sweep out for a terminal of `width` characters: the table, then the bars.

    `first` is the plan of one point; all have its horizon and workloads in the heading.
    """
    return Group(
        heading(first, "Sweep", str(report.facts["snapshot"])),
        Text(),
        Text(as_table(report, width)),
        *_chart(report.rows, width),
    )


def _row(keys: Sequence[str], values: Sequence[str], plan: Plan) -> PointRow:
    has_plan = plan.status is not Status.INFEASIBLE
    second_key, second_value = (keys[1], values[1]) if len(keys) > 1 else ("", "")
    return PointRow(
        key=keys[0],
        value=values[0],
        second_key=second_key,
        second_value=second_value,
        status=plan.status.value,
        total_usd=plan.objective_usd if has_plan else None,
        bound_usd=plan.bound_usd if has_plan else None,
        gap_fraction=plan.gap_fraction if has_plan else None,
        gpu_hours=_gpu_hours(plan),
        purchases=len(plan.purchases),
    )


def _gpu_hours(plan: Plan) -> Mapping[str, int]:
    shapes = {offer.key: offer.hardware.shape for offer in plan.offers}
    hours = Counter[str]()
    for one in plan.purchases:
        shape = shapes[one.offer]
        hours[shape.gpu] += round(one.node_hours * int(shape.gpu_count))
    return dict(sorted(hours.items()))


def _chart(rows: Sequence[PointRow], width: int) -> Iterator[Text]:
    """Draw a bar for each point, solid up to its bound; one group for each first value."""
    most = max((row.total_usd for row in rows if row.total_usd is not None), default=Decimal(0))
    label = min(_LONGEST_LABEL, max(len(_label(row)) for row in rows))
    amount = max(len(_usd(row.total_usd)) for row in rows)
    room = max(_SHORTEST_BAR, width - label - amount - 2 * _GAP)
    yield Text("Cost in USD: █ at least, ░ up to the plan found", style="bold")
    last = rows[0].value
    for row in rows:
        if row.second_key and row.value != last:
            yield Text()
        last = row.value
        drawn = ""
        if row.total_usd is not None and row.bound_usd is not None:
            drawn = bar(row.bound_usd, row.total_usd, most, room)
        name = shorten(_label(row), label)
        yield Text(f"{name:<{label}}  {drawn:<{room}}  {_usd(row.total_usd):>{amount}}")


def _label(row: PointRow) -> str:
    return f"{row.value}  {row.second_value}" if row.second_key else row.value


def _hours(row: PointRow) -> str:
    return ", ".join(f"{hours:,} {gpu}" for gpu, hours in row.gpu_hours.items())


def _usd(amount: Decimal | None) -> str:
    return "no plan" if amount is None else f"{amount:,.2f}"


def _bound(amount: Decimal | None) -> str:
    return "" if amount is None else f"{amount:,.2f}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.2%}"
