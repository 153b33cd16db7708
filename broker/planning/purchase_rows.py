"""What is told of plans on their way to a purchase, as flat rows."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from broker.domain.plan import Plan
from broker.exports.files import line_label
from broker.planning.reconciliation import Reconciled
from broker.purchases.audit import Entry
from broker.purchases.bill import Costs
from broker.purchases.deciding import to_buy
from broker.purchases.reconciling import BilledLine, Unexplained, savings_rate
from broker.purchases.records import PlanRecord
from broker.reports.formats import Plain, plain
from broker.reports.purchases_view import EntryRow, LineRow, PlanRow
from broker.reports.reconcile_view import ReconcileRow

_NOTHING = Costs()


def plan_row(plan: Plan, record: PlanRecord) -> PlanRow:
    """Tell how far a kept plan is."""
    return PlanRow(
        hash=record.hash,
        workloads=", ".join(record.workloads),
        state=record.state,
        total_usd=record.total_usd,
        approved_by=", ".join(one.actor for one in record.approvals),
        approvals=len(record.approvals),
        approvals_needed=plan.workloads.policy.approvals,
        executed=len(record.executed),
        lines=len(to_buy(plan)),
        kept_at=record.kept_at,
    )


def line_rows(plan: Plan, record: PlanRecord) -> tuple[LineRow, ...]:
    """Tell of each line to buy what was bought, in the plan's order."""
    executed = {one.line: one for one in record.executed}
    found = ((one, executed.get(one.id)) for one in plan.purchases if one.id in to_buy(plan))
    return tuple(
        LineRow(
            line=one.id,
            label=line_label(one.id),
            price_kind=one.price_kind,
            usd=one.usd,
            executed_by=done.actor if done else None,
            executed_at=done.at if done else None,
            reference=done.reference if done else None,
            note=done.note if done else None,
        )
        for one, done in found
    )


def entry_rows(log: Iterable[Entry]) -> tuple[EntryRow, ...]:
    """Tell each entry of the audit log."""
    return tuple(
        EntryRow(
            number=one.number,
            at=one.at,
            actor=one.deed.actor,
            action=one.deed.action,
            plan=one.deed.plan_hash,
            line=one.deed.line,
            detail=one.deed.detail,
            sha256=one.sha256,
        )
        for one in log
    )


def reconcile_rows(of: Reconciled) -> tuple[ReconcileRow, ...]:
    """Tell each line as planned and as billed, then what is neither, then the totals."""
    return (
        *(_line(one) for one in of.found.lines),
        *(_rest(one) for one in of.found.rest),
        *_totals(of),
    )


def reconcile_facts(of: Reconciled) -> dict[str, Plain]:
    """Tell what the figures are of."""
    both = of.found.explained + of.found.unexplained
    return {
        "state": of.record.state.value if of.record else "not kept",
        "from_at": plain(of.from_at),
        "to_at": plain(of.to_at),
        "planned_usd": plain(of.found.planned.effective_usd),
        "effective_usd": plain(both.effective_usd),
        "billed_usd": plain(both.billed_usd),
        "unexplained_usd": plain(of.found.unexplained.effective_usd),
        "effective_savings_rate": _rate(both),
    }


def _line(one: BilledLine) -> ReconcileRow:
    planned = one.planned
    row = _row("line", planned.id, planned.costs, one.billed)
    return replace(
        row,
        label=planned.label,
        provider=planned.provider,
        executed=planned.is_executed,
        charges=one.rows,
    )


def _rest(one: Unexplained) -> ReconcileRow:
    where = " ".join(part for part in (one.provider, one.service) if part) or "somebody"
    row = _row("unexplained", f"{where}: {one.why}", _NOTHING, one.costs)
    return replace(
        row,
        label=one.label,
        provider=one.provider,
        charges=one.rows,
        first_line=one.first_line,
    )


def _totals(of: Reconciled) -> Iterator[ReconcileRow]:
    found = of.found
    if found.rest:
        yield _row("total", "lines of the plan", found.planned, found.explained)
        yield _row("total", "unexplained", _NOTHING, found.unexplained)
    yield _row("total", "total", found.planned, found.explained + found.unexplained)


def _row(kind: str, what: str, planned: Costs, billed: Costs) -> ReconcileRow:
    return ReconcileRow(
        kind=kind,
        what=what,
        label="",
        provider="",
        planned_usd=planned.effective_usd,
        list_usd=billed.list_usd,
        contracted_usd=billed.contracted_usd,
        effective_usd=billed.effective_usd,
        billed_usd=billed.billed_usd,
        difference_usd=billed.effective_usd - planned.effective_usd,
        planned_list_usd=planned.list_usd,
        planned_billed_usd=planned.billed_usd,
        savings_rate=_rate(billed),
        executed=None,
        charges=0,
        first_line=None,
    )


def _rate(costs: Costs) -> float | None:
    rate = savings_rate(costs)
    return None if rate is None else round(float(rate), 6)
