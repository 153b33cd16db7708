"""What a machine costs, given what services and runs take of it in each period: closed forms.

Layer k of the nodes is needed in the periods in which k nodes or more are; it is rented for those,
or committed, whichever is cheaper. Without limits that several machines share, this is what the
program would pay, but where churn is weighed: what is then cheapest layer by layer may not be so
in all.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from solver.milp.churn import ChurnLine, churn_lines
from solver.milp.sets import Floats, Sets
from solver.milp.variables import Ints

_SLACK = 1e-9
_NONE = np.zeros(0, dtype=np.int64)


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
class _Churn:
    """What a node counts as that is not in force, and how many are, by how they are had."""

    usd: float = 0.0
    rented: int = 0
    spot: int = 0
    committed: Mapping[tuple[int, ...], int] = field(default_factory=dict)

    @property
    def firm(self) -> int:
        return self.rented + sum(self.committed.values())

    def nodes_of(self, place: int) -> int:
        """Count the nodes in force of a commitment, by its place."""
        return sum(nodes for places, nodes in self.committed.items() if place in places)

    def by_layer(self, layers: int, in_force: int) -> Floats:
        """Count the layers beyond those that so many nodes in force hold, the lowest first."""
        return np.where(np.arange(layers) >= in_force, self.usd, 0.0)

    def of(self, rented: float, committed: Ints, spot: float) -> float:
        """Count what is moved; `committed` has the place of a commitment for each of its nodes."""
        moved = max(rented - self.rented, 0.0) + max(spot - self.spot, 0.0)
        for places, nodes in self.committed.items():
            moved += max(int(np.isin(committed, places).sum()) - nodes, 0)
        return self.usd * moved


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
    churn: _Churn


class MachineCosts:
    """The costs of all machines of a program."""

    def __init__(self, sets: Sets) -> None:
        self.hours = sets.hours
        self.levels = [
            [number for number, level in enumerate(sets.levels) if level.machine == machine]
            for machine in range(len(sets.machines))
        ]
        stocks = {one.pool: one.gpus for one in sets.stocks}
        self._lines: dict[int, list[ChurnLine]] = defaultdict(list)
        for one in churn_lines(sets):
            self._lines[one.machine].append(one)
        self._machines = [self._read(sets, number, stocks) for number in range(len(sets.machines))]

    def _read(self, sets: Sets, number: int, stocks: Mapping[str, int]) -> _Machine:
        machine = sets.machines[number]
        offers = [one for one in (machine.on_demand, machine.spot) if one is not None]
        offers += [one.offer for one in sets.committed if one.machine == number]
        pools = [stocks[one.stock[0]] for one in offers if one.stock and one.stock[0] in stocks]
        own = [at for at, one in enumerate(sets.committed) if one.machine == number]
        return _Machine(
            gpus=machine.gpus,
            rent_usd=float(machine.on_demand.usd_per_hour) if machine.on_demand else math.inf,
            spot_usd=float(machine.spot.usd_per_hour) if machine.spot else math.inf,
            owned=np.array(machine.owned, dtype=float),
            most_rented=_most(machine.on_demand.limits.max_nodes if machine.on_demand else 0),
            most_spot=_most(machine.spot.limits.max_nodes if machine.spot else 0),
            most_together=min((gpus // machine.gpus for gpus in pools), default=math.inf),
            commitments=tuple(self._commitment(sets, at) for at in own),
            churn=self._churn(sets, number, own),
        )

    def _churn(self, sets: Sets, machine: int, own: Sequence[int]) -> _Churn:
        lines = self._lines[machine]
        hourly = {one.on_spot: one.in_force for one in lines if not one.committed}
        place = {number: at for at, number in enumerate(own)}
        return _Churn(
            float(sets.case.workloads.policy.churn.usd_per_moved_node) if lines else 0.0,
            hourly.get(False, 0),
            hourly.get(True, 0),
            {
                tuple(place[number] for number in one.committed): one.in_force
                for one in lines
                if one.committed
            },
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
        together = float((needed + spot).max()) if most_spot else most
        if most_spot > one.most_spot or together > one.most_together:
            return math.inf
        if not most:
            return cost + (one.churn.of(0, _NONE, most_spot) if one.churn.usd else 0.0)
        by_layer, chosen = self._layers(one, needed, usage.base)
        if one.churn.usd:
            rented = self._rented(one, needed, chosen).max(initial=0.0)
            cost += one.churn.of(rented, chosen, most_spot)
        committed = int((chosen >= 0).sum())
        is_too_many = committed + most_spot > one.most_together
        if is_too_many or most - committed > one.most_rented:
            return math.inf
        return cost + float(by_layer.sum())

    def nodes(self, machine: int, usage: Usage) -> Nodes:
        """Say what is bought for that."""
        one = self._machines[machine]
        needed, spot = _needed(one, usage)
        rented, committed = needed, dict[int, int]()
        if needed.max(initial=0.0) > 0:
            _, chosen = self._layers(one, needed, usage.base)
            for place in chosen[chosen >= 0].tolist():
                number = one.commitments[place].number
                committed[number] = committed.get(number, 0) + 1
            rented = self._rented(one, needed, chosen)
        return Nodes(self.usd(machine, usage), rented, spot, committed)

    def _rented(self, one: _Machine, needed: Floats, chosen: Ints) -> Floats:
        """Count what is rented beside the commitments that were chosen for layers."""
        rest = needed.copy()
        for place in chosen[chosen >= 0].tolist():
            rest -= one.commitments[place].active_hours > 0
        return np.maximum(rest, 0.0)

    def _layers(self, one: _Machine, needed: Floats, base: Floats) -> tuple[Floats, Ints]:
        """Give the cost of each layer, and which commitment it is under; −1 for none."""
        counts = needed.astype(np.int64)
        hours = _hours_at_least(counts, self.hours)
        cost = _rent(one, hours)
        chosen = np.full(len(cost), -1)
        judged = cost + one.churn.by_layer(len(cost), one.churn.firm) if one.churn.usd else cost
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
            weighed = usd
            if one.churn.usd:
                weighed = usd + one.churn.by_layer(layers, one.churn.nodes_of(place))
            better = weighed < judged[:layers]
            cost[:layers][better] = usd[better]
            judged[:layers][better] = weighed[better]
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
