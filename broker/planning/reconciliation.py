"""A plan held to a bill: the plan's own charges of the time that the bill is of, line by line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from broker.domain.errors import ConfigurationError
from broker.domain.plan import Plan
from broker.exports.charges import Charge, ChargeKind, charges
from broker.exports.files import line_label
from broker.exports.launches import LINE_LABEL
from broker.planning.purchasing import PurchasingService
from broker.purchases.bill import BillRow, Costs, read_bill
from broker.purchases.reconciling import PlannedLine, Reconciliation, reconcile, total
from broker.purchases.records import PlanRecord

_ZERO = Decimal(0)
_PAID_AHEAD = frozenset({ChargeKind.FEE, ChargeKind.UPFRONT})


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What came of it. The bill is of `from_at` to `to_at`, cut to the plan's horizon."""

    plan: Plan
    record: PlanRecord | None
    from_at: datetime
    to_at: datetime
    found: Reconciliation


def reconcile_plan(service: PurchasingService, given: str, bill: Path) -> Reconciled:
    """Hold a plan to a bill in FOCUS.

    Planned are the charges that begin in the time of the bill: days for what is used, months for
    the hours of a commitment, and the day on which an upfront part is due.

    Raises:
        ConfigurationError: the plan or the bill cannot be read, or they are of different times.
    """
    plan, record = service.standing(given)
    rows = read_bill(_content(bill), str(bill))
    from_at, to_at = _common_time(plan, rows)
    charged = [one for one in charges(plan) if from_at <= one.from_at < to_at]
    horizon = plan.workloads.horizon
    found = reconcile(
        [*_lines(plan, charged, record), *_data(plan, charged)],
        rows,
        tag=LINE_LABEL,
        within=(horizon.start, horizon.end),
    )
    return Reconciled(plan, record, from_at, to_at, found)


def _content(bill: Path) -> bytes:
    try:
        return bill.read_bytes()
    except OSError as cause:
        raise ConfigurationError(
            f"the bill {str(bill)!r} cannot be read: {cause.strerror}",
            hint="name a FOCUS file: --bill FOCUS.csv",
        ) from cause


def _common_time(plan: Plan, rows: Sequence[BillRow]) -> tuple[datetime, datetime]:
    horizon = plan.workloads.horizon
    first, last = min(row.from_at for row in rows), max(row.to_at for row in rows)
    from_at, to_at = max(first, horizon.start), min(last, horizon.end)
    if from_at >= to_at:
        raise ConfigurationError(
            f"the bill is from {first:%Y-%m-%d} to {last:%Y-%m-%d}, the plan from "
            f"{horizon.start:%Y-%m-%d} to {horizon.end:%Y-%m-%d}",
            hint="give the bill of the plan's months",
        )
    return from_at, to_at


def _lines(plan: Plan, charged: Sequence[Charge], record: PlanRecord | None) -> list[PlannedLine]:
    offers = {offer.key: offer for offer in plan.offers}
    executed = {one.line: one for one in record.executed} if record else {}
    return [
        PlannedLine(
            id=one.id,
            label=line_label(one.id),
            provider=offers[one.offer].provider,
            costs=_costs(of for of in charged if of.line and of.line.id == one.id),
            is_executed=one.id in executed,
            references=_references(executed[one.id].reference) if one.id in executed else (),
        )
        for one in plan.purchases
    ]


def _references(text: str) -> tuple[str, ...]:
    """Read a reference, which may name several resources with commas between them."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _data(plan: Plan, charged: Sequence[Charge]) -> list[PlannedLine]:
    """Name what the data of workloads costs, moved and kept, by workload."""
    at = {one.name: one.data.at.partition("/")[0] for one in plan.workloads.runs if one.data}
    at |= {
        one.name: one.weights.at.partition("/")[0] for one in plan.workloads.services if one.weights
    }
    at |= {one.workload: one.place.partition("/")[0] for one in charges(plan) if one.place} | at
    names = sorted({one.workload for one in charges(plan) if one.workload})
    return [
        PlannedLine(
            id=name,
            label=line_label(name),
            provider=at.get(name, ""),
            costs=_costs(of for of in charged if of.workload == name),
        )
        for name in names
    ]


def _costs(of: Iterable[Charge]) -> Costs:
    """Add charges up as a bill's are; what is paid ahead is at list where it is used."""
    return total(
        Costs(
            list_usd=_ZERO if one.kind in _PAID_AHEAD else one.list_usd,
            contracted_usd=_ZERO if one.kind in _PAID_AHEAD else one.list_usd,
            effective_usd=one.effective_usd,
            billed_usd=one.billed_usd,
        )
        for one in of
    )
