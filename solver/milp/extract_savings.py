"""From a solution to savings plans: what is promised is read off, what it covers is worked out.

A plan pays for on-demand nodes as providers apply it, hour by hour: plans of a narrow scope first,
and of each machine and plan the one with the largest discount first, until the promise of the hour
is used up. Where one plan covers a machine, that is the cheapest way; where several do, the bill
may be a little above what the program found, and is what the plan states.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import groupby

import numpy as np

from broker.domain.case import MONTHS_PER_YEAR, committed_hours, mean_trend
from broker.domain.horizon import Slot
from broker.domain.offer import PriceKind
from broker.domain.plan import Coverage, CoveredStep, Purchase, SavingsPlan, SteadyNodes
from broker.domain.quantities import quantize_usd
from broker.domain.savings import COMMITMENT_STEP_USD, EVERYWHERE, upfront_share
from solver.milp.extract_work import by_slot
from solver.milp.program import Program
from solver.milp.savings import PlanRate
from solver.milp.sets import Floats, Sets
from solver.milp.variables import Ints

_NANO = 10**9
_SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Promised:
    """What is promised an hour of each plan, and the parts of nodes that it covers.

    `nano_nodes` are billionths of a node, by rate and period.
    """

    usd_per_hour: tuple[Decimal, ...]
    nano_nodes: Ints


def promised(program: Program, values: Floats, rented: Mapping[int, Ints]) -> Promised:
    """Read off what is promised, and cover with it what is rented of each machine, by period."""
    sets, block = program.sets, program.columns.plan_steps
    steps = np.rint(values[block.start : block.start + block.size]).astype(np.int64)
    usd = tuple(int(count) * COMMITMENT_STEP_USD for count in steps)
    covered = np.zeros((len(sets.plan_rates), len(sets.periods)), dtype=np.int64)
    order = sorted(range(len(sets.plan_rates)), key=lambda at: _order(sets, sets.plan_rates[at]))
    for period in range(len(sets.periods)):
        free = {machine: int(nodes[period]) * _NANO for machine, nodes in rented.items()}
        left = [Fraction(one) for one in usd]
        for number in order:
            rate = sets.plan_rates[number]
            if not sets.plans[rate.plan].active[period] or not left[rate.plan]:
                continue
            price = Fraction(rate.offer.effective_usd_per_hour)
            there, paid_for = free.get(rate.machine, 0), int(left[rate.plan] / price * _NANO)
            covered[number, period] = nano = min(there, paid_for)
            free[rate.machine] = there - nano
            is_used_up = paid_for < there  # less than a billionth of a node is left
            left[rate.plan] -= left[rate.plan] if is_used_up else Fraction(nano, _NANO) * price
    return Promised(usd, covered)


def _order(sets: Sets, rate: PlanRate) -> tuple[bool, Fraction, str]:
    rented = sets.machines[rate.machine].on_demand
    terms = rate.offer.commitment
    paid = Fraction(rate.offer.effective_usd_per_hour)
    price = Fraction(rented.usd_per_hour) if rented else paid
    return (terms is not None and terms.scope == EVERYWHERE, paid / price, rate.offer.key)


def covered_node_hours(sets: Sets, found: Promised, machine: int) -> Decimal:
    """Add up what plans cover of a machine, in node-hours."""
    own = [at for at, one in enumerate(sets.plan_rates) if one.machine == machine]
    return sum((_node_hours(sets, found.nano_nodes[at]) for at in own), Decimal(0))


def savings_purchases(program: Program, values: Floats, found: Promised) -> Iterator[Purchase]:
    """Make a purchase of each plan that is promised, whether it covers something or nothing."""
    sets, block = program.sets, program.columns.steady_nodes
    steady = np.rint(values[block.start : block.start + block.size]).astype(np.int64)
    for number, usd_per_hour in enumerate(found.usd_per_hour):
        rates = [at for at, one in enumerate(sets.plan_rates) if one.plan == number]
        covers = tuple(_covers(sets, found, rates))
        if usd_per_hour:
            needed = _needed(sets, steady, rates, usd_per_hour)
            plan = SavingsPlan(
                usd_per_hour=usd_per_hour,
                utilization=0.0,
                covers=covers,
                steady=needed if sets.plans[number].needs_steady else (),
            )
            yield _purchase(sets, number, plan)


def _covers(sets: Sets, found: Promised, rates: Sequence[int]) -> Iterator[Coverage]:
    for at in rates:
        nano = found.nano_nodes[at]
        offer = sets.plan_rates[at].offer
        rented = sets.machines[sets.plan_rates[at].machine].on_demand
        if nano.any() and rented is not None:
            hours = _node_hours(sets, nano)
            yield Coverage(
                line=rented.key,
                offer=offer.key,
                steps=tuple(_steps(sets, nano)),
                node_hours=hours,
                usd=quantize_usd(offer.effective_usd_per_hour * hours),
            )


def _needed(
    sets: Sets, steady: Ints, rates: Sequence[int], usd_per_hour: Decimal
) -> tuple[SteadyNodes, ...]:
    """List the steady nodes that the promise needs, and no more."""
    nodes = {at: int(steady[at]) for at in rates}
    prices = {at: sets.plan_rates[at].offer.effective_usd_per_hour for at in rates}
    spare = sum(nodes[at] * prices[at] for at in rates) + COMMITMENT_STEP_USD - usd_per_hour
    for at in rates:
        while nodes[at] and spare > prices[at]:
            nodes[at] -= 1
            spare -= prices[at]
    return tuple(
        SteadyNodes(offer=sets.plan_rates[at].offer.key, nodes=nodes[at])
        for at in rates
        if nodes[at]
    )


def _purchase(sets: Sets, number: int, plan: SavingsPlan) -> Purchase:
    rates = {one.offer.key: one for one in sets.plan_rates if one.plan == number}
    of_most = max(plan.covers, key=lambda one: (one.usd, one.offer), default=None)
    first = rates[of_most.offer if of_most else min(rates)].offer
    term_h = committed_hours(first)
    charged_h = Decimal(str(sets.plans[number].charged_h))
    upfront = Fraction(plan.usd_per_hour * term_h) * upfront_share(first)
    usd = quantize_usd(plan.usd_per_hour * charged_h)
    used = sum((one.usd for one in plan.covers), Decimal(0))
    return Purchase(
        id=sets.plans[number].id,
        offer=first.key,
        price_kind=PriceKind.SAVINGS_PLAN,
        steps=(),
        node_hours=Decimal(0),
        usd=usd,
        upfront_usd=quantize_usd(_decimal(upfront)),
        later_usd=quantize_usd(plan.usd_per_hour * (term_h - charged_h)),
        breakeven_utilization=_breakeven(sets, plan.covers, rates),
        savings=plan.model_copy(update={"utilization": float(used / usd)}),
    )


def _breakeven(
    sets: Sets, covers: Sequence[Coverage], rates: Mapping[str, PlanRate]
) -> float | None:
    """Give the share of the promise to be used to beat renting what it covers; None for nothing."""
    if not covers:
        return None
    trend = sets.case.workloads.policy.price_trend_per_year
    rented_usd = 0.0
    for one in covers:
        rate = rates[one.offer]
        rented = sets.machines[rate.machine].on_demand
        months = rate.offer.commitment.term_months if rate.offer.commitment else 0
        if rented is not None:
            factor = mean_trend(months / MONTHS_PER_YEAR, trend)
            rented_usd += float(rented.usd_per_hour * one.node_hours) * factor
    return min(1.0, float(sum(one.usd for one in covers)) / rented_usd)


def _steps(sets: Sets, nano: Ints) -> Iterator[CoveredStep]:
    def count(entry: tuple[Slot, int]) -> int:
        return int(nano[entry[1]])

    for number, same in groupby(by_slot(sets), key=count):
        slots = [slot for slot, _ in same]
        if number:
            yield CoveredStep(
                from_at=slots[0].start_at,
                to_at=slots[-1].end_at,
                nodes=_decimal(Fraction(number, _NANO)),
            )


def _node_hours(sets: Sets, nano: Ints) -> Decimal:
    slot_s = int(sets.case.workloads.horizon.slot.total_seconds())
    parts = sum(
        int(count) * len(period.slots) for count, period in zip(nano, sets.periods, strict=True)
    )
    return _decimal(Fraction(parts * slot_s, _NANO * _SECONDS_PER_HOUR))


def _decimal(exact: Fraction) -> Decimal:
    return Decimal(exact.numerator) / exact.denominator
