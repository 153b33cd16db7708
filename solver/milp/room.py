"""How many GPUs of a machine can be had at all: what no plan can go beyond."""

import math
from collections.abc import Iterable

from broker.domain.case import Case
from broker.domain.offer import Offer, PriceKind


def most_gpus(case: Case, machine: str, *, on_spot: bool) -> float:
    """Bound the GPUs of one market of a machine, owned ones included; infinity where nothing does.

    Stock that several offers draw on counts once; a limit of nodes holds for each offer.
    """
    offers = [
        offer
        for offer in case.offers
        if offer.machine == machine
        and (offer.price_kind is PriceKind.SPOT) is on_spot
        and offer.price_kind is not PriceKind.SAVINGS_PLAN
    ]
    owned = sum(one.nodes for one in case.owned if one.machine == machine and not on_spot)
    gpus_per_node = int(case.machines[machine].hardware.shape.gpu_count)
    return owned * gpus_per_node + min(_by_stock(offers), _by_nodes(offers, gpus_per_node))


def _by_stock(offers: Iterable[Offer]) -> float:
    pools: dict[str, float] = {}
    for offer in offers:
        if offer.stock is None:
            return math.inf
        pool, gpus = offer.stock
        pools[pool] = min(float(gpus), pools.get(pool, math.inf))
    return sum(pools.values())


def _by_nodes(offers: Iterable[Offer], gpus_per_node: int) -> float:
    return sum(
        math.inf if offer.limits.max_nodes is None else offer.limits.max_nodes * gpus_per_node
        for offer in offers
    )
