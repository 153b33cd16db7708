"""A plan for a spreadsheet: one row a purchase, and its cost by week in columns beside it.

Every column of dollars can be summed: `usd` adds up to the plan's total, and so do the columns of
the weeks together. Text that a spreadsheet would run as a formula is made inert.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal

from broker.domain.cells import inert
from broker.domain.pauses import up_h
from broker.domain.plan import Plan
from broker.exports.buying import Bought, Kind, bought
from broker.exports.files import ExportFile, line_label
from broker.exports.summary import other_costs
from broker.exports.weeks import Week, WeekCost, week_costs, weeks_of

_Cell = str | int | float | Decimal | None

_COLUMNS = (
    "line",
    "label",
    "do",
    "provider",
    "instance_type",
    "tier",
    "region",
    "zone",
    "gpu",
    "gpus_per_node",
    "fewest_nodes",
    "most_nodes",
    "from_at",
    "to_at",
    "up_h",
    "price_kind",
    "term_months",
    "payment",
    "workloads",
    "node_hours",
    "usd_per_node_hour",
    "breakeven_utilization",
    "price_seen_at",
    "price_source",
    "usd",
    "upfront_usd",
    "later_usd",
)


def export(plan: Plan) -> tuple[ExportFile, ...]:
    """Write purchases and other costs as rows of one CSV file."""
    weeks = weeks_of(plan)
    costs = week_costs(plan)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")  # as RFC 4180 and spreadsheets have it
    writer.writerow([*_COLUMNS, *(f"usd_week_{week.from_at:%Y-%m-%d}" for week in weeks)])
    for row in (*_purchases(plan, costs, weeks), *_others(plan, costs, weeks)):
        writer.writerow([_written(cell) for cell in row])
    return (ExportFile("plan.csv", out.getvalue()),)


def _purchases(
    plan: Plan, costs: Sequence[WeekCost], weeks: Sequence[Week]
) -> Iterator[list[_Cell]]:
    for one in bought(plan):
        yield [*_what(one), *_money(one), *_by_week(one.purchase.id, costs, weeks)]


def _what(one: Bought) -> Iterator[_Cell]:
    offer, purchase = one.offer, one.purchase
    yield from (purchase.id, line_label(purchase.id), one.action)
    yield from (offer.provider, offer.instance_type, offer.tier)
    yield from (offer.place.region, offer.place.zone)
    yield from (offer.hardware.shape.gpu, str(offer.hardware.shape.gpu_count))
    yield from (one.fewest_nodes, one.most_nodes)
    yield from (_instant(at) for at in one.span or ())
    yield from ("",) * (0 if one.span else 2)
    yield up_h(purchase.steps) if one.span else ""
    yield purchase.price_kind.value
    promised = offer.commitment if one.kind is not Kind.OWNED else None
    yield from (promised.term_months, promised.payment.value) if promised else ("", "")
    yield ", ".join(one.workloads)


def _money(one: Bought) -> Iterator[_Cell]:
    offer, purchase = one.offer, one.purchase
    yield purchase.node_hours
    yield offer.effective_usd_per_hour if one.kind is not Kind.OWNED else Decimal(0)
    yield purchase.breakeven_utilization
    yield from (_instant(offer.provenance.observed_at), offer.provenance.source)
    yield from (purchase.usd, purchase.upfront_usd, purchase.later_usd)


def _others(plan: Plan, costs: Sequence[WeekCost], weeks: Sequence[Week]) -> Iterator[list[_Cell]]:
    """Give a row to each cost that is no purchase, such as the transfer of training data."""
    for line in other_costs(plan):
        row: dict[str, _Cell] = dict.fromkeys(_COLUMNS, "")
        provider = next((one.provider for one in costs if one.line is line), "")
        row |= {"line": line.subject, "label": line_label(line.subject), "do": line.term.value}
        row |= {"provider": provider, "workloads": line.workload, "usd": line.usd}
        weekly = [
            sum((one.usd for one in costs if one.line is line and one.week == week), Decimal(0))
            for week in weeks
        ]
        yield [*row.values(), *weekly]


def _by_week(subject: str, costs: Sequence[WeekCost], weeks: Sequence[Week]) -> Iterator[Decimal]:
    for week in weeks:
        own = (one.usd for one in costs if (one.line.subject, one.week) == (subject, week))
        yield sum(own, Decimal(0))


def _instant(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


def _written(cell: _Cell) -> str:
    if cell is None:
        return ""
    return f"{cell:f}" if isinstance(cell, Decimal) else inert(str(cell))
