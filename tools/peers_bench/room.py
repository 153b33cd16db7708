"""How many GPUs of each machine are left: owned nodes, stock, limits of offers, quotas."""

import math
from dataclasses import dataclass

import numpy as np

from broker.domain.offer import Offer
from broker.domain.workload import Quota
from solver.milp.sets import Floats, Sets

_SLACK = 1e-9
Side = tuple[int, bool]
"""A machine, and whether its spot nodes are meant."""


@dataclass(frozen=True, slots=True)
class _Limit:
    """No more GPUs than this at one time, on all these sides together."""

    gpus: float
    sides: tuple[Side, ...]


class Room:
    """What was taken so far, and what is left in each period; owned nodes are taken first.

    While `is_for_owned` nothing else than those is there.
    """

    def __init__(self, sets: Sets) -> None:
        self.sets = sets
        self.is_for_owned = False
        shape = (2, len(sets.machines), len(sets.periods))
        self.gpus, self.gangs = np.zeros(shape), np.zeros(shape)
        self._owned = np.array([one.owned for one in sets.machines], dtype=float)
        self._limits: dict[Side, list[_Limit]] = {}
        for limit in _limits(sets):
            for side in limit.sides:
                self._limits.setdefault(side, []).append(limit)

    def free_gpus(self, machine: int, *, on_spot: bool) -> Floats:
        """Give the GPUs that replicas can still take, in each period."""
        per_node = self.sets.machines[machine].gpus
        free = self._nodes(machine, on_spot=on_spot) - self.gangs[int(on_spot), machine]
        return np.asarray(free * per_node - self.gpus[int(on_spot), machine])

    def free_nodes(self, machine: int, *, on_spot: bool) -> Floats:
        """Give the whole nodes that gangs can still take, in each period."""
        per_node = self.sets.machines[machine].gpus
        left = self.free_gpus(machine, on_spot=on_spot) / per_node
        return np.asarray(np.floor(left + _SLACK))

    def take_gpus(self, machine: int, gpus: Floats, *, on_spot: bool) -> None:
        """Let replicas take GPUs."""
        self.gpus[int(on_spot), machine] += gpus

    def take_nodes(self, machine: int, nodes: Floats, *, on_spot: bool) -> None:
        """Let gangs take nodes."""
        self.gangs[int(on_spot), machine] += nodes

    def rented(self, machine: int, *, on_spot: bool) -> Floats:
        """Count the nodes that are needed beside the owned ones, in each period."""
        per_node = self.sets.machines[machine].gpus
        used = np.ceil(self.gpus[int(on_spot), machine] / per_node - _SLACK)
        used += self.gangs[int(on_spot), machine]
        return np.asarray(used if on_spot else np.maximum(used - self._owned[machine], 0.0))

    def _nodes(self, machine: int, *, on_spot: bool) -> Floats:
        """Count all nodes that the machine's side could have, with what it has now."""
        one = self.sets.machines[machine]
        owned = np.zeros(len(self.sets.periods)) if on_spot else self._owned[machine]
        if self.is_for_owned or (one.spot if on_spot else one.on_demand) is None:
            return owned
        more = np.full(len(owned), math.inf)
        for limit in self._limits.get((machine, on_spot), ()):
            left = np.full(len(owned), limit.gpus)
            for other, is_spot in limit.sides:
                rented = self.rented(other, on_spot=is_spot)
                left -= rented * self.sets.machines[other].gpus
            more = np.minimum(more, np.floor(left / one.gpus + _SLACK))
        return np.asarray(owned + self.rented(machine, on_spot=on_spot) + np.maximum(more, 0.0))


def _limits(sets: Sets) -> list[_Limit]:
    offers: dict[Side, Offer] = {}
    for number, machine in enumerate(sets.machines):
        for on_spot, offer in ((False, machine.on_demand), (True, machine.spot)):
            if offer is not None:
                offers[number, on_spot] = offer
    found = [
        _Limit(float(offer.limits.max_nodes * sets.machines[side[0]].gpus), (side,))
        for side, offer in offers.items()
        if offer.limits.max_nodes is not None
    ]
    for stock in sets.stocks:
        drawing = [side for side, one in offers.items() if one.stock and one.stock[0] == stock.pool]
        found.append(_Limit(float(stock.gpus), tuple(drawing)))
    for quota in sets.case.workloads.quotas:
        under = tuple(side for side, offer in offers.items() if _is_under(offer, quota))
        found.append(_Limit(float(quota.gpus), under))
    return found


def _is_under(offer: Offer, quota: Quota) -> bool:
    wanted = (
        (quota.provider, offer.provider),
        (quota.region, offer.place.region),
        (quota.gpu, offer.hardware.shape.gpu),
        (quota.price_kind, offer.price_kind),
    )
    return all(ask is None or ask.casefold() == have.casefold() for ask, have in wanted)
