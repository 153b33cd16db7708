"""What is owed of a plan in force: its commitments that were bought, by it or by an earlier plan.

A plan that follows another one has the commitments of before as lines of its own until they stand
in the inventory. That a later plan is in force ends none of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from types import MappingProxyType

from broker.domain.case import committed_hours
from broker.domain.offer import Offer
from broker.domain.plan import Plan, Purchase


@dataclass(frozen=True, slots=True)
class Owed:
    """How much of a line is bought, and the offer as it was when that was planned."""

    part: Fraction
    offer: Offer

    @property
    def is_whole(self) -> bool:
        """Tell whether nothing of the line is still to be bought."""
        return self.part == 1


OwedLines = Mapping[str, Owed]
"""The bought commitments of a plan, by line."""

NOTHING_OWED: OwedLines = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Bought:
    """A plan, and those of its lines that were executed."""

    plan: Plan
    lines: frozenset[str]


def owed_lines(
    in_force: Plan, own: frozenset[str], earlier: Iterable[Bought], now: datetime
) -> OwedLines:
    """Find what is owed of a plan, `own` being its lines that were executed.

    Of what earlier plans bought only that counts which has not ended, is a line of the plan in
    force, too, and is not in its inventory by then.
    """
    found = {one.id: Owed(Fraction(1), offer) for one, offer in _committed(in_force, own)}
    lines = {one.id: one for one in in_force.purchases}
    for bought in earlier:
        for one, offer in _committed(bought.plan, bought.lines & lines.keys()):
            size = _size(one) - _listed_since(bought.plan, in_force, one, now)
            needed = _size(lines[one.id])
            part = min(Fraction(1), size / needed) if needed else Fraction(0)
            before = found.get(one.id)
            is_over = _ends_at(bought.plan, one, offer) <= now
            if not is_over and part > (before.part if before else 0):
                found[one.id] = Owed(part, offer)
    return found


def _committed(plan: Plan, lines: frozenset[str]) -> Iterator[tuple[Purchase, Offer]]:
    offers = {offer.key: offer for offer in plan.offers}
    for one in plan.purchases:
        offer = offers[one.offer]
        if one.id in lines and (offer.commitment or offer.block):
            yield one, offer


def _size(one: Purchase) -> Fraction:
    """Measure a commitment: by its nodes, or by what a savings plan promises an hour."""
    if one.savings is not None:
        return Fraction(one.savings.usd_per_hour)
    return Fraction(max((step.nodes for step in one.steps), default=0))


def _listed_since(plan: Plan, later: Plan, one: Purchase, now: datetime) -> int:
    """Count the nodes of its machine by which the inventory of a later plan is the larger one."""
    if one.savings is not None:
        return 0
    machine = next(offer.machine for offer in plan.offers if offer.key == one.offer)
    before, after = (
        sum(
            held.nodes
            for held in of.workloads.inventory
            if held.offer == machine and (held.until is None or held.until > now)
        )
        for of in (plan, later)
    )
    return max(0, after - before)


def _ends_at(plan: Plan, one: Purchase, offer: Offer) -> datetime:
    """Give the end of its term; a savings plan, which has no nodes, begins with the horizon."""
    if one.block is not None:
        return one.block.starts_at + timedelta(hours=one.block.length_h)
    begins_at = one.steps[0].from_at if one.steps else plan.workloads.horizon.start
    return begins_at + timedelta(hours=int(committed_hours(offer)))
