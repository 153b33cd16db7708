"""Gangs and the replicas that are up in nearly all of their window: a cut for the relaxed program.

A relaxed plan spreads a run thinly over its window, and lets replicas have the rest of the same
nodes. A plan has the gang up in whole slots, and in those the nodes of all replicas beside it.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from solver.milp.fills import Floats, rounded
from solver.milp.program import Program
from solver.milp.rows import Entries, Rows, entries, rows_of
from solver.milp.variables import Ints

_USED = 1e-3
_MISSED_NODES = 1e-3


@dataclass(frozen=True, slots=True)
class _Filling:
    """Blocks of a group, and what counts of each of whole nodes."""

    group: int
    blocks: Ints
    nodes: Floats


@dataclass(frozen=True, slots=True)
class _Clash:
    """A run's options on a machine, and blocks that are up in all of some periods there.

    `slots` are those in which each option is up at least among `periods`; `nodes` are those that
    all blocks together take, `most` is what they count as at most.
    """

    machine: int
    periods: Ints
    slots: dict[int, int]
    fillings: tuple[_Filling, ...]
    nodes: float
    most: float
    owned: int

    @property
    def most_slots(self) -> int:
        return max(self.slots.values())


def clashes(program: Program, values: Floats) -> Rows | None:
    """Give the rows that a relaxed plan breaks, at most one for each run on each machine.

        Σ_{t ∈ H} on_demand_nodes[m,t] + s · Σ_{p ∈ active[m,H]} committed_nodes[p]
            ≥ Σ_{a ∈ firm options[j,m]} s_a · max(0, nodes[a] − W + N) · option_used[a]
            + s · (Σ_{b ∈ S} φ(A_b) · replicas[b on m] − M)

    H are periods of the window of run j in which all blocks S are up, A_b what b takes of a node of
    m there at least, W the most owned nodes. Option a is up in s_a periods of H at least: those
    that it needs, less those of its window outside H, or in one piece, wherever that is; s = max
    s_a. In each of them bought and owned nodes hold the gang and the blocks that are on m, which
    take N + Σ φ(A_b) · replicas[b on m] − M nodes at least; that is added up over s_a of them. With
    one kind a demand in S, φ rounds to N = ⌈Σ A_b⌉ whole nodes, and M = Σ φ(A_b) (see
    `fills.rounded`). Else φ(α) = α, and N = M has the largest kind of each demand. In nodes times
    slots on both sides.
    """
    plan = _Plan(program, values)
    found = [one for one in plan.worst() if one is not None]
    if not found:
        return None
    columns, parts, lower = program.columns, list[Entries](), list[float]()
    for row, one in enumerate(found):
        most = float(one.most_slots)
        on_demand = columns.on_demand_nodes.at(one.machine, one.periods)
        parts.append(entries(row, on_demand, 1.0))
        parts.append(entries(row, columns.committed_nodes.at(plan.committed_on(one)), most))
        for option, slots in one.slots.items():
            used = columns.option_used.at(np.array([option]))
            parts.append(entries(row, used, -slots * plan.gang_nodes(one, option)))
        for own in one.fillings:
            parts.append(
                entries(row, columns.replicas.at(own.group, own.blocks), -most * own.nodes)
            )
        lower.append(-most * one.most)
    keys = [(row,) for row in range(len(found))]
    return rows_of("clashes", keys, parts, lower=np.array(lower))


class _Plan:
    """A relaxed plan, read for what its runs and replicas have on each machine."""

    def __init__(self, program: Program, values: Floats) -> None:
        self.sets, columns = program.sets, program.columns
        self.replicas = columns.replicas.of(values)
        self.used = columns.option_used.of(values)
        self.on_demand = columns.on_demand_nodes.of(values)
        self.committed = columns.committed_nodes.of(values)
        self.groups: dict[int, list[int]] = defaultdict(list)
        for number, group in enumerate(self.sets.groups):
            if not group.on_spot and self.replicas[number].max(initial=0.0) > _USED:
                self.groups[group.machine].append(number)
        self.ups = {
            kind: self.sets.kinds[kind].up()
            for kind in {self.sets.groups[one].kind for own in self.groups.values() for one in own}
        }

    def worst(self) -> Iterator[_Clash | None]:
        """Find what is missed most for each run on each machine; None where nothing is."""
        options: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, option in enumerate(self.sets.run_options):
            if not option.option.candidate.on_spot and option.machine in self.groups:
                options[option.run, option.machine].append(number)
        for (_, machine), own in options.items():
            if self.used[own].sum() > _USED:
                missed = [(self._missed(one), one) for one in self._clashes(machine, own)]
                worst = max(missed, key=lambda pair: pair[0], default=(0.0, None))
                yield worst[1] if worst[0] > _MISSED_NODES else None

    def gang_nodes(self, clash: _Clash, option: int) -> float:
        """Count the bought nodes that a gang needs beside all blocks of a clash."""
        return max(0.0, self.sets.run_options[option].nodes - clash.owned + clash.nodes)

    def committed_on(self, clash: _Clash) -> Ints:
        """List the commitments on the machine that are active at some time of a clash."""
        return np.array(
            [
                number
                for number, one in enumerate(self.sets.committed)
                if one.machine == clash.machine
                and any(one.active[period] for period in clash.periods.tolist())
            ],
            dtype=np.int64,
        )

    def _missed(self, clash: _Clash) -> float:
        """Give by how many nodes a slot the plan breaks the row of a clash."""
        most = clash.most_slots
        has = self.on_demand[clash.machine, clash.periods].sum()
        has += most * self.committed[self.committed_on(clash)].sum()
        needs = -most * clash.most
        for option, slots in clash.slots.items():
            needs += slots * self.gang_nodes(clash, option) * self.used[option]
        for own in clash.fillings:
            needs += most * float(self.replicas[own.group, own.blocks] @ own.nodes)
        return float(needs - has) / most

    def _clashes(self, machine: int, options: list[int]) -> Iterator[_Clash]:
        """Look at the periods of the window in which each block that clashes is up."""
        share = float(self.used[options].sum())
        window = np.array(sorted({t for one in options for t in self.sets.run_options[one].window}))
        sights: set[bytes] = set()
        for group in self.groups[machine]:
            up = self.ups[self.sets.groups[group].kind][:, window] > 0
            clashing = self.replicas[group, : len(up)] + share > 1 + _USED
            sights |= {own.tobytes() for own in up[clashing]}
        for sight in sorted(sights):
            periods = window[np.frombuffer(sight, dtype=bool)]
            slots = {one: self._slots_in(one, periods) for one in options}
            slots = {one: count for one, count in slots.items() if count > 0}
            filling = list(self._filling(machine, periods, share)) if slots else []
            if filling:
                owned = max(self.sets.machines[machine].owned[one] for one in periods.tolist())
                yield _Clash(machine, periods, slots, *self._rounded(filling), owned)

    def _slots_in(self, option: int, periods: Ints) -> int:
        """Count in how many of some periods an option is up at least, in one piece if it has to."""
        one = self.sets.run_options[option]
        if self.sets.runs[one.run].restartable:
            return one.slots_needed - len(set(one.window) - set(periods.tolist()))
        within = np.r_[0, np.cumsum(np.isin(one.window, periods))]
        slots = min(one.slots_needed, len(one.window))
        return int((within[slots:] - within[:-slots]).min())

    def _filling(self, machine: int, periods: Ints, share: float) -> Iterator[_Filling]:
        """Choose the blocks that are up in all periods and clash, with what they take of nodes."""
        gpus = self.sets.machines[machine].gpus
        for group in self.groups[machine]:
            kind = self.sets.groups[group].kind
            least = self.ups[kind][:, periods].min(axis=1, initial=np.inf)
            clashing = self.replicas[group, : len(least)] + share > 1 + _USED
            blocks = np.flatnonzero((least > 0) & clashing)
            if len(blocks):
                nodes = least[blocks] * self.sets.kinds[kind].gpus / gpus
                yield _Filling(group, blocks, nodes)

    def _rounded(self, filling: list[_Filling]) -> tuple[tuple[_Filling, ...], float, float]:
        """Round to whole nodes where each demand has one kind; give N and M of `clashes`, too."""
        demands = [self.sets.groups[one.group].demand for one in filling]
        if len(set(demands)) < len(demands):
            most: dict[int, float] = defaultdict(float)
            for demand, one in zip(demands, filling, strict=True):
                most[demand] = max(most[demand], float(one.nodes.sum()))
            nodes = sum(most.values())
            return tuple(filling), nodes, nodes
        need = rounded(tuple(one.nodes[:, None] for one in filling), (), is_together=True)
        shares = [own[:, 0] for own in need.blocks]
        counted = sum(float(own.sum()) for own in shares)
        fillings = tuple(
            _Filling(one.group, one.blocks, share)
            for one, share in zip(filling, shares, strict=True)
        )
        return fillings, float(need.constant[0]) + counted, counted
