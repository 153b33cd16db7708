"""Where a relaxed plan holds replicas in parts of nodes: the fills whose whole nodes it misses."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from broker.domain.policy import Sharing
from solver.milp.clusters import Clusters
from solver.milp.fills import Fill, Owned
from solver.milp.program import Program
from solver.milp.rounding import rounding_of
from solver.milp.sets import Floats

_USED = 1e-4
_MISSED_NODES = 1e-3
_MOSTLY = (0.5, 0.999)
"""Blocks are looked at together of which so much is on the machines, as a share of their kind."""


def missed_fills(
    program: Program, values: Floats, *, by_run: bool = False, clusters: Clusters | None = None
) -> tuple[Fill, ...]:
    """Give fills that need more whole nodes than a relaxed plan has, each with those periods.

    With clusters, periods count together that are in one. `by_run` looks at each run's gangs beside
    owned nodes too, which gains less and takes longer. None where several kinds may serve a demand,
    or services and runs have nodes of their own.
    """
    sets = program.sets
    if not sets.has_one_kind or sets.case.workloads.policy.sharing is Sharing.SPLIT:
        return ()
    plan = _Plan(program, values)
    found = {}
    for fill in plan.candidates(by_run=by_run):
        nodes = plan.missed_nodes(fill)
        if clusters is not None:
            nodes = np.asarray(np.bincount(clusters.of, nodes)[clusters.of], dtype=float)
        missed = nodes > _MISSED_NODES
        if missed.any():
            found[fill.what] = replace(fill, periods=tuple(np.flatnonzero(missed).tolist()))
    return tuple(found.values())


class _Plan:
    """A relaxed plan, read for its nodes and what fills them."""

    def __init__(self, program: Program, values: Floats) -> None:
        self.sets = program.sets
        columns = program.columns
        self.used = columns.kind_used.of(values)
        self.replicas = columns.replicas.of(values)
        self.bought = {
            True: columns.spot_nodes.of(values),
            False: columns.on_demand_nodes.of(values).copy(),
        }
        for number, one in enumerate(self.sets.committed):
            nodes = float(columns.committed_nodes.of(values)[number])
            self.bought[False][one.machine] += nodes * np.array(one.active, dtype=float)
        self.gang_up = columns.gang_up.of(values)
        self.groups: dict[tuple[int, bool], dict[int, int]] = defaultdict(dict)
        for at, group in enumerate(self.sets.groups):
            self.groups[group.kind, group.on_spot][group.machine] = at

    def missed_nodes(self, fill: Fill) -> Floats:
        """Give by how much a fill needs more nodes than there are, by the shares of the plan."""
        need, periods = rounding_of(self.sets, fill), list(fill.periods)
        missed = need.nodes.constant.copy()
        for machine, share in zip(fill.machines, need.nodes.nodes, strict=True):
            missed -= share * self.bought[fill.on_spot][machine, periods]
        for number, taken in need.gangs.items():
            missed += taken * self.gang_up[number, periods]
        for (kind, own), used, blocks in zip(
            fill.parts, need.nodes.used, need.nodes.blocks, strict=True
        ):
            missed += used * self.used[kind] + self._on(fill, kind)[list(own)] @ blocks
        return missed

    def _on(self, fill: Fill, kind: int) -> Floats:
        """Give how much of each block of a kind is on the machines of a fill."""
        own = self.groups[kind, fill.on_spot]
        groups = [own[one] for one in fill.machines if one in own]
        return np.asarray(self.replicas[groups].sum(axis=0))

    def candidates(self, *, by_run: bool) -> Iterator[Fill]:
        """Look at each machine, at all of a demand, and at all that share machines."""
        for on_spot in (False, True):
            used = self._used_machines(on_spot=on_spot)
            sights: set[tuple[int, ...]] = {(one,) for own in used.values() for one in own}
            sights |= {tuple(sorted(own)) for own in used.values()}
            sights |= set(_connected(list(used.values())))
            for machines in sorted(sights):
                here = [demand for demand, own in used.items() if own & set(machines)]
                for gpus in sorted({self.sets.machines[one].gpus for one in machines}):
                    yield from self._filled(
                        Fill(machines, gpus, on_spot, (), (), is_together=False), here
                    )
        yield from self._on_owned(by_run=by_run)

    def _on_owned(self, *, by_run: bool) -> Iterator[Fill]:
        """Look at each machine with owned nodes, for each run that has gangs there."""
        used = self._used_machines(on_spot=False)
        periods = tuple(range(len(self.sets.periods)))
        for number, machine in enumerate(self.sets.machines):
            if not any(machine.owned):
                continue
            here = [demand for demand, own in used.items() if number in own]
            runs = sorted(self._runs_on(number)) if by_run else []
            empty = Fill((number,), machine.gpus, False, periods, (), is_together=False)
            filled = list(self._filled(empty, here))
            for one in filled:
                if not one.is_together:
                    yield replace(one, owned=Owned.BY_KINDS)
            for run in runs:
                for one in [empty, *filled]:
                    yield replace(one, owned=Owned.BY_RUN, run=run)

    def _runs_on(self, machine: int) -> set[int]:
        """Give the runs that have a gang on firm nodes of a machine."""
        return {
            option.run
            for number, option in enumerate(self.sets.run_options)
            if option.machine == machine
            and not option.option.candidate.on_spot
            and self.gang_up[number].max(initial=0.0) > _USED
        }

    def _used_machines(self, *, on_spot: bool) -> dict[int, set[int]]:
        """Give the machines that each demand uses."""
        machines: dict[int, set[int]] = defaultdict(set)
        for number, group in enumerate(self.sets.groups):
            if group.on_spot is on_spot and self.replicas[number].max(initial=0.0) > _USED:
                machines[group.demand].add(group.machine)
        return machines

    def _filled(self, empty: Fill, demands: list[int]) -> Iterator[Fill]:
        """Fill machines with the blocks of each demand, and of all together."""
        periods = tuple(range(len(self.sets.periods)))
        together = [demands] if len(demands) > 1 else []
        for some in [[one] for one in demands] + together:
            for share in _MOSTLY:
                parts = self._parts(some, empty, share)
                if parts:
                    yield replace(empty, periods=periods, parts=parts, is_together=len(some) > 1)

    def _parts(
        self, demands: Sequence[int], empty: Fill, share: float
    ) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Give the blocks that are mostly on the machines of a fill, by kind."""
        parts = []
        for kind, one in enumerate(self.sets.kinds):
            if one.demand in demands and self.used[kind] > _USED:
                mostly = self._on(empty, kind) >= max(share * self.used[kind], _USED)
                mostly[one.blocks :] = False
                if mostly.any():
                    parts.append((kind, tuple(np.flatnonzero(mostly).tolist())))
        return tuple(parts)


def _connected(sets: list[set[int]]) -> Iterator[tuple[int, ...]]:
    """Join sets that have something in common."""
    left = [set(one) for one in sets]
    while left:
        whole = left.pop()
        grown = True
        while grown:
            near = [one for one in left if one & whole]
            left = [one for one in left if not one & whole]
            whole = whole.union(*near)
            grown = bool(near)
        yield tuple(sorted(whole))
