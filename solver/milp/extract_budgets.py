"""What a plan spends beyond its soft budgets, exactly: from counts and prices."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from broker.domain.budget import Budget
from broker.domain.case import Case, committed_hours
from broker.domain.list_price import list_usd_per_hour
from broker.domain.offer import PriceKind
from broker.domain.plan import (
    CostLine,
    Purchase,
    ServingAssignment,
    Term,
    TrainingAssignment,
)
from broker.domain.quantities import HOURS_PER_MONTH
from solver.milp.extract_months import Bill, Span, over_by_month

_MICRO = 1_000_000
_NOTHING = Fraction(0)


Work = tuple[Sequence[ServingAssignment], Sequence[TrainingAssignment]]


@dataclass(frozen=True, slots=True)
class _Billed:
    bought: Sequence[Purchase]
    work: Work
    lines: Sequence[CostLine]


@dataclass(frozen=True, slots=True)
class _Between:
    from_at: datetime
    to_at: datetime


_Rate = tuple[Span, Fraction]
"""From when until when, and dollars an hour."""


def overrun_lines(
    case: Case,
    bought: Sequence[Purchase],
    work: Work,
    lines: Sequence[CostLine],
) -> tuple[CostLine, ...]:
    """Write a cost line for each soft budget that is exceeded; `lines` are all that is billed."""
    found = []
    for number, budget in enumerate(case.workloads.policy.budgets):
        if budget.over_usd_per_usd is not None:
            over = (
                over_by_month(case, budget, Bill(bought, *work))
                if budget.is_by_month
                else _over_usd(case, budget, _Billed(bought, work, lines))
            )
            usd = Decimal(round(Fraction(budget.over_usd_per_usd) * over * _MICRO)).scaleb(-6)
            subject = f"policy.budgets[{number}]"
            found.append(CostLine(term=Term.OVER_BUDGET, subject=subject, usd=usd))
    return tuple(line for line in found if line.usd)


def _over_usd(
    case: Case,
    budget: Budget,
    billed: _Billed,
) -> Fraction:
    providers = {one.key: one.provider for one in (*case.machines.values(), *case.offers)}
    kept = [one for one in billed.bought if budget.is_with(providers[one.offer])]
    rates = (
        _work_rates(case, budget, billed.work) if budget.is_for_work else _node_rates(case, kept)
    )
    if budget.is_hourly:
        by_slot = [one for span, usd in rates for one in _in_slots(case, span, usd)]
        return _over_by_hour(case, Fraction(budget.amount_usd), by_slot)
    if budget.is_for_work:
        runs = {one.name for one in case.workloads.runs if budget.covers(one.name, one.team)}
        spent = sum((usd * _hours(span) for span, usd in rates), _NOTHING)
        once = [
            line.usd for line in billed.lines if line.term is Term.EGRESS and line.subject in runs
        ]
    else:
        spent = _NOTHING
        ids = {one.id for one in kept}
        is_whole = budget.provider is None
        once = [line.usd for line in billed.lines if is_whole or line.subject in ids]
    return max(spent + sum(map(Fraction, once), _NOTHING) - _limit(case, budget), _NOTHING)


def _limit(case: Case, budget: Budget) -> Fraction:
    if budget.usd_per_month is None:
        return Fraction(budget.amount_usd)
    months = Fraction(case.workloads.horizon.hours) / Fraction(HOURS_PER_MONTH)
    return Fraction(budget.usd_per_month) * months


def _node_rates(case: Case, bought: Sequence[Purchase]) -> Iterator[_Rate]:
    prices = {offer.key: Fraction(offer.effective_usd_per_hour) for offer in case.offers}
    for one in bought:
        if one.price_kind is not PriceKind.OWNED:
            yield from ((step, step.nodes * prices[one.offer]) for step in one.steps)
        if one.savings is not None:
            yield _term(case, one), Fraction(one.savings.usd_per_hour)
            for cover in one.savings.covers:
                usd = -prices[cover.line]
                yield from ((step, Fraction(step.nodes) * usd) for step in cover.steps)


def _term(case: Case, promised: Purchase) -> Span:
    """Say from when until when a savings plan is paid in the horizon."""
    horizon = case.workloads.horizon
    terms = {offer.key: float(committed_hours(offer)) for offer in case.offers}
    hours = min(terms[promised.offer], horizon.hours)
    return _Between(horizon.start, horizon.start + timedelta(hours=hours))


def _work_rates(
    case: Case,
    budget: Budget,
    work: Work,
) -> Iterator[_Rate]:
    listed = list_usd_per_hour(case.offers)
    teams = {one.name: one.team for one in case.workloads.services}
    teams |= {one.name: one.team for one in case.workloads.runs}
    serving, training = work
    for group in serving:
        if budget.covers(group.service, teams[group.service]):
            usd = Fraction(listed.get((group.machine, group.on_spot), Decimal(0)))
            usd *= group.candidate.gpus
            usd /= case.machines[group.machine].hardware.shape.gpu_count
            yield from ((step, step.replicas * usd) for step in group.steps)
    for gang in training:
        if budget.covers(gang.run, teams[gang.run]):
            usd = Fraction(listed.get((gang.machine, gang.on_spot), Decimal(0)))
            yield from ((step, gang.candidate.nodes * usd) for step in gang.steps)


def _in_slots(case: Case, span: Span, usd: Fraction) -> Iterator[_Rate]:
    """Spread what a part of a slot costs, as where a term ends, over all of the slot."""
    start_at, slot = case.workloads.horizon.start, case.workloads.horizon.slot
    whole_at = start_at + (span.to_at - start_at) // slot * slot
    yield _Between(span.from_at, whole_at), usd
    if whole_at < span.to_at:
        part = _length_h(whole_at, span.to_at) / _length_h(whole_at, whole_at + slot)
        yield _Between(whole_at, whole_at + slot), usd * part


def _over_by_hour(case: Case, limit: Fraction, rates: Sequence[_Rate]) -> Fraction:
    """Add up what is over the limit, between the instants at which anything changes."""
    changes: dict[datetime, Fraction] = {}
    for span, usd in rates:
        changes[span.from_at] = changes.get(span.from_at, _NOTHING) + usd
        changes[span.to_at] = changes.get(span.to_at, _NOTHING) - usd
    over, level, since = _NOTHING, _NOTHING, case.workloads.horizon.start
    for at in sorted(changes):
        over += max(level - limit, _NOTHING) * _length_h(since, at)
        level, since = level + changes[at], at
    return over


def _hours(span: Span) -> Fraction:
    return _length_h(span.from_at, span.to_at)


def _length_h(from_at: datetime, to_at: datetime) -> Fraction:
    between = to_at - from_at
    return Fraction(between.days * 86_400 + between.seconds, 3600)
