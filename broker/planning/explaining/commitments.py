"""When each commitment of a plan pays: its break-even, the load that it needs, what it is worth.

A committed node-hour carries work or it does not; owned nodes are filled before committed ones, and
of several commitments on one machine those with the highest break-even first. Renting on demand
pays only for the hours with work, so the two cost the same where the share of hours with work is
the break-even utilization.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from broker.domain.case import (
    MONTHS_PER_YEAR,
    Case,
    breakeven_utilization,
    committed_hours,
)
from broker.domain.explanation import CommitmentReason, ServiceLoad
from broker.domain.horizon import Slot
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import (
    NodeStep,
    Plan,
    Purchase,
    ServingAssignment,
    ServingStep,
)

_SLACK = 1e-9
_HALVINGS = 30
_NEXT_TO_NOTHING = 1e-6


@dataclass(frozen=True, slots=True)
class _Bought:
    """A commitment, with what fills its machine before it."""

    purchase: Purchase
    offer: Offer
    before: tuple[Purchase, ...]


def commitment_reasons(plan: Plan, case: Case) -> tuple[CommitmentReason, ...]:
    """Explain every commitment of a plan; savings plans say themselves what they are used for."""
    rented = {one.machine: one for one in case.offers if one.price_kind is PriceKind.ON_DEMAND}
    return tuple(_reason(plan, one, rented.get(one.offer.machine)) for one in _bought(plan))


def _bought(plan: Plan) -> Iterator[_Bought]:
    offers = {offer.key: offer for offer in plan.offers}
    for purchase in plan.purchases:
        offer = offers[purchase.offer]
        if offer.commitment is None or purchase.price_kind is PriceKind.OWNED:
            continue
        if purchase.savings is not None:
            continue
        order = _order(purchase)
        before = tuple(
            other
            for other in plan.purchases
            if offers[other.offer].machine == offer.machine and _order(other) < order
        )
        yield _Bought(purchase, offer, before)


def _order(purchase: Purchase) -> tuple[int, float, str]:
    """Order the purchases of a machine by what is filled first."""
    if purchase.price_kind is PriceKind.OWNED:
        return (0, 0.0, purchase.id)
    if purchase.price_kind in (PriceKind.ON_DEMAND, PriceKind.SPOT):
        return (2, 0.0, purchase.id)
    return (1, -(purchase.breakeven_utilization or 0.0), purchase.id)


def _reason(plan: Plan, bought: _Bought, rented: Offer | None) -> CommitmentReason:
    offer, purchase = bought.offer, bought.purchase
    trend = plan.workloads.policy.price_trend_per_year
    breakeven = breakeven_utilization(offer, rented, trend)
    term_h = committed_hours(offer)
    planned = _utilization(plan, bought, 1.0)
    share = _losing_share(lambda load: _utilization(plan, bought, load), breakeven)
    nodes = max(step.nodes for step in purchase.steps)
    return CommitmentReason(
        line=purchase.id,
        term_months=offer.commitment.term_months if offer.commitment else 0,
        term_hours=term_h,
        planned_utilization_fraction=planned,
        breakeven_utilization_fraction=breakeven,
        breakeven_hours=(term_h * Decimal(repr(breakeven))).quantize(Decimal("0.1")),
        loses_below_load_share=share,
        loses_below=tuple(_loads(plan, offer, share)) if share is not None else (),
        trend_per_year=trend,
        value_usd=_value(offer, rented, nodes, utilization=planned, trend=trend),
        value_at_todays_prices_usd=_value(offer, rented, nodes, utilization=planned, trend=0.0),
    )


def _value(
    offer: Offer, rented: Offer | None, nodes: int, *, utilization: float, trend: float
) -> Decimal | None:
    """Price the used hours of the term on demand, less what the commitment costs."""
    if rented is None or offer.commitment is None:
        return None
    hours = committed_hours(offer) * nodes
    growth = math.log1p(trend)
    years = offer.commitment.term_months / MONTHS_PER_YEAR
    mean = math.expm1(growth * years) / (growth * years) if growth else 1.0
    used = hours * Decimal(repr(utilization)) * Decimal(repr(mean))
    return rented.usd_per_hour * used - (
        offer.usd_per_hour * hours + offer.commitment.upfront_usd * nodes
    )


def _losing_share(utilization: Callable[[float], float], breakeven: float) -> float | None:
    """Find the part of the planned load under which the commitment is used too little.

    None where it is used enough with next to no load, or too little at the planned one.
    """
    least = _NEXT_TO_NOTHING
    if utilization(1.0) < breakeven - _SLACK or utilization(least) >= breakeven - _SLACK:
        return None
    low, high = least, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if utilization(middle) < breakeven - _SLACK:
            low = middle
        else:
            high = middle
    return high


def _utilization(plan: Plan, bought: _Bought, load: float) -> float:
    """Give the share of the committed node-hours that carry work at a part of the planned load.

    In a slot in which the term ends there is no work on them.
    """
    used = 0.0
    for slot in plan.workloads.horizon.slots():
        own = _nodes_at(bought.purchase.steps, slot)
        if own:
            before = sum(_nodes_at(one.steps, slot) for one in bought.before)
            needed = _needed_nodes(plan, bought.offer, slot, load)
            used += min(own, max(0, needed - before)) * slot.hours
    had = float(bought.purchase.node_hours)
    return used / had if had else 0.0


def _nodes_at(steps: tuple[NodeStep, ...], slot: Slot) -> int:
    return sum(
        one.nodes for one in steps if one.from_at <= slot.start_at and slot.end_at <= one.to_at
    )


def _needed_nodes(plan: Plan, offer: Offer, slot: Slot, load: float) -> int:
    gpus: int | Fraction = 0
    for served in plan.serving:
        if served.machine == offer.machine and not served.on_spot:
            gpus += _replicas(plan, served, slot, load) * served.candidate.gpus
    nodes = math.ceil(gpus / int(offer.hardware.shape.gpu_count) - _SLACK)
    return nodes + sum(
        run.candidate.nodes
        for run in plan.training
        if run.machine == offer.machine
        and not run.on_spot
        and any(step.from_at <= slot.start_at < step.to_at for step in run.steps)
    )


def _replicas(plan: Plan, served: ServingAssignment, slot: Slot, load: float) -> int:
    """Count the replicas at a part of the load: as planned, or fewer where fewer carry it."""
    step = next((one for one in served.steps if one.from_at <= slot.start_at < one.to_at), None)
    if step is None:
        return 0
    service = next(one for one in plan.workloads.services if one.name == served.service)
    busy = math.ceil(load * _busy(served, step) * (1 - _SLACK))
    per_gpu = math.ceil(1 / served.candidate.gpus)
    spares = service.availability.spare_replicas * per_gpu
    needed = max(busy + spares, service.min_replicas)
    return min(step.replicas, needed)


def _busy(served: ServingAssignment, step: ServingStep) -> float:
    return sum(
        requests / rate.requests_per_s
        for requests, rate in zip(step.requests_per_s, served.candidate.rates, strict=True)
        if requests
    )


def _loads(plan: Plan, offer: Offer, share: float) -> Iterator[ServiceLoad]:
    here = {one.service for one in plan.serving if one.machine == offer.machine}
    for service in plan.workloads.services:
        if service.name in here:
            curve = service.traffic.requests_per_s
            yield ServiceLoad(
                service=service.name,
                mean_requests_per_s=curve.mean * share,
                peak_requests_per_s=curve.peak * share,
            )
