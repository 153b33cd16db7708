"""What a machine costs, given what services and runs take of it in each period: closed forms.

Layer k of the nodes is needed in the periods in which k nodes or more are; it is rented for those,
or committed, whichever is cheaper. Without limits that several machines share, this is what the
program would pay.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from solver.milp.sets import Floats, Sets
from solver.milp.variables import Ints

_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class Usage:
    """What is taken of a machine in each period: GPUs by replicas, nodes by gangs.

    `base` are the GPUs that services keep up for the share of time of each of its levels.
    """

    firm_gpus: Floats
    spot_gpus: Floats
    firm_gangs: Floats
    spot_gangs: Floats
    base: Floats


@dataclass(frozen=True, slots=True)
class Nodes:
    """What is bought of a machine: nodes by the hour in each period, and committed ones."""

    usd: float
    on_demand: Floats
    spot: Floats
    committed: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class _Commitment:
    number: int
    usd: float
    active_hours: Floats
    is_whole: bool
    level: int | None
    most: float


@dataclass(frozen=True, slots=True)
class _Machine:
    gpus: int
    rent_usd: float
    spot_usd: float
    owned: Floats
    most_rented: float
    most_spot: float
    most_together: float
    commitments: tuple[_Commitment, ...]


class MachineCosts:
    """The costs of all machines of a program."""

    def __init__(self, sets: Sets) -> None:
        self.hours = sets.hours
        self.levels = [
            [number for number, level in enumerate(sets.levels) if level.machine == machine]
            for machine in range(len(sets.machines))
        ]
        stocks = {one.pool: one.gpus for one in sets.stocks}
        self._machines = [self._read(sets, number, stocks) for number in range(len(sets.machines))]

    def _read(self, sets: Sets, number: int, stocks: Mapping[str, int]) -> _Machine:
        machine = sets.machines[number]
        offers = [one for one in (machine.on_demand, machine.spot) if one is not None]
        offers += [one.offer for one in sets.committed if one.machine == number]
        pools = [stocks[one.stock[0]] for one in offers if one.stock and one.stock[0] in stocks]
        return _Machine(
            gpus=machine.gpus,
            rent_usd=float(machine.on_demand.usd_per_hour) if machine.on_demand else math.inf,
            spot_usd=float(machine.spot.usd_per_hour) if machine.spot else math.inf,
            owned=np.array(machine.owned, dtype=float),
            most_rented=_most(machine.on_demand.limits.max_nodes if machine.on_demand else 0),
            most_spot=_most(machine.spot.limits.max_nodes if machine.spot else 0),
            most_together=min((gpus // machine.gpus for gpus in pools), default=math.inf),
            commitments=tuple(
                self._commitment(sets, at)
                for at, one in enumerate(sets.committed)
                if one.machine == number
            ),
        )

    def _commitment(self, sets: Sets, number: int) -> _Commitment:
        one = sets.committed[number]
        own = self.levels[one.machine]
        level = next(
            (
                place
                for place, at in enumerate(own)
                if one.outlives
                and sets.levels[at].breakeven_utilization == one.breakeven_utilization
            ),
            None,
        )
        active = np.array(one.active, dtype=float)
        return _Commitment(
            number=number,
            usd=one.usd_per_node,
            active_hours=self.hours * active,
            is_whole=bool(active.all()),
            level=level,
            most=_most(one.offer.limits.max_nodes),
        )

    def usd(self, machine: int, usage: Usage) -> float:
        """Give the cost; infinity where there are not so many nodes."""
        one = self._machines[machine]
        needed, spot = _needed(one, usage)
        most_spot = spot.max(initial=0.0)
        cost = one.spot_usd * float(spot @ self.hours) if most_spot else 0.0
        most = int(needed.max(initial=0.0))
        if most_spot > one.most_spot or float((needed + spot).max()) > one.most_together:
            return math.inf
        if not most:
            return cost
        by_layer, chosen = self._layers(one, needed, usage.base)
        committed = int((chosen >= 0).sum())
        is_too_many = committed + most_spot > one.most_together
        if is_too_many or most - committed > one.most_rented:
            return math.inf
        return cost + float(by_layer.sum())

    def nodes(self, machine: int, usage: Usage) -> Nodes:
        """Say what is bought for that."""
        one = self._machines[machine]
        needed, spot = _needed(one, usage)
        rest, committed = needed.copy(), dict[int, int]()
        if needed.max(initial=0.0) > 0:
            _, chosen = self._layers(one, needed, usage.base)
            for place in chosen[chosen >= 0].tolist():
                commitment = one.commitments[place]
                committed[commitment.number] = committed.get(commitment.number, 0) + 1
                rest -= commitment.active_hours > 0
        rented = np.maximum(rest, 0.0)
        return Nodes(self.usd(machine, usage), rented, spot, committed)

    def _layers(self, one: _Machine, needed: Floats, base: Floats) -> tuple[Floats, Ints]:
        """Give the cost of each layer, and which commitment it is under; −1 for none."""
        counts = needed.astype(np.int64)
        hours = _hours_at_least(counts, self.hours)
        cost = _rent(one, hours)
        chosen = np.full(len(cost), -1)
        for place, commitment in enumerate(one.commitments):
            most = commitment.most
            if commitment.level is not None:
                kept = math.ceil(base[commitment.level] / one.gpus - _SLACK)
                most = min(most, max(kept - float(one.owned.max(initial=0.0)), 0.0))
            layers = int(min(most, len(cost)))
            if not layers:
                continue
            beyond = np.zeros(layers)
            if not commitment.is_whole:
                held = _hours_at_least(counts, commitment.active_hours)
                beyond = hours[:layers] - held[:layers]
            usd = commitment.usd + _rent(one, beyond)
            better = usd < cost[:layers]
            cost[:layers][better] = usd[better]
            chosen[:layers][better] = place
        return cost, chosen


def _rent(one: _Machine, hours: Floats) -> Floats:
    """Give the rent of hours of each layer; infinity where there is nothing to rent."""
    if math.isinf(one.rent_usd):
        return np.where(hours > _SLACK, math.inf, 0.0)
    return one.rent_usd * hours


def _most(nodes: int | None) -> float:
    return math.inf if nodes is None else float(nodes)


def _needed(one: _Machine, usage: Usage) -> tuple[Floats, Floats]:
    firm = np.ceil(usage.firm_gpus / one.gpus - _SLACK) + usage.firm_gangs - one.owned
    spot = np.ceil(usage.spot_gpus / one.gpus - _SLACK) + usage.spot_gangs
    return np.maximum(firm, 0.0), spot


def _hours_at_least(counts: Ints, hours: Floats) -> Floats:
    """Add up the hours in which there are at least 1, 2, ... nodes."""
    return np.bincount(counts, hours)[::-1].cumsum()[::-1][1:]
