"""Placing one way to serve on machines with room, unit by unit: the first ones up first."""

from collections.abc import Iterator, Sequence

import numpy as np
from peers_bench.market import Market
from peers_bench.room import Room
from peers_bench.ways import Part, Way

from solver.milp.sets import Floats
from solver.milp.shares import most_with_one, provider_share

_SLACK = 1e-9


class Placing:
    """A way with its replicas on machines; what it took is given back where not all found room."""

    def __init__(self, market: Market, room: Room, way: Way) -> None:
        self.market, self.room, self.way = market, room, way
        self.sets = market.sets
        self.taken: list[tuple[int, Floats]] = []
        self.replicas: dict[int, Floats] = {}
        self.moved = 0.0
        self.is_whole = all(self._place(part, first=not at) for at, part in enumerate(way))
        if not self.is_whole:
            self.put_back()

    def notes(self) -> Iterator[str]:
        """Say what differs from what the rival wanted."""
        kind = self.sets.kinds[self.way[0].kind]
        demand = self.sets.demands[kind.demand]
        wanted = sum(self.market.needed(one.kind, one.share).max(initial=0.0) for one in self.way)
        there = sum(self._counts(one, first=not at).max() for at, one in enumerate(self.way))
        if there > wanted:
            yield (
                f"{there:.0f} replicas at the peak, {wanted:.0f} wanted "
                f"(spares {demand.spares(kind.gpus)}, at least {demand.service.min_replicas})"
            )
        if self.moved:
            yield f"replicas moved, for want of nodes or to another provider: {self.moved:.0f}"

    def _place(self, part: Part, *, first: bool) -> bool:
        """Place the replicas of a part; say whether all found room."""
        kind = self.sets.kinds[part.kind]
        share = provider_share(self.sets.case.workloads, self.sets.demands[kind.demand].service)
        spot_left = np.array(kind.replicas_alone, float) - np.array(kind.firm_alone, float)
        spots = part.spot_groups if len(self.way) == 1 and share == 1 else ()
        clouds: dict[str, int] = {}
        for at, unit in enumerate(self._units(part, first=first)):
            allowed = spots if (unit <= spot_left + _SLACK).all() else ()
            group = self._first_with_room(allowed, unit)
            if group is not None:
                spot_left -= unit
            else:
                most = most_with_one(share, at + 1)
                open_to = [one for one in part.groups if clouds.get(self._cloud(one), 0) < most]
                group = self._first_with_room(open_to, unit)
                self.moved += float(unit.max()) if group != part.groups[0] else 0.0
            if group is None:
                return False
            cloud = self._cloud(group)
            clouds[cloud] = clouds.get(cloud, 0) + 1
            self._take(group, at, unit)
        return True

    def _first_with_room(self, groups: Sequence[int], unit: Floats) -> int | None:
        return next((one for one in groups if self._fits(one, unit)), None)

    def _units(self, part: Part, *, first: bool) -> list[Floats]:
        """Cut the replicas of a part into what is placed at once."""
        kind = self.sets.kinds[part.kind]
        if kind.block_sizes:
            return list(kind.up())
        counts = self._counts(part, first=first)
        return [np.asarray(counts > at, dtype=float) for at in range(int(counts.max(initial=0)))]

    def _counts(self, part: Part, *, first: bool) -> Floats:
        """Count the replicas of a part, spares included; the first also makes up the least."""
        kind = self.sets.kinds[part.kind]
        if len(self.way) == 1:
            return np.array(kind.replicas_alone, dtype=float)
        demand = self.sets.demands[kind.demand]
        counts = self.market.needed(part.kind, part.share) + demand.spares(kind.gpus)
        return np.maximum(counts, demand.service.min_replicas) if first else counts

    def _fits(self, group: int, unit: Floats) -> bool:
        one = self.sets.groups[group]
        free = self.room.free_gpus(one.machine, on_spot=one.on_spot)
        return bool((one.gpus * unit <= free + _SLACK).all())

    def _take(self, group: int, at: int, unit: Floats) -> None:
        one = self.sets.groups[group]
        kind = self.sets.kinds[one.kind]
        gpus = one.gpus * unit
        self.room.take_gpus(one.machine, gpus, on_spot=one.on_spot)
        self.taken.append((group, gpus))
        row = self.replicas.setdefault(group, np.zeros(kind.blocks))
        if kind.block_sizes:
            row[at] = 1.0
        else:
            row += unit

    def put_back(self) -> None:
        """Give back what the replicas took."""
        for group, gpus in self.taken:
            one = self.sets.groups[group]
            self.room.take_gpus(one.machine, -gpus, on_spot=one.on_spot)

    def _cloud(self, group: int) -> str:
        return self.sets.case.machines[self.sets.groups[group].option.machine].cloud
