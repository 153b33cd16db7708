"""How many GPUs of a machine can be had at all: what no plan can go beyond."""

import math
from collections import defaultdict
from collections.abc import Iterable

from broker.domain.case import Case
from broker.domain.offer import Offer, PriceKind

_Side = tuple[str, bool]


class Room:
    """What there is of the machines of a case, market by market."""

    def __init__(self, case: Case) -> None:
        """Sort the offers by machine, and by whether they are spot."""
        self._case = case
        self._known: dict[_Side, float] = {}
        self._offers: dict[_Side, list[Offer]] = defaultdict(list)
        for offer in case.offers:
            if offer.price_kind is not PriceKind.SAVINGS_PLAN:
                self._offers[offer.machine, offer.price_kind is PriceKind.SPOT].append(offer)

    def most_gpus(self, machine: str, *, on_spot: bool) -> float:
        """Bound the GPUs of one market of a machine, owned ones included; infinity if unbound.

        Stock that several offers draw on counts once; a limit of nodes holds for each offer.
        """
        if (machine, on_spot) not in self._known:
            offers = self._offers[machine, on_spot]
            owned = sum(
                one.nodes for one in self._case.owned if one.machine == machine and not on_spot
            )
            per_node = int(self._case.machines[machine].hardware.shape.gpu_count)
            least = min(_by_stock(offers), _by_nodes(offers, per_node))
            self._known[machine, on_spot] = owned * per_node + least
        return self._known[machine, on_spot]


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
