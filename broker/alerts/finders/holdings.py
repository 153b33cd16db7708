"""What is paid for whether it is used or not: nodes of the inventory and of commitments."""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from broker.alerts.night import Night
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import Plan, Purchase
from broker.domain.workload import Holding


def offers_by_machine(night: Night) -> Mapping[str, Offer]:
    """Find one offer for each machine: of tonight's plan, the one in force, or elsewhere."""
    plans = [plan for plan in (night.in_force, night.made) if plan is not None]
    offers = [*night.machines, *(offer for plan in plans for offer in plan.offers)]
    return {offer.machine: offer for offer in offers}


def nodes_at(purchases: Sequence[Purchase], at: datetime) -> int:
    """Count the nodes of some purchases at an instant."""
    steps = (step for one in purchases for step in one.steps)
    return sum(step.nodes for step in steps if step.from_at <= at < step.to_at)


def held_nodes(night: Night, plan: Plan, machine: str, at: datetime) -> int:
    """Count the nodes of a machine that are paid for at an instant.

    A commitment of the plan that was executed since may stand in tonight's inventory, too: what
    the inventory has grown by is not counted beside the commitments of the plan.
    """
    then = _inventory(plan.workloads.inventory, machine, at)
    now = _inventory(night.demand.inventory if night.demand else (), machine, at)
    offers = {offer.key: offer for offer in plan.offers}
    committed = nodes_at(
        [
            one
            for one in plan.purchases
            if is_committed(offers[one.offer], one) and offers[one.offer].machine == machine
        ],
        at,
    )
    return min(then, now) + max(committed, now - min(then, now))


def used_nodes(plan: Plan, machine: str, gpus: int, at: datetime) -> int:
    """Count the firm nodes of a machine that the work of a plan fills at an instant."""
    serving = sum(
        step.replicas * one.candidate.gpus
        for one in plan.serving
        if one.machine == machine and not one.on_spot
        for step in one.steps
        if step.from_at <= at < step.to_at
    )
    gangs = sum(
        one.candidate.nodes
        for one in plan.training
        if one.machine == machine and not one.on_spot
        for step in one.steps
        if step.from_at <= at < step.to_at
    )
    return math.ceil(serving / gpus) + gangs


def is_committed(offer: Offer, purchase: Purchase) -> bool:
    """Tell whether a purchase is paid for its whole term or window, used or not."""
    is_promised = offer.commitment is not None or purchase.block is not None
    return is_promised and purchase.price_kind is not PriceKind.OWNED


def held_machines(night: Night, plan: Plan) -> Iterator[str]:
    """Name each machine of which something is paid for, once."""
    offers = {offer.key: offer for offer in plan.offers}
    demand = night.demand
    names = [one.offer for one in demand.inventory] if demand else []
    names += [
        offers[one.offer].machine for one in plan.purchases if is_committed(offers[one.offer], one)
    ]
    yield from dict.fromkeys(names)


def _inventory(holdings: Sequence[Holding], machine: str, at: datetime) -> int:
    return sum(
        one.nodes
        for one in holdings
        if one.offer == machine and (one.until is None or at < one.until)
    )
