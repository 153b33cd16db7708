"""The repair: a rival's wish as a fleet that keeps the rules, with the least change.

- A mix of more kinds of replica than may serve at one time becomes the rival's next way.
- Spares, and the least number of replicas, are added.
- Replicas and gangs go where the rival wants them while there is stock; the rest goes where it
  would take them next. A service for which that leaves no room takes the rival's next way; a run
  begins later in its window, or takes the rival's next option.
- No provider has more than its share of a service's replicas.
- Reservations are cut to what outlives the horizon with a reason, to the cash up front, and to what
  may be committed to newly.

What was changed is told, a line each.
"""

import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
from peers_bench.committing import cheapest_commitment, justified_nodes
from peers_bench.fleet import Fleet
from peers_bench.market import Market
from peers_bench.placing import Placing
from peers_bench.room import Room
from peers_bench.ways import Part, Way, Wish

from solver.milp.sets import Floats, Sets

_SLACK = 1e-9
_NO_END = 10**9


class NoFleetError(Exception):
    """No way of the rival keeps the rules; the message says for which workload."""


class Repair:
    """A fleet in the making, and the notes about it."""

    def __init__(self, market: Market, wish: Wish) -> None:
        self.market, self.wish = market, wish
        self.sets: Sets = market.sets
        self.room = Room(self.sets)
        self.fleet = Fleet(keeps_peak=wish.keeps_peak)
        self.notes: list[str] = []
        self.served: set[int] = set()

    def done(self) -> Fleet:
        """Place all workloads, then reserve.

        Raises:
            NoFleetError: a workload fits nowhere.
        """
        self._use_owned()
        for demand, ways in enumerate(self.wish.demands):
            if demand not in self.served:
                self._serve(demand, ways)
        for run, options in enumerate(self.wish.runs):
            if run not in self.fleet.runs:
                self._train(run, options)
        if self.wish.reserved_share:
            self._reserve()
        return self.fleet

    def _use_owned(self) -> None:
        """Put on owned nodes what fits there whole: runs, then services, as the rival ranks them.

        No rival is so poor as to rent beside idle nodes of its own, so this counts as no repair.
        """
        self.room.is_for_owned = True
        owned = {number for number, one in enumerate(self.sets.machines) if any(one.owned)}
        for run, options in enumerate(self.wish.runs):
            self._try_options(run, [one for one in options if self._run_machine(one) in owned])
        for demand, ways in enumerate(self.wish.demands):
            for part in (way[0] for way in ways if len(way) == 1):
                groups = tuple(one for one in part.groups if self.market.machine(one) in owned)
                if groups and demand not in self.served:
                    self._try_way(demand, (Part(part.kind, part.share, groups),))
        self.room.is_for_owned = False

    def _try_way(self, demand: int, way: Way) -> Placing | None:
        placed = Placing(self.market, self.room, way)
        if not placed.is_whole:
            return None
        self.served.add(demand)
        self.fleet.replicas |= placed.replicas
        self.fleet.shares |= {part.kind: part.share for part in way}
        return placed

    def _run_machine(self, option: int) -> int:
        return self.sets.run_options[option].machine

    def _serve(self, demand: int, ways: Sequence[Way]) -> None:
        limit = self.sets.case.workloads.policy.most_groups
        name = demand_name(self.sets, demand)
        if ways and len(ways[0]) > limit:
            self.notes.append(f"{name}: {len(ways[0])} kinds of replica, {limit} may be")
        allowed = [way for way in ways if len(way) <= limit]
        way = self._cheapest(allowed) if self.wish.usd_of else self._first(allowed)
        placed = None if way is None else self._try_way(demand, way)
        if way is None or placed is None:
            raise NoFleetError(f"{name}: none of its {len(ways)} ways has room")
        self.notes.extend(f"{name}: {note}" for note in placed.notes())
        if {part.kind for part in way} != {part.kind for part in ways[0]}:
            missing = (
                "" if len(ways[0]) > limit else f", for want of {_way_name(self.sets, ways[0])}"
            )
            self.notes.append(f"{name}: on {_way_name(self.sets, way)}{missing}")

    def _first(self, ways: Sequence[Way]) -> Way | None:
        """Find the first way that has room."""
        return next((way for way in ways if self._tried(way).is_whole), None)

    def _cheapest(self, ways: Sequence[Way]) -> Way | None:
        """Find the way that costs least as placed; the first one, where that needs no move."""
        best, best_usd = None, math.inf
        for number, way in enumerate(ways):
            placed = self._tried(way)
            if placed.is_whole and not number and not placed.moved:
                return way
            usd = self._placed_usd(placed) if placed.is_whole else math.inf
            if usd < best_usd:
                best, best_usd = way, usd
        return best

    def _tried(self, way: Way) -> Placing:
        """Place a way, and give back what it took."""
        placed = Placing(self.market, self.room, way)
        if placed.is_whole:
            placed.put_back()
        return placed

    def _placed_usd(self, placed: Placing) -> float:
        usd_of, usd = self.wish.usd_of, 0.0
        for group, replicas in placed.replicas.items():
            if usd_of is not None:
                up = self.sets.kinds[self.sets.groups[group].kind].up()
                usd += usd_of(group, np.asarray(replicas @ up))
        return usd

    def _train(self, run: int, options: Sequence[int]) -> None:
        name = self.sets.runs[run].name
        number = self._try_options(run, options)
        if number is None:
            raise NoFleetError(f"{name}: none of its {len(options)} options has room in time")
        option, up = self.fleet.runs[run]
        if number:
            self.notes.append(f"{name}: no room on {number} options before its own")
        elif up[0] != self.sets.run_options[option].window[0]:
            self.notes.append(f"{name}: begins later, for want of nodes")

    def _try_options(self, run: int, options: Sequence[int]) -> int | None:
        """Take the first option with room, as soon as there is; say which it was."""
        for number, option in enumerate(options):
            one = self.sets.run_options[option]
            up = self._first_time(option)
            if up is not None:
                nodes = np.zeros(len(self.sets.periods))
                nodes[list(up)] = one.nodes
                on_spot = one.option.candidate.on_spot
                self.room.take_nodes(one.machine, nodes, on_spot=on_spot)
                self.fleet.runs[run] = (option, up)
                return number
        return None

    def _first_time(self, option: int) -> tuple[int, ...] | None:
        """Find the first time in one piece at which there are nodes for a run."""
        one = self.sets.run_options[option]
        on_spot = one.option.candidate.on_spot
        free = self.room.free_nodes(one.machine, on_spot=on_spot)[list(one.window)] >= one.nodes
        for first in range(len(one.window) - one.slots_needed + 1):
            if free[first : first + one.slots_needed].all():
                return one.window[first : first + one.slots_needed]
        return None

    def _reserve(self) -> None:
        """Reserve a share of each machine's peak of services, as far as the rules go."""
        gpus = self._gpus_by_group()
        limits = self.sets.case.workloads.policy.commitments
        upfront_left, new_left = _most(limits.max_upfront_usd), _most(limits.max_new_usd_per_hour)
        for machine in sorted({self.market.machine(group) for group in gpus}):
            number = cheapest_commitment(self.sets, machine)
            name = self.sets.machines[machine].key
            peak = math.ceil(float(self.room.gpus[0, machine].max()) / self._per_node(machine))
            wanted = math.ceil(self.wish.reserved_share * peak - _SLACK)
            if number is None or not wanted:
                self.notes.extend([f"{name}: no reservation is sold"] if wanted else [])
                continue
            one = self.sets.committed[number]
            nodes = min(wanted, justified_nodes(self.sets, number, gpus))
            nodes = min(nodes, _times(upfront_left, one.upfront_usd_per_node))
            nodes = min(nodes, _times(new_left, float(one.offer.effective_usd_per_hour)))
            if nodes < wanted:
                self.notes.append(f"{name}: {nodes} nodes reserved, {wanted} wanted")
            if nodes:
                self.fleet.committed[number] = nodes
                upfront_left -= nodes * one.upfront_usd_per_node
                new_left -= nodes * float(one.offer.effective_usd_per_hour)

    def _per_node(self, machine: int) -> int:
        return self.sets.machines[machine].gpus

    def _gpus_by_group(self) -> dict[int, Floats]:
        found = {}
        for group, replicas in self.fleet.replicas.items():
            one = self.sets.groups[group]
            up = self.sets.kinds[one.kind].up()
            found[group] = np.asarray(replicas @ up * one.gpus)
        return found


def _most(limit: Decimal | None) -> float:
    return math.inf if limit is None else float(limit)


def _times(left: float, usd: float) -> int:
    """Count how often there is money for something."""
    return _NO_END if not usd or math.isinf(left) else max(0, int((left + _SLACK) / usd))


def demand_name(sets: Sets, demand: int) -> str:
    """Name a service's users in one region."""
    one = sets.demands[demand]
    return f"{one.service.name}/{one.user_region}"


def _way_name(sets: Sets, way: Way) -> str:
    kinds = (sets.kinds[part.kind].configuration for part in way)
    return " and ".join(f"{one.gpu} {one.precision.value} {one.layout}" for one in kinds)
