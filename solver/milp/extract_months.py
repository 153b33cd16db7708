"""What a plan spends beyond soft budgets for each month of the calendar, exactly."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

from broker.domain.budget import Budget
from broker.domain.case import Case, committed_hours
from broker.domain.list_price import list_usd_per_hour
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import Purchase, ServingAssignment, TrainingAssignment
from broker.domain.savings import upfront_share
from broker.domain.workload import Run
from solver.milp.months import month_at

_MICROSECOND = timedelta(microseconds=1)
_HOUR = timedelta(hours=1)
_NOTHING = Fraction(0)


class Span(Protocol):
    """From when until when."""

    @property
    def from_at(self) -> datetime:
        """Give the start."""

    @property
    def to_at(self) -> datetime:
        """Give the end."""


@dataclass(frozen=True, slots=True)
class Bill:
    """What is bought, and what works on it."""

    bought: Sequence[Purchase]
    serving: Sequence[ServingAssignment]
    training: Sequence[TrainingAssignment]


_Due = Iterator[tuple[int, Fraction]]
"""Months, and dollars that fall due in them."""


def over_by_month(case: Case, budget: Budget, bill: Bill) -> Fraction:
    """Add up what is over the budget in each month."""
    months = case.workloads.horizon.months()
    due = [_NOTHING] * len(months)
    for month, usd in _due(case, budget, bill):
        due[month] += usd
    limit = Fraction(budget.amount_usd)
    return sum((max(usd - limit, _NOTHING) for usd in due), _NOTHING)


def _due(case: Case, budget: Budget, bill: Bill) -> _Due:
    if budget.is_for_work:
        yield from _work(case, budget, bill)
        yield from _data_sets(case, budget, bill)
        return
    for one in bill.bought:
        yield from _purchase(case, budget, one)
    if budget.provider is None:
        yield from _weights(case, bill)
        yield from _data_sets(case, budget, bill)
        yield from _results(case, bill)


def _purchase(case: Case, budget: Budget, one: Purchase) -> _Due:
    if one.price_kind is PriceKind.OWNED:
        return
    offers = {offer.key: offer for offer in case.offers}
    offer, start_at = offers[one.offer], case.workloads.horizon.start
    if budget.is_with(offer.provider):
        begins_at = one.block.starts_at if one.block else start_at
        yield month_at(case.workloads.horizon, begins_at), Fraction(one.upfront_usd)
        if one.block is None:
            for step in one.steps:
                yield from _hourly(case, step, step.nodes * Fraction(offer.usd_per_hour))
        if one.savings is not None:
            active = min(case.workloads.horizon.end - start_at, _term(offer))
            span = _Active(start_at, start_at + active)
            a_share = 1 - upfront_share(offer)
            yield from _hourly(case, span, Fraction(one.savings.usd_per_hour) * a_share)
    for cover in one.savings.covers if one.savings else ():
        rented = offers[cover.line]
        for covered in cover.steps if budget.is_with(rented.provider) else ():
            usd = -Fraction(covered.nodes) * Fraction(rented.usd_per_hour)
            yield from _hourly(case, covered, usd)


@dataclass(frozen=True, slots=True)
class _Active:
    from_at: datetime
    to_at: datetime


def _term(offer: Offer) -> timedelta:
    return timedelta(hours=float(committed_hours(offer)))


def _weights(case: Case, bill: Bill) -> _Due:
    options = {
        (one.service, one.user_region, one.machine, one.on_spot, one.candidate.id): one
        for one in case.serving
    }
    for group in bill.serving:
        key = (group.service, group.user_region, group.machine, group.on_spot, group.candidate.id)
        option = options[key]
        most = max((step.replicas for step in group.steps), default=0)
        yield 0, Fraction(option.egress_usd) * most
        for step in group.steps:
            yield from _hourly(case, step, Fraction(option.storage_usd_per_hour) * step.replicas)


def _data_sets(case: Case, budget: Budget, bill: Bill) -> _Due:
    options = {(one.run, one.machine, one.candidate.id): one for one in case.training}
    runs = {run.name: run for run in case.workloads.runs}
    for gang in bill.training:
        run = runs[gang.run]
        if not budget.is_for_work or budget.covers(run.name, run.team):
            option = options[gang.run, gang.machine, gang.candidate.id]
            yield _months_of(case, run)[0], Fraction(option.egress_usd)


def _results(case: Case, bill: Bill) -> _Due:
    options = {(one.run, one.machine, one.candidate.id): one for one in case.training}
    runs = {run.name: run for run in case.workloads.runs}
    for gang in bill.training:
        option = options[gang.run, gang.machine, gang.candidate.id]
        usd = Fraction(option.result_egress_usd) + Fraction(option.storage_usd)
        yield _months_of(case, runs[gang.run])[1], usd


def _months_of(case: Case, run: Run) -> tuple[int, int]:
    """Give the months of the first and the last slot in which a run may work."""
    horizon = case.workloads.horizon
    from_at = max(horizon.start, run.window.earliest)
    first = -((horizon.start - from_at) // horizon.slot)
    last = (min(horizon.end, run.window.deadline) - horizon.start) // horizon.slot - 1
    return (
        month_at(horizon, horizon.start + first * horizon.slot),
        month_at(horizon, horizon.start + last * horizon.slot),
    )


def _work(case: Case, budget: Budget, bill: Bill) -> _Due:
    listed = list_usd_per_hour(case.offers)
    teams = {one.name: one.team for one in case.workloads.services}
    teams |= {one.name: one.team for one in case.workloads.runs}
    for group in bill.serving:
        if budget.covers(group.service, teams[group.service]):
            usd = Fraction(listed.get((group.machine, group.on_spot), Decimal(0)))
            usd *= Fraction(group.candidate.gpus)
            usd /= case.machines[group.machine].hardware.shape.gpu_count
            for step in group.steps:
                yield from _hourly(case, step, step.replicas * usd)
    for gang in bill.training:
        if budget.covers(gang.run, teams[gang.run]):
            usd = Fraction(listed.get((gang.machine, gang.on_spot), Decimal(0)))
            for span in gang.steps:
                yield from _hourly(case, span, gang.candidate.nodes * usd)


def _hourly(case: Case, span: Span, usd_per_hour: Fraction) -> _Due:
    for month, (start_at, end_at) in enumerate(case.workloads.horizon.months()):
        inside = min(span.to_at, end_at) - max(span.from_at, start_at)
        if inside > timedelta(0):
            yield month, usd_per_hour * Fraction(inside // _MICROSECOND, _HOUR // _MICROSECOND)
