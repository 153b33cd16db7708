"""Budgets: what a part of the plan spends, in all and in every hour, against what it may."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

import numpy as np

from broker.domain.budget import Budget
from broker.domain.case import committed_hours
from broker.domain.offer import PriceKind
from broker.domain.plan import NOT_BILLED, Term
from broker.domain.quantities import HOURS_PER_MONTH
from broker.verification.facts import TOLERANCE, Facts, Finding
from broker.verification.timeline import node_hours_of

_NOTHING = Fraction(0)


def budgets(facts: Facts) -> Iterator[Finding]:
    """Spend no more than each budget without a price for being over it.

        each hour  Σ nodes × effective usd_per_hour, of the purchases from the provider, rented
                   nodes without covered ones; with promised usd_per_hour of savings plans; of a
                   term that ends inside a slot, on the mean of that slot
        in all     Σ usd of those purchases, for the whole plan all cost lines

    For a team or workload it is what its own replicas and gangs take at list prices: GPUs by the
    hour at the on-demand or spot price of their node, or the dearest committed one where it is not
    rented; in all with the egress that brings its runs' data sets, and nothing else of data.
    `usd_per_month` is scaled to the horizon; budgets by
    month of the calendar are `month_budgets`.
    """
    for number, budget in enumerate(facts.case.workloads.policy.budgets):
        if budget.over_usd_per_usd is not None or budget.is_by_month:
            continue
        limit = _limit(facts, budget)
        spent = _by_slot(facts, budget) if budget.is_hourly else [_in_all(facts, budget)]
        over = np.array([float(usd) > float(limit) * (1 + TOLERANCE) for usd in spent])
        if over.any():
            usd = spent[int(np.argmax(over))]
            found = f"{budget.scope} spends {float(usd):,.6f}"
            when = facts.timeline.where(over) if budget.is_hourly else "in the horizon"
            unit = "an hour " if budget.is_hourly else ""
            message = f"{found} {unit}{when}; {float(limit):,.6f} is the budget"
            yield Finding(f"policy.budgets[{number}]", message)


def overruns(facts: Facts) -> Mapping[str, Fraction]:
    """Give what is due for each soft budget that is exceeded: its price for each dollar over."""
    due: dict[str, Fraction] = {}
    for number, budget in enumerate(facts.case.workloads.policy.budgets):
        if budget.over_usd_per_usd is None or budget.is_by_month:
            continue
        limit = _limit(facts, budget)
        if budget.is_hourly:
            slot_h = Fraction(facts.timeline.slot.total_seconds()) / 3600
            spent = _by_slot(facts, budget)
            over = sum((max(usd - limit, _NOTHING) * slot_h for usd in spent), _NOTHING)
        else:
            over = max(_in_all(facts, budget) - limit, _NOTHING)
        if over:
            due[f"policy.budgets[{number}]"] = over * Fraction(budget.over_usd_per_usd)
    return due


def _limit(facts: Facts, budget: Budget) -> Fraction:
    if budget.usd_per_month is None:
        return Fraction(budget.amount_usd)
    months = Fraction(facts.case.workloads.horizon.hours) / Fraction(HOURS_PER_MONTH)
    return Fraction(budget.usd_per_month) * months


def _in_all(facts: Facts, budget: Budget) -> Fraction:
    if budget.is_for_work:
        slot_h = Fraction(facts.timeline.slot.total_seconds()) / 3600
        runs = names_of(facts, budget) - {one.name for one in facts.case.workloads.services}
        egress = [
            Fraction(line.usd)
            for line in facts.plan.cost_lines
            if line.term is Term.EGRESS and line.subject in runs
        ]
        return sum(work_by_slot(facts, budget), _NOTHING) * slot_h + sum(egress, _NOTHING)
    if budget.provider is not None:
        usd = [one.purchase.usd for one in facts.bought if budget.is_with(one.offer.provider)]
    else:
        lines = facts.plan.cost_lines
        usd = [line.usd for line in lines if line.term not in NOT_BILLED]
    return sum(map(Fraction, usd), _NOTHING)


def _by_slot(facts: Facts, budget: Budget) -> list[Fraction]:
    """Give the dollars an hour in each slot: sums over lines of a count times its price."""
    total = _added(facts, _priced(facts, budget))
    if not budget.is_for_work:
        for slot, usd in (*_ending(facts, budget), *_promised(facts, budget)):
            total[slot] += usd
    return total


def _ending(facts: Facts, budget: Budget) -> Iterator[tuple[int, Fraction]]:
    """Give what committed nodes take an hour of the slot inside which their term ends."""
    slot_h = Fraction(facts.timeline.slot.total_seconds()) / 3600
    for one in facts.bought:
        if one.is_committed and not one.is_block and budget.is_with(one.offer.provider):
            rest_h = node_hours_of(one.purchase.steps) - slot_h * int(one.nodes.sum())
            slot = int(np.count_nonzero(one.nodes))
            if rest_h and slot < facts.timeline.count:
                yield slot, Fraction(one.offer.effective_usd_per_hour) * rest_h / slot_h


def _promised(facts: Facts, budget: Budget) -> Iterator[tuple[int, Fraction]]:
    """Give what savings plans promise an hour of each slot, less the price of what they cover."""
    slot_h = Fraction(facts.timeline.slot.total_seconds()) / 3600
    for one in facts.bought:
        plan = one.purchase.savings
        if plan is None or not budget.is_with(one.offer.provider):
            continue
        slots = Fraction(committed_hours(one.offer)) / slot_h
        for slot in range(facts.timeline.count):
            yield slot, Fraction(plan.usd_per_hour) * max(_NOTHING, min(Fraction(1), slots - slot))
        for cover in plan.covers:
            rented = next((of.offer for of in facts.bought if of.purchase.id == cover.line), None)
            usd = Fraction(rented.usd_per_hour) if rented else _NOTHING
            for step in cover.steps:
                covered = facts.timeline.covered(step)
                yield from (
                    (at, -Fraction(step.nodes) * usd)
                    for at in range(*covered.indices(facts.timeline.count))
                )


def work_by_slot(facts: Facts, budget: Budget) -> list[Fraction]:
    """Give what the work of a team or workload takes an hour in each slot, at list prices."""
    return _added(facts, _by_work(facts, budget))


def _added(facts: Facts, priced: Iterator[tuple[np.ndarray, Fraction]]) -> list[Fraction]:
    total = [_NOTHING] * facts.timeline.count
    for counts, usd in priced:
        for slot in np.flatnonzero(counts).tolist():
            total[slot] += int(counts[slot]) * usd
    return total


def _priced(facts: Facts, budget: Budget) -> Iterator[tuple[np.ndarray, Fraction]]:
    if not budget.is_for_work:
        for one in facts.bought:
            if not one.is_owned and budget.is_with(one.offer.provider):
                yield one.nodes, Fraction(one.offer.effective_usd_per_hour)
        return
    yield from _by_work(facts, budget)


def _by_work(facts: Facts, budget: Budget) -> Iterator[tuple[np.ndarray, Fraction]]:
    names = names_of(facts, budget)
    for group in facts.groups:
        gpus = facts.gpus_per_node(group.assignment.machine)
        if group.assignment.service in names and gpus:
            listed = _listed(facts, group.assignment.machine, on_spot=group.assignment.on_spot)
            size = group.assignment.candidate.gpus
            yield group.replicas, listed * Fraction(size, gpus)
    for gang in facts.gangs:
        if gang.assignment.run in names:
            on_spot = gang.assignment.on_spot
            yield gang.nodes, _listed(facts, gang.assignment.machine, on_spot=on_spot)


def names_of(facts: Facts, budget: Budget) -> set[str]:
    """Name the workloads of a budget, a batch job by each of its days."""
    workloads = facts.case.workloads
    every = [(one.name, one.team) for one in workloads.services]
    every += [(one.name, one.team) for one in workloads.runs]
    if budget.team is None:
        return {name for name, _ in every if name.partition("@")[0] == budget.workload}
    return {name for name, team in every if team == budget.team}


def _listed(facts: Facts, machine: str, *, on_spot: bool) -> Fraction:
    own = [one for one in facts.case.offers if one.machine == machine]
    kind = PriceKind.SPOT if on_spot else PriceKind.ON_DEMAND
    asked = [one.usd_per_hour for one in own if one.price_kind is kind]
    if not asked and not on_spot:
        asked = [one.effective_usd_per_hour for one in own if one.price_kind is not PriceKind.SPOT]
    return Fraction(max(asked, default=Decimal(0)))
