"""The cost of a plan by week: each cost line shared out over the time that it pays for.

A purchase is shared out by its node-hours (the price of a line does not change inside the
horizon), data that a run needs falls into the week in which the run starts, what it made into that
in which it ends, and what names neither is spread evenly. The parts of a line add up to it, to the
micro-dollar.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from broker.domain.plan import CostLine, Plan, Term
from broker.exports.amounts import shared_out_usd
from broker.exports.buying import Kind, kind_of

_WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Week:
    """Seven days of the horizon, or the rest of it."""

    from_at: datetime
    to_at: datetime


@dataclass(frozen=True, slots=True)
class WeekCost:
    """The part of a cost line that falls into one week."""

    week: Week
    line: CostLine
    kind: Kind
    provider: str
    usd: Decimal


def weeks_of(plan: Plan) -> tuple[Week, ...]:
    """Cut the horizon into weeks from its start."""
    horizon = plan.workloads.horizon
    starts = [horizon.start + number * _WEEK for number in range(-(-horizon.days // 7))]
    return tuple(Week(start, min(start + _WEEK, horizon.end)) for start in starts)


def week_costs(plan: Plan) -> tuple[WeekCost, ...]:
    """Share out every cost line; parts of nothing are left out."""
    weeks = weeks_of(plan)
    return tuple(
        WeekCost(week, line, *_whose(plan, line), usd=usd)
        for line in plan.cost_lines
        for week, usd in zip(
            weeks, shared_out_usd(line.usd, _weights(plan, line, weeks)), strict=True
        )
        if usd
    )


def _whose(plan: Plan, line: CostLine) -> tuple[Kind, str]:
    """Find how a line is paid, and to whom."""
    offers = {offer.key: offer for offer in plan.offers}
    for one in plan.purchases:
        if one.id == line.subject:
            return kind_of(one.price_kind), offers[one.offer].provider
    workload, place = line.workload, line.place
    if place:
        return Kind.OTHER, place.partition("/")[0]
    machines = {offer.machine: offer.provider for offer in plan.offers}
    for run in plan.training:
        if run.run == workload:
            return Kind.OTHER, machines[run.machine]
    return Kind.OTHER, ""


def _weights(plan: Plan, line: CostLine, weeks: Sequence[Week]) -> list[Fraction]:
    for one in plan.purchases:
        if one.id == line.subject and one.steps:
            return [
                sum(
                    (_overlap_s(week, step.from_at, step.to_at) * step.nodes for step in one.steps),
                    Fraction(0),
                )
                for week in weeks
            ]
    workload, place = line.workload, line.place
    for run in plan.training:
        if run.run == workload and line.term is Term.STORAGE:
            return [
                sum((_overlap_s(week, one.from_at, one.to_at) for one in run.steps), Fraction(0))
                for week in weeks
            ]
        if run.run == workload:
            at = run.steps[-1].from_at if place else run.steps[0].from_at
            return [Fraction(week.from_at <= at < week.to_at) for week in weeks]
    return [_overlap_s(week, week.from_at, week.to_at) for week in weeks]


def _overlap_s(week: Week, start: datetime, end: datetime) -> Fraction:
    seconds = (min(end, week.to_at) - max(start, week.from_at)).total_seconds()
    return Fraction(max(0, round(seconds)))
