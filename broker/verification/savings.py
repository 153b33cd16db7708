"""Savings plans: what is promised, what that pays for, and whether it pays beyond the horizon.

A plan is a purchase without nodes. What it covers are nodes of on-demand purchases, whose cost is
that of their other hours; `costs` asks for that.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from broker.domain.case import MONTHS_PER_YEAR, committed_hours, mean_trend
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import Coverage, SavingsPlan
from broker.domain.savings import COMMITMENT_STEP_USD, EVERYWHERE, savings_plan_of
from broker.verification.facts import TOLERANCE, Bought, Facts, Finding

_HOUR = timedelta(hours=1)
_LEAST_NODES = Fraction(1, 10**6)
"""Covered parts of a node may be off by so much."""
_LEAST_HOURS = Fraction(1, 10**9)
_MICRO = Fraction(1, 10**6)


def savings_plans(facts: Facts) -> Iterator[Finding]:
    """Buy a plan as it is sold and allowed: its own rates, whole steps of dollars an hour, a name.

    Only a savings plan is bought so, and it has no nodes of its own.
    """
    for one in facts.bought:
        plan = one.purchase.savings
        is_plan = one.purchase.price_kind is PriceKind.SAVINGS_PLAN
        if is_plan != (plan is not None):
            yield Finding(one.purchase.id, f"is {one.purchase.price_kind}; a plan promises dollars")
        elif plan is not None:
            yield from _sold(facts, one, plan)


def savings_coverage(facts: Facts) -> Iterator[Finding]:
    """Cover on-demand nodes as the provider does, and no node twice; state what that uses.

    In each slot the plans of a narrow scope come first, and of each machine and plan the one with
    the largest discount, until all nodes are covered or the promise is used up.
    """
    held = _Held.of(facts)
    due = _applied(held)
    for name in sorted(held.stated.keys() | due.keys()):
        found, right = held.stated.get(name, {}), due.get(name, {})
        for slot in sorted(found.keys() | right.keys()):
            nodes, should = found.get(slot, Fraction(0)), right.get(slot, Fraction(0))
            if abs(nodes - should) > _LEAST_NODES:
                at = facts.timeline.start_at + slot * facts.timeline.slot
                message = f"covers {float(nodes):g} nodes of {name[1]} at {at:%Y-%m-%d %H:%M}"
                yield Finding(name[0], f"{message}; {float(should):g} are right")
                break
    for one in facts.bought:
        hours = held.node_hours(facts, one.purchase.id)
        if not _is_near(one.purchase.covered_node_hours, hours):
            message = f"covered_node_hours is {one.purchase.covered_node_hours}"
            yield Finding(one.purchase.id, f"{message}; plans cover {float(hours):g}")


def savings_figures(facts: Facts) -> Iterator[Finding]:
    """State of each plan what it uses, how full it is expected to be, and where it breaks even.

    One that covers nothing is bought over scenarios alone, where it does in another one of them;
    then it breaks even nowhere.
    """
    for one, plan in _plans(facts):
        used, rented = Fraction(0), 0.0
        for cover in plan.covers:
            rate, hours = _rate(facts, cover.offer), _cover_hours(cover)
            twin = facts.on_demand.get(rate.machine) if rate else None
            if rate is None or twin is None or twin.key != cover.line:
                yield Finding(one.purchase.id, f"{cover.offer} does not cover {cover.line}")
                continue
            usd = Fraction(rate.effective_usd_per_hour) * hours
            used += usd
            rented += float(Fraction(twin.usd_per_hour) * hours) * _trend(facts, rate)
            is_right = abs(Fraction(cover.usd) - usd) <= _MICRO
            if not (is_right and _is_near(cover.node_hours, hours)):
                found = f"covers {cover.node_hours} node-hours of {cover.line} for {cover.usd}"
                yield Finding(one.purchase.id, f"{found}; {float(hours):g} for {float(usd):.6f}")
        promised = Fraction(plan.usd_per_hour) * Fraction(_active_h(facts, one))
        if not promised or (not rented and facts.plan.scenarios is None):
            yield Finding(one.purchase.id, "promises or covers nothing")
            continue
        yield from _share(one, "utilization", plan.utilization, float(used / promised))
        even = one.purchase.breakeven_utilization
        right = min(1.0, float(used) / rented) if rented else None
        yield from _share(one, "breakeven_utilization", even, right)


def idle_promises(facts: Facts) -> set[str]:
    """Name the plans that cover nothing."""
    return {one.purchase.id for one, plan in _plans(facts) if not plan.covers}


def outliving_savings(facts: Facts) -> Iterator[Finding]:
    """Let nodes that services keep up use what is promised beyond the horizon.

        usd_per_hour < Σ_r rate_r · steady_r + 0.001
        ∀ plans whose term ends after the horizon, all where commitments must be used

    `outliving_commitments` counts steady_r on their machines, at the break-even of the rate. Other
    plans state none.
    """
    least = facts.case.workloads.policy.coverage.min_commitment_utilization
    for one, plan in _plans(facts):
        if _term_end(facts, one) <= facts.timeline.end_at and not least:
            if plan.steady:
                yield Finding(one.purchase.id, "states steady nodes and ends in the horizon")
            continue
        kept = Decimal(0)
        for steady in plan.steady:
            rate = _rate(facts, steady.offer)
            if rate is not None and savings_plan_of(rate) == one.purchase.id:
                kept += rate.effective_usd_per_hour * steady.nodes
            else:
                yield Finding(one.purchase.id, f"{steady.offer} is no rate of the plan")
        if plan.usd_per_hour >= kept + COMMITMENT_STEP_USD:
            message = f"promises {plan.usd_per_hour} USD/h; nodes that services keep up use {kept}"
            yield Finding(one.purchase.id, message)


def _share(one: Bought, name: str, found: float | None, right: float | None) -> Iterator[Finding]:
    if found is None or right is None:
        is_right = found is right
    else:
        is_right = math.isclose(found, right, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if not is_right:
        yield Finding(one.purchase.id, f"{name} is {found}; {right} is right")


def _sold(facts: Facts, one: Bought, plan: SavingsPlan) -> Iterator[Finding]:
    policy = facts.case.workloads.policy.commitments
    terms, name = one.offer.commitment, one.purchase.id
    if not policy.savings_plans:
        yield Finding(name, "is a savings plan; the policy asks for none")
    if savings_plan_of(one.offer) != name or terms is None:
        yield Finding(name, f"is named otherwise than the plan of {one.offer.key}")
        return
    if plan.usd_per_hour <= 0 or plan.usd_per_hour % COMMITMENT_STEP_USD:
        step = COMMITMENT_STEP_USD
        yield Finding(name, f"promises {plan.usd_per_hour} USD/h; steps of {step} are sold")
    if one.purchase.steps or one.purchase.node_hours:
        yield Finding(name, f"has {one.purchase.node_hours} node-hours; a plan has none")
    for cover in plan.covers:
        rate = _rate(facts, cover.offer)
        if rate is None or savings_plan_of(rate) != name:
            yield Finding(name, f"covers at {cover.offer}, which is no rate of the plan")


_Nodes = Mapping[int, Fraction]


@dataclass(frozen=True, slots=True)
class _Held:
    """What is promised and rented, and what plans say they cover: nodes by (plan, rate), slot."""

    facts: Facts
    stated: Mapping[tuple[str, str], _Nodes]

    @classmethod
    def of(cls, facts: Facts) -> "_Held":
        stated: dict[tuple[str, str], dict[int, Fraction]] = {}
        for one, plan in _plans(facts):
            for cover in plan.covers:
                by_slot = stated.setdefault((one.purchase.id, cover.offer), defaultdict(Fraction))
                for step in cover.steps:
                    span = facts.timeline.covered(step)
                    for slot in range(span.start, span.stop):
                        by_slot[slot] += Fraction(step.nodes)
        return cls(facts, stated)

    def node_hours(self, facts: Facts, line: str) -> Fraction:
        """Add up what all plans say they cover of one line."""
        return sum(
            (
                _cover_hours(cover)
                for _, plan in _plans(facts)
                for cover in plan.covers
                if cover.line == line
            ),
            Fraction(0),
        )


def _applied(held: _Held) -> Mapping[tuple[str, str], _Nodes]:
    """Apply the plans to what is rented, slot by slot, as a provider does."""
    facts = held.facts
    pairs = sorted(_pairs(facts), key=lambda pair: pair.order)
    rented = {
        one.offer.machine: one.nodes
        for one in facts.bought
        if one.purchase.price_kind is PriceKind.ON_DEMAND
    }
    due: dict[tuple[str, str], dict[int, Fraction]] = defaultdict(dict)
    for slot in range(facts.timeline.count if pairs else 0):
        free = {machine: Fraction(int(nodes[slot])) for machine, nodes in rented.items()}
        left = {
            one.purchase.id: Fraction(plan.usd_per_hour)
            for one, plan in _plans(facts)
            if facts.timeline.start_at + (slot + 1) * facts.timeline.slot <= _term_end(facts, one)
        }
        for pair in pairs:
            price = Fraction(pair.rate.effective_usd_per_hour)
            nodes = min(free.get(pair.rate.machine, Fraction(0)), left.get(pair.plan, 0) / price)
            if nodes:
                due[pair.plan, pair.rate.key][slot] = nodes
                free[pair.rate.machine] -= nodes
                left[pair.plan] -= nodes * price
    return due


@dataclass(frozen=True, slots=True)
class _Pair:
    """A bought plan and a rate of it, with its place in the order in which plans are applied."""

    plan: str
    rate: Offer
    order: tuple[bool, Fraction, str]


def _pairs(facts: Facts) -> Iterator[_Pair]:
    bought = {one.purchase.id for one, _ in _plans(facts)}
    for rate in facts.case.offers:
        if rate.price_kind is not PriceKind.SAVINGS_PLAN or rate.commitment is None:
            continue
        plan, twin = savings_plan_of(rate), facts.on_demand.get(rate.machine)
        if plan in bought and twin is not None:
            paid = Fraction(rate.effective_usd_per_hour) / Fraction(twin.usd_per_hour)
            yield _Pair(plan, rate, (rate.commitment.scope == EVERYWHERE, paid, rate.key))


def _plans(facts: Facts) -> Iterator[tuple[Bought, SavingsPlan]]:
    for one in facts.bought:
        if one.purchase.savings is not None:
            yield one, one.purchase.savings


def _rate(facts: Facts, key: str) -> Offer | None:
    return next((one for one in facts.case.offers if one.key == key), None)


def _cover_hours(cover: Coverage) -> Fraction:
    return sum(
        (
            Fraction(step.nodes) * Fraction((step.to_at - step.from_at) / _HOUR)
            for step in cover.steps
        ),
        Fraction(0),
    )


def _active_h(facts: Facts, one: Bought) -> float:
    timeline = facts.timeline
    return (min(_term_end(facts, one), timeline.end_at) - timeline.start_at) / _HOUR


def _term_end(facts: Facts, one: Bought) -> datetime:
    return facts.timeline.start_at + timedelta(hours=int(committed_hours(one.offer)))


def _trend(facts: Facts, rate: Offer) -> float:
    months = rate.commitment.term_months if rate.commitment else 0
    trend = facts.case.workloads.policy.price_trend_per_year
    return mean_trend(months / MONTHS_PER_YEAR, trend)


def _is_near(found: Decimal, right: Fraction) -> bool:
    return abs(Fraction(found) - right) <= _LEAST_HOURS * max(Fraction(1), right)
