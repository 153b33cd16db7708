"""What each purchase costs, and the cost lines and total that follow, to the micro-dollar."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from broker.domain.case import committed_hours
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import Term
from broker.domain.savings import upfront_share
from broker.verification.budgets import overruns
from broker.verification.churn import moved_usd
from broker.verification.data import data_lines
from broker.verification.facts import Bought, Facts, Finding
from broker.verification.months import overruns_by_month
from broker.verification.timeline import node_hours_of

_MICRO = 1_000_000
_NOTHING = Decimal(0)
_TERMS = {
    PriceKind.ON_DEMAND: Term.ON_DEMAND,
    PriceKind.SPOT: Term.SPOT,
    PriceKind.CAPACITY_BLOCK: Term.CAPACITY_BLOCK,
    PriceKind.OWNED: Term.OWNED,
}


class _Owed(NamedTuple):
    usd: Decimal
    upfront_usd: Decimal = _NOTHING
    later_usd: Decimal = _NOTHING


def purchase_cost(facts: Facts) -> Iterator[Finding]:
    """Charge each purchase by its price kind.

        rented     usd = usd_per_hour × (node_hours − covered_node_hours)
        committed  usd = (usd_per_hour + upfront / term_h) × node_hours
                   upfront_usd = upfront × nodes
                   later_usd = (usd_per_hour + upfront / term_h) × (nodes × term_h − node_hours)
        block      usd = upfront_usd = usd_per_hour × length_h × nodes
        savings    usd = promised usd_per_hour × hours of the term in the horizon
                   upfront_usd = upfront share × promised × term_h
                   later_usd = promised × (term_h − those hours)
        owned      0

    Prices are those paid: the offer's times 1 + the rates of the policy's surcharges on it.
    `node_hours` are those of the steps, inside the horizon; of a commitment, all of its term there.
    """
    for one in facts.bought:
        owed = _owed(facts, one)
        for name, right in owed._asdict().items():
            found = getattr(one.purchase, name)
            if found != right:
                yield Finding(one.purchase.id, f"{name} is {found}; by its offer it is {right}")


def owned_nodes(facts: Facts) -> Iterator[Finding]:
    """Take no more nodes of a machine than are owned, and none past the end of the holding."""
    for machine in {one.offer.machine: None for one in facts.bought if one.is_owned}:
        taken = facts.nodes(machine, frozenset({PriceKind.OWNED}))
        owned = facts.owned_nodes(machine)
        over = taken > owned
        if over.any():
            counts = f"{taken[over][0]:.0f} nodes are taken, {owned[over][0]:.0f} are owned"
            yield Finding(machine, f"{counts} {facts.timeline.where(over)}")


def cost_lines(facts: Facts) -> Iterator[Finding]:
    """Let the cost lines be those of purchases, workloads' data, budgets and churn, each once."""
    right = dict(_purchase_lines(facts)) | dict(data_lines(facts))
    right |= {(Term.CHURN, line): to_micro_usd(due) for line, due in moved_usd(facts)}
    over = {**overruns(facts), **overruns_by_month(facts)}
    right |= {(Term.OVER_BUDGET, name): to_micro_usd(due) for name, due in over.items()}
    found = {(line.term, line.subject): line.usd for line in facts.plan.cost_lines}
    for term, subject in sorted(right.keys() | found.keys()):
        usd, due = found.get((term, subject)), right.get((term, subject), _NOTHING)
        if (usd or _NOTHING) != due:
            message = f"the {term} line is {'missing' if usd is None else usd}; it is due {due}"
            yield Finding(subject, message)
        elif usd is not None and (term, subject) not in right:
            yield Finding(subject, f"has a {term} line of {usd}; it is due none")
    counts = Counter((line.term, line.subject) for line in facts.plan.cost_lines)
    for (term, subject), count in counts.items():
        if count > 1:
            yield Finding(subject, f"has {count} {term} lines; one is right")


def total(facts: Facts) -> Iterator[Finding]:
    """Sum the cost lines to the total."""
    right = sum((line.usd for line in facts.plan.cost_lines), _NOTHING)
    if facts.plan.total_usd != right:
        message = f"total_usd is {facts.plan.total_usd}; the cost lines add up to {right}"
        yield Finding("plan", message)


def to_micro_usd(exact: Fraction) -> Decimal:
    """Round exact dollars to the micro-dollar, halves to even."""
    return Decimal(round(exact * _MICRO)).scaleb(-6)


def _owed(facts: Facts, one: Bought) -> _Owed:
    if one.purchase.savings is not None:
        return _promised(facts, one, Fraction(one.purchase.savings.usd_per_hour))
    usd_per_hour = Fraction(one.offer.usd_per_hour)
    node_h = node_hours_of(one.purchase.steps)
    if one.is_owned:
        return _Owed(_NOTHING)
    nodes = max((step.nodes for step in one.purchase.steps), default=0)
    if one.is_block:
        length_h = one.purchase.block.length_h if one.purchase.block else 0
        usd = to_micro_usd(usd_per_hour * length_h * nodes)
        return _Owed(usd=usd, upfront_usd=usd)
    if not one.is_committed or one.offer.commitment is None:
        covered = Fraction(one.purchase.covered_node_hours)
        return _Owed(to_micro_usd(usd_per_hour * (node_h - covered)))
    upfront = Fraction(one.offer.commitment.upfront_usd)
    term_h = Fraction(committed_hours(one.offer))
    all_in_per_hour = usd_per_hour + upfront / term_h
    return _Owed(
        usd=to_micro_usd(all_in_per_hour * node_h),
        upfront_usd=to_micro_usd(upfront * nodes),
        later_usd=to_micro_usd(all_in_per_hour * (nodes * term_h - node_h)),
    )


def _promised(facts: Facts, one: Bought, usd_per_hour: Fraction) -> _Owed:
    term_h = Fraction(committed_hours(one.offer))
    timeline = facts.timeline
    active_h = min(term_h, Fraction((timeline.end_at - timeline.start_at) / timedelta(hours=1)))
    return _Owed(
        usd=to_micro_usd(usd_per_hour * active_h),
        upfront_usd=to_micro_usd(usd_per_hour * term_h * upfront_share(one.offer)),
        later_usd=to_micro_usd(usd_per_hour * (term_h - active_h)),
    )


def _purchase_lines(facts: Facts) -> Iterator[tuple[tuple[Term, str], Decimal]]:
    for one in facts.bought:
        purchase = one.purchase
        surcharge = _owed(facts, one).usd - _owed(facts, replace(one, offer=_sold(facts, one))).usd
        if surcharge:
            yield (Term.SURCHARGE, purchase.id), surcharge
        sold_usd = purchase.usd - surcharge
        if purchase.savings is not None:
            upfront_usd = to_micro_usd(Fraction(purchase.usd) * upfront_share(one.offer))
            yield (Term.SAVINGS_PLAN, purchase.id), purchase.usd - upfront_usd
            yield (Term.UPFRONT, purchase.id), upfront_usd
            continue
        if not one.is_committed or one.is_block:
            term = _TERMS.get(purchase.price_kind)
            if term:
                yield (term, purchase.id), sold_usd
            continue
        hourly = Fraction(_sold(facts, one).usd_per_hour)
        hours_usd = to_micro_usd(hourly * node_hours_of(purchase.steps))
        yield (Term.COMMITMENT_HOURS, purchase.id), hours_usd
        yield (Term.UPFRONT, purchase.id), sold_usd - hours_usd


def _sold(facts: Facts, one: Bought) -> Offer:
    return facts.sold.get(one.offer.key, one.offer)
