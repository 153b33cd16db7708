"""Budgets by month of the calendar: what falls due in each month, against what may."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from fractions import Fraction
from itertools import pairwise

import numpy as np

from broker.domain.budget import Budget
from broker.domain.case import committed_hours
from broker.domain.savings import upfront_share
from broker.verification.budgets import names_of, work_by_slot
from broker.verification.data import run_option, serving_option
from broker.verification.facts import TOLERANCE, Bought, Facts, Finding
from broker.verification.timeline import Array, node_hours_of

_NOTHING = Fraction(0)
_Month = tuple[int, int]
"""Year and month."""
_Spent = dict[_Month, Fraction]


def month_budgets(facts: Facts) -> Iterator[Finding]:
    """Have no more fall due in any month of the calendar than each budget without a price for it.

        rented     usd_per_hour × (nodes − covered nodes), hour by hour
        committed  usd_per_hour × nodes, hour by hour; all of upfront_usd at the horizon's start
        block      all of it in the month in which its window begins
        savings    (1 − upfront share) × promised, hour by hour; upfront_usd at the start
        data       where the whole plan is meant: weights kept hour by hour, and brought at the
                   start; a run's data set with the first slot of its window, its result and
                   storage with the last

    For a team or workload it is what its own work takes at list prices, and its runs' data sets.
    Months are of UTC. Each has its whole budget, also where only a part of it is in the horizon.
    """
    for number, budget in enumerate(facts.case.workloads.policy.budgets):
        if budget.usd_per_calendar_month is None or budget.over_usd_per_usd is not None:
            continue
        limit = float(budget.usd_per_calendar_month)
        for (year, month), usd in sorted(due_by_month(facts, budget).items()):
            if float(usd) > limit * (1 + TOLERANCE):
                found = f"{budget.scope} has {float(usd):,.6f} fall due in {year}-{month:02}"
                message = f"{found}; {limit:,.6f} is the budget of a month"
                yield Finding(f"policy.budgets[{number}]", message)


def overruns_by_month(facts: Facts) -> Mapping[str, Fraction]:
    """Give what is due for each soft budget by month: its price for each dollar over."""
    due: dict[str, Fraction] = {}
    for number, budget in enumerate(facts.case.workloads.policy.budgets):
        if budget.usd_per_calendar_month is None or budget.over_usd_per_usd is None:
            continue
        limit = Fraction(budget.usd_per_calendar_month)
        spent = due_by_month(facts, budget).values()
        over = sum((max(usd - limit, _NOTHING) for usd in spent), _NOTHING)
        if over:
            due[f"policy.budgets[{number}]"] = over * Fraction(budget.over_usd_per_usd)
    return due


def due_by_month(facts: Facts, budget: Budget) -> _Spent:
    """Add up what falls due for a budget in each month that the horizon touches."""
    months = _months(facts)
    spent = dict.fromkeys(months, _NOTHING)
    for month, usd in _due(facts, budget, months):
        spent[month] = spent.get(month, _NOTHING) + usd
    return spent


_Due = Iterator[tuple[_Month, Fraction]]


def _due(facts: Facts, budget: Budget, months: list[_Month]) -> _Due:
    if budget.is_for_work:
        slot_h = Fraction(facts.timeline.slot.total_seconds()) / 3600
        by_slot = work_by_slot(facts, budget)
        yield from ((month, usd * slot_h) for month, usd in zip(months, by_slot, strict=True))
        yield from _data_sets(facts, months, names_of(facts, budget))
        return
    for one in facts.bought:
        yield from _purchase(facts, one, budget, months)
    if budget.provider is None:
        yield from _weights(facts, months)
        yield from _data_sets(facts, months, None)
        yield from _results(facts, months)


def _months(facts: Facts) -> list[_Month]:
    """Give the month of each slot."""
    timeline = facts.timeline
    starts = (timeline.start_at + number * timeline.slot for number in range(timeline.count))
    return [_month(at) for at in starts]


def _month(at: datetime) -> _Month:
    at = at.astimezone(UTC)
    return (at.year, at.month)


def _purchase(facts: Facts, one: Bought, budget: Budget, months: list[_Month]) -> _Due:
    if one.is_owned:
        return
    if one.purchase.savings is not None:
        yield from _promise(facts, one, budget, months)
        return
    if not budget.is_with(one.offer.provider):
        return
    upfront = Fraction(one.purchase.upfront_usd)
    if one.is_block:
        begins_at = one.purchase.block.starts_at if one.purchase.block else None
        yield (_month(begins_at) if begins_at else months[0]), upfront
        return
    yield months[0], upfront
    usd_per_hour = Fraction(one.offer.usd_per_hour)
    yield from _by_hour(facts, one.nodes, usd_per_hour, months)
    slot_h = Fraction(facts.timeline.slot.total_seconds()) / 3600
    rest_h = node_hours_of(one.purchase.steps) - slot_h * int(one.nodes.sum())
    if rest_h and one.is_committed:  # of the slot in which the term ends
        whole = int(np.count_nonzero(one.nodes))
        yield months[min(whole, len(months) - 1)], usd_per_hour * rest_h


def _promise(facts: Facts, one: Bought, budget: Budget, months: list[_Month]) -> _Due:
    promised = one.purchase.savings
    if promised is None:
        return
    slot_h = Fraction(facts.timeline.slot.total_seconds()) / 3600
    if budget.is_with(one.offer.provider):
        yield months[0], Fraction(one.purchase.upfront_usd)
        term_h = Fraction(committed_hours(one.offer))
        hourly = Fraction(promised.usd_per_hour) * (1 - upfront_share(one.offer))
        for number, month in enumerate(months):  # of a slot in which the term ends, a part
            yield month, hourly * max(_NOTHING, min(slot_h, term_h - number * slot_h))
    for cover in promised.covers:
        rented = next((of.offer for of in facts.bought if of.purchase.id == cover.line), None)
        if rented is None or not budget.is_with(rented.provider):
            continue
        for step in cover.steps:
            off = Fraction(step.nodes) * Fraction(rented.usd_per_hour) * slot_h
            yield from ((month, -off) for month in months[facts.timeline.covered(step)])


def _by_hour(facts: Facts, counts: Array, usd: Fraction, months: list[_Month]) -> _Due:
    """Charge counts by the hour, stretches of one month and count at once."""
    slot_h = Fraction(facts.timeline.slot.total_seconds()) / 3600
    changes = np.flatnonzero(np.diff(counts)) + 1
    ends = {number for number in range(1, len(months)) if months[number] != months[number - 1]}
    edges = sorted({0, len(months), *ends, *changes.tolist()})
    for first, after in pairwise(edges):
        if counts[first]:
            yield months[first], int(counts[first]) * usd * slot_h * (after - first)


def _weights(facts: Facts, months: list[_Month]) -> _Due:
    for group in facts.groups:
        option = serving_option(facts, group.assignment)
        if option is not None:
            most = int(group.replicas.max(initial=0))
            yield months[0], Fraction(option.egress_usd) * most
            kept = Fraction(option.storage_usd_per_hour)
            yield from _by_hour(facts, group.replicas, kept, months)


def _data_sets(facts: Facts, months: list[_Month], runs: set[str] | None) -> _Due:
    for gang in facts.gangs:
        option = run_option(facts, gang.assignment)
        if option is not None and (runs is None or gang.assignment.run in runs):
            yield months[_window(facts, gang.assignment.run).start], Fraction(option.egress_usd)


def _results(facts: Facts, months: list[_Month]) -> _Due:
    for gang in facts.gangs:
        option = run_option(facts, gang.assignment)
        if option is not None:
            last = _window(facts, gang.assignment.run).stop - 1
            usd = Fraction(option.result_egress_usd) + Fraction(option.storage_usd)
            yield months[last], usd


def _window(facts: Facts, run: str) -> range:
    """Number the slots in which a run may work; all where it may in none."""
    window = next(one.window for one in facts.case.workloads.runs if one.name == run)
    timeline = facts.timeline
    inside = [
        number
        for number in range(timeline.count)
        if window.earliest <= timeline.start_at + number * timeline.slot
        and timeline.start_at + (number + 1) * timeline.slot <= window.deadline
    ]
    return range(inside[0], inside[-1] + 1) if inside else range(timeline.count)
