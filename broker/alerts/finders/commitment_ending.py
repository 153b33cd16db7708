"""A commitment about to end: what it carries has to go somewhere, or it is renewed."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from broker.alerts.finders.holdings import (
    held_nodes,
    is_committed,
    offers_by_machine,
    used_nodes,
)
from broker.alerts.night import Night
from broker.alerts.phrases import dollars, instant, replan, span
from broker.domain.alert import Alert, AlertKind
from broker.domain.case import committed_hours
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import Purchase
from broker.domain.quantities import quantize_usd

_NOTICE_DAYS = (1, 7, 30)
"""Told 30 days before the end, a week before, and on the last day."""

_HOURS_PER_DAY = 24
_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class _Ending:
    """Nodes whose commitment ends. `usd_per_hour` is what one costs now, None where it is sunk."""

    machine: str
    nodes: int
    ends_at: datetime
    usd_per_hour: Decimal | None


def commitment_ending(night: Night) -> Iterator[Alert]:
    """Tell of each commitment, of the inventory or of the plan, that ends within 30 days."""
    for one in _endings(night):
        left = one.ends_at - night.now
        days = next((days for days in _NOTICE_DAYS if left <= timedelta(days=days)), None)
        if left > timedelta(0) and days is not None:
            yield _alert(night, one, days)


def _endings(night: Night) -> Iterator[_Ending]:
    inventory = night.demand.inventory if night.demand else ()
    for one in inventory:
        if one.until is not None:
            yield _Ending(one.offer, one.nodes, one.until, None)
    plan = night.in_force
    if plan is None:
        return
    offers = {offer.key: offer for offer in plan.offers}
    listed = {one.offer for one in inventory} - {one.offer for one in plan.workloads.inventory}
    for purchase in plan.purchases:
        offer = offers[purchase.offer]
        # One that was executed since stands in the inventory, with the date that its seller says.
        if is_committed(offer, purchase) and purchase.steps and offer.machine not in listed:
            ends_at = _ends_at(purchase, offer)
            nodes = max(step.nodes for step in purchase.steps)
            yield _Ending(offer.machine, nodes, ends_at, offer.effective_usd_per_hour)


def _ends_at(purchase: Purchase, offer: Offer) -> datetime:
    if purchase.block is not None:
        return purchase.block.starts_at + timedelta(hours=purchase.block.length_h)
    return purchase.steps[0].from_at + timedelta(hours=int(committed_hours(offer)))


def _alert(night: Night, one: _Ending, days: int) -> Alert:
    needed = _needed(night, one)
    rented = _on_demand(night, one.machine)
    return Alert(
        kind=AlertKind.COMMITMENT_ENDING,
        scope=night.workloads,
        subject=f"{one.machine} until {one.ends_at:%Y-%m-%d %H:%M}",
        state="on its last day" if days == 1 else f"within {days} days",
        title=f"The commitment on {one.nodes} × {one.machine} ends in "
        f"{span(one.ends_at - night.now)}",
        since=one.ends_at - timedelta(days=_NOTICE_DAYS[-1]),
        usd_per_day=_dearer(one, rented, needed),
        facts=tuple(_facts(one, rented, needed)),
        action=replan(night),
    )


def _needed(night: Night, one: _Ending) -> int | None:
    """Count the nodes whose work has nowhere to go: in use at the end, and not held after it."""
    plan = night.acted_on
    offer = offers_by_machine(night).get(one.machine)
    if plan is None or offer is None:
        return None
    last = min(one.ends_at, plan.workloads.horizon.end) - _MOMENT
    gpus = max(1, int(offer.hardware.shape.gpu_count))
    held = max(0, held_nodes(night, plan, one.machine, last) - one.nodes)
    return min(one.nodes, max(0, used_nodes(plan, one.machine, gpus, last) - held))


def _on_demand(night: Night, machine: str) -> Offer | None:
    plans = [plan for plan in (night.made, night.in_force) if plan is not None]
    offers = [*(offer for plan in plans for offer in plan.offers), *night.machines]
    kind = PriceKind.ON_DEMAND
    return next((one for one in offers if (one.machine, one.price_kind) == (machine, kind)), None)


def _dearer(one: _Ending, rented: Offer | None, needed: int | None) -> Decimal | None:
    """Say what renting costs above the commitment a day; what is sunk has no price to compare."""
    if rented is None or one.usd_per_hour is None or not needed:
        return None
    more = (rented.usd_per_hour - one.usd_per_hour) * needed * _HOURS_PER_DAY
    return quantize_usd(more) if more > 0 else None


def _facts(one: _Ending, rented: Offer | None, needed: int | None) -> Iterator[str]:
    yield f"it ends {instant(one.ends_at)}"
    if needed is not None:
        yield f"{needed} of its {one.nodes} nodes have work to the last by the plan in force"
    if rented is not None and needed:
        per_day = rented.usd_per_hour * needed * _HOURS_PER_DAY
        yield f"on demand they are {dollars(per_day)} a day ({rented.key})"
    yield "renew it with its seller, or let the plan below say what carries its work after the end"
