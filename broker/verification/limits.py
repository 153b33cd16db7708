"""Limits: quotas of the buyer's accounts, stock and order sizes of the offers.

Nodes whose term or window begins or ends inside a slot are had in it, though no work is on them.
"""

from collections.abc import Iterator

from broker.domain.offer import Offer
from broker.domain.plan import NodeStep
from broker.domain.workload import Quota
from broker.verification.blocks import block_end
from broker.verification.facts import Bought, Facts, Finding
from broker.verification.timeline import Array, as_float


def quotas(facts: Facts) -> Iterator[Finding]:
    """Stay within each quota: the GPUs of all purchases that match it, owned nodes apart."""
    for quota in facts.case.workloads.quotas:
        gpus = facts.timeline.zeros()
        for one in facts.bought:
            if not one.is_owned and _is_under(one.offer, quota):
                gpus += _held(facts, one) * float(one.offer.hardware.shape.gpu_count)
        over = gpus > quota.gpus
        if over.any():
            message = f"{gpus[over][0]:g} GPUs, the quota is {quota.gpus}"
            yield Finding(_name(quota), f"{message} {facts.timeline.where(over)}")


def limits(facts: Facts) -> Iterator[Finding]:
    """Buy of each offer no more than its stock and most, and no less than its least."""
    for offer, nodes in _by_offer(facts):
        limit = offer.limits
        bounds = (
            ("stock_nodes", limit.stock_nodes, nodes > (limit.stock_nodes or 0)),
            ("max_nodes", limit.max_nodes, nodes > (limit.max_nodes or 0)),
            ("min_nodes", limit.min_nodes, (nodes > 0) & (nodes < limit.min_nodes)),
        )
        for name, bound, broken in bounds:
            if bound is not None and broken.any():
                message = f"{nodes[broken][0]:.0f} nodes, {name} is {bound}"
                yield Finding(offer.key, f"{message} {facts.timeline.where(broken)}")
        if limit.until is not None:
            gone = (nodes > 0) & ~facts.timeline.ends_by(limit.until)
            if gone.any():
                until = f"its host takes them back on {limit.until:%Y-%m-%d %H:%M}"
                message = f"{nodes[gone][0]:.0f} nodes, {until}"
                yield Finding(offer.key, f"{message} {facts.timeline.where(gone)}")


def stock(facts: Facts) -> Iterator[Finding]:
    """Buy no GPU twice: offers that draw on one stock, in any price kind, share its GPUs."""
    free: dict[str, int] = {}
    taken: dict[str, Array] = {}
    for one in facts.bought:
        if one.is_owned or one.offer.stock is None:
            continue
        pool, gpus = one.offer.stock
        free[pool] = min(gpus, free.get(pool, gpus))
        more = _held(facts, one) * float(one.offer.hardware.shape.gpu_count)
        taken[pool] = taken.get(pool, facts.timeline.zeros()) + more
    for pool, gpus_at in taken.items():
        over = gpus_at > free[pool]
        if over.any():
            message = f"{gpus_at[over][0]:g} GPUs are bought, {free[pool]} are there"
            yield Finding(pool, f"{message} {facts.timeline.where(over)}")


def _is_under(offer: Offer, quota: Quota) -> bool:
    wanted = (
        (quota.provider, offer.provider),
        (quota.region, offer.place.region),
        (quota.gpu, offer.hardware.shape.gpu),
        (quota.price_kind, offer.price_kind),
    )
    return all(ask is None or ask.casefold() == have.casefold() for ask, have in wanted)


def _name(quota: Quota) -> str:
    parts = (quota.provider, quota.region, quota.gpu, quota.price_kind)
    return "quota " + "/".join(part for part in parts if part)


def _by_offer(facts: Facts) -> list[tuple[Offer, Array]]:
    bought: dict[str, list[Bought]] = {}
    for one in facts.bought:
        if not one.is_owned:
            bought.setdefault(one.sold_as, []).append(one)
    return [(many[0].offer, _sum(many, facts)) for many in bought.values()]


def _sum(many: list[Bought], facts: Facts) -> Array:
    total = facts.timeline.zeros()
    for one in many:
        total += _held(facts, one)
    return total


def _held(facts: Facts, one: Bought) -> Array:
    """Count the nodes of a purchase in each slot in some part of which they are had."""
    steps, window = one.purchase.steps, one.purchase.block
    if one.is_block and window is not None and steps:
        nodes = max(step.nodes for step in steps)
        steps = (NodeStep(from_at=window.starts_at, to_at=block_end(window), nodes=nodes),)
    total = facts.timeline.zeros()
    for step in steps:
        total[facts.timeline.touched(step)] += as_float(step.nodes)
    return total
