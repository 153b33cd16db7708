"""A plan in the making: what it takes of each machine, what that costs, and what a change would.

What a machine holds is never changed in place, so that a draft is saved by copying references. Most
changes are looked at many times: what they cost is known by what the machine holds.
"""

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from solver.milp.machine_costs import MachineCosts, Nodes, Usage
from solver.milp.pairs import Way, prompts_of
from solver.milp.replica_data import replica_usd
from solver.milp.run_slots import run_ways
from solver.milp.sets import Floats, Sets

_GAIN = 1e-7
_MOST_KNOWN = 200_000
_FIRM, _SPOT, _FIRM_GANGS, _SPOT_GANGS = range(4)

Noise = Callable[[], float]
"""Draws a factor for what a choice costs, so that it is not always the cheapest that is taken."""
Blocks = slice | list[int]
"""Blocks of a kind's replicas, by position."""
Times = tuple[int, tuple[int, ...]]
"""How a run is done: a run option, and the periods in which it works."""


@dataclass(slots=True)
class Draft:
    """A plan in the making: the kind and the groups of each demand, the way of each run."""

    kinds: dict[int, int] = field(default_factory=dict)
    groups: dict[int, list[int]] = field(default_factory=dict)
    runs: dict[int, Times] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """The best draft, and what is bought of each machine for it."""

    draft: Draft
    nodes: dict[int, Nodes]

    @property
    def usd(self) -> float:
        """Add up the machines; data costs are not in it."""
        return sum(one.usd for one in self.nodes.values())


@dataclass(frozen=True, slots=True)
class _Held:
    """What a machine holds: by side and period, and for each level. `mark` tells it from others."""

    taken: Floats
    base: Floats
    usd: float = 0.0
    mark: int = 0

    @property
    def usage(self) -> Usage:
        firm, spot, firm_gangs, spot_gangs = self.taken
        return Usage(firm, spot, firm_gangs, spot_gangs, self.base)


@dataclass(frozen=True, slots=True)
class Saved:
    """All that a step may change."""

    held: dict[int, _Held]
    data_usd: float
    draft: Draft


class Bench:
    """A draft with what it takes of each machine, and what that costs."""

    def __init__(self, sets: Sets) -> None:
        self.sets = sets
        self.costs = MachineCosts(sets)
        self.draft = Draft()
        self.members: dict[int, list[int]] = defaultdict(list)
        for number, group in enumerate(sets.groups):
            self.members[group.kind].append(number)
        self._on_spot = [group.on_spot for group in sets.groups]
        self._up = [kind.up() for kind in sets.kinds]
        self._replica_usd = [replica_usd(sets, number) for number in range(len(sets.groups))]
        self._ways = run_ways(sets)
        self._prompts = prompts_of(sets)
        periods = len(sets.periods)
        levels = max((len(own) for own in self.costs.levels), default=0)
        self._empty = _Held(np.zeros((4, periods)), np.zeros(levels))
        self._held: dict[int, _Held] = {}
        self._data_usd = 0.0
        self._known_usd: dict[tuple[int, int, int, int], float] = {}
        self._known_held: dict[tuple[int, int], float] = {}
        self._known_ways: dict[tuple[int, int], tuple[float, Times]] = {}

    @property
    def usd(self) -> float:
        """Give what the draft costs."""
        return sum(one.usd for one in self._held.values()) + self._data_usd

    def size(self, kind: int) -> float:
        """Give the GPU-periods of a kind, if it serves its demand."""
        return float(self._up[kind].sum()) * self.sets.kinds[kind].gpus

    def saved(self) -> Saved:
        """Keep the draft as it is."""
        draft = self.draft
        copied = Draft(dict(draft.kinds), dict(draft.groups), dict(draft.runs))
        return Saved(self._held.copy(), self._data_usd, copied)

    def restore(self, saved: Saved) -> None:
        """Take a draft that was kept; it must not be restored twice."""
        self._held, self._data_usd, self.draft = saved.held, saved.data_usd, saved.draft

    def found(self) -> Found:
        """Say what is bought for the draft."""
        return Found(
            self.draft,
            {number: self.costs.nodes(number, self._on(number).usage) for number in self.used()},
        )

    def way(self, demand: int) -> Way:
        """Give the kinds that serve a demand, and its prompts where they are apart."""
        kinds = self.draft.kinds
        return tuple(kinds[one] for one in self._with_prompts(demand) if one in kinds)

    def pools(self, demand: int) -> list[int]:
        """List the demand, and its prompts where they are apart."""
        return [one for one in self._with_prompts(demand) if one in self.draft.kinds]

    def _with_prompts(self, demand: int) -> tuple[int, ...]:
        return (demand, self._prompts[demand]) if demand in self._prompts else (demand,)

    def serve(self, demand: int, way: Way, *, skips: int = 0, noise: Noise | None = None) -> bool:
        """Place all kinds of a way, or none.

        Up to `skips` more blocks are placed together with each.
        """
        for kind in way:
            if not self._place(self.sets.kinds[kind].demand, kind, skips=skips, noise=noise):
                self.remove(demand)
                return False
        return True

    def _place(self, demand: int, kind: int, *, skips: int, noise: Noise | None) -> bool:
        """Put a demand's blocks where each costs least, one after the other."""
        one, up = self.sets.kinds[kind], self._up[kind]
        spot_left = np.array(one.replicas_alone, float) - np.array(one.firm_alone, float)
        groups: list[int] = []
        while len(groups) < one.blocks:
            blocks = slice(len(groups), min(len(groups) + 1 + skips, one.blocks))
            replicas = up[blocks].sum(axis=0)
            may_be_spot = not bool((replicas > spot_left + _GAIN).any())
            best = self._cheapest(kind, blocks, may_be_spot=may_be_spot, noise=noise)
            if best is None:
                self._put_off(groups)
                return False
            self._change(best, blocks, 1.0)
            if self.sets.groups[best].on_spot:
                spot_left -= replicas
            groups.extend([best] * (blocks.stop - blocks.start))
        self.draft.kinds[demand], self.draft.groups[demand] = kind, groups
        return True

    def _cheapest(
        self, kind: int, blocks: slice, *, may_be_spot: bool, noise: Noise | None
    ) -> int | None:
        """Choose the group on which blocks of a kind add least; None where none has room."""
        best, best_usd = None, math.inf
        for group in self.members[kind]:
            if may_be_spot or not self._on_spot[group]:
                usd = self._usd_with(group, blocks)
                usd = usd * noise() if noise else usd
                if usd < best_usd:
                    best, best_usd = group, usd
        return best

    def on_machine(self, machine: int) -> tuple[list[int], list[int]]:
        """List the demands and the runs that have a part of a machine."""
        sets, draft = self.sets, self.draft
        on_it = {
            demand
            for demand, groups in draft.groups.items()
            if any(sets.groups[one].machine == machine for one in groups)
        }
        return (
            [one for one in draft.kinds if on_it.intersection(self._with_prompts(one))],
            [run for run, way in draft.runs.items() if sets.run_options[way[0]].machine == machine],
        )

    def used(self) -> list[int]:
        """List the machines that anything is on."""
        return sorted(self._held)

    def move(self, demand: int, blocks: slice, group: int) -> bool:
        """Move blocks to a group; say whether as many stay firm as must."""
        groups = list(self.draft.groups[demand])
        self._put_off(groups[blocks], blocks.start)
        self._change(group, blocks, 1.0)
        groups[blocks] = [group] * (blocks.stop - blocks.start)
        self.draft.groups[demand] = groups
        kind = self.sets.kinds[self.draft.kinds[demand]]
        on_spot = [block for block, at in enumerate(groups) if self.sets.groups[at].on_spot]
        spot = self._up[self.draft.kinds[demand]][on_spot].sum(axis=0)
        most = np.array(kind.replicas_alone, float) - np.array(kind.firm_alone, float)
        return not bool((spot > most + _GAIN).any())

    def remove(self, demand: int) -> None:
        """Take out what serves a demand, and its prompts."""
        for one in self._with_prompts(demand):
            if self.draft.kinds.pop(one, None) is not None:
                self._put_off(self.draft.groups.pop(one))

    def do(self, run: int, *, noise: Noise | None = None) -> bool:
        """Give a run the option and the periods that add least to the cost."""
        best: Times | None = None
        best_usd = math.inf
        for option in self._ways.options[run]:
            usd, way = self._best_way(option)
            usd = usd * noise() if noise else usd
            if usd < best_usd:
                best, best_usd = way, usd
        if best is None:
            return False
        self._change_run(best, 1.0)
        self.draft.runs[run] = best
        return True

    def undo(self, run: int) -> None:
        """Take a run out."""
        self._change_run(self.draft.runs.pop(run), -1.0)

    def _put_off(self, groups: list[int], first: int = 0) -> None:
        """Take out blocks that follow on each other, all of a group at once."""
        for group in dict.fromkeys(groups):
            own = [block for block, one in enumerate(groups, first) if one == group]
            self._change(group, own, -1.0)

    def _change(self, group: int, blocks: Blocks, sign: float) -> None:
        machine = self.sets.groups[group].machine
        self._data_usd += sign * float(self._replica_usd[group][blocks].sum())
        self._hold(machine, self._with(group, blocks, sign))

    def _on(self, machine: int) -> _Held:
        return self._held.get(machine, self._empty)

    def _hold(self, machine: int, held: _Held) -> None:
        """Have a machine hold so much; one without a mark holds nothing."""
        if held.mark:
            self._held[machine] = held
        else:
            del self._held[machine]

    def _with(self, group: int, blocks: Blocks, sign: float) -> _Held:
        """Give what a group's machine holds with some blocks more, or fewer."""
        one = self.sets.groups[group]
        held = self._on(one.machine)
        gpus = self._up[one.kind][blocks].sum(axis=0) * (sign * one.gpus)
        taken, base = held.taken.copy(), held.base
        taken[_SPOT if one.on_spot else _FIRM] += gpus
        if not one.on_spot and self.costs.levels[one.machine]:
            base = base.copy()
            for place, level in enumerate(self.costs.levels[one.machine]):
                share = self.sets.levels[level].breakeven_utilization
                base[place] += gpus[self._base_period(one.kind, share)]
        mark = held.mark
        for block in range(blocks.start, blocks.stop) if isinstance(blocks, slice) else blocks:
            mark ^= hash((group, block))
        return self._priced(one.machine, taken, base, mark)

    def _priced(self, machine: int, taken: Floats, base: Floats, mark: int) -> _Held:
        """Say what a machine costs that holds so much; mostly it has held the same before."""
        usd = self._known_held.get((machine, mark))
        if usd is None:
            if len(self._known_held) > _MOST_KNOWN:
                self._known_held.clear()
            usd = self.costs.usd(machine, _Held(taken, base).usage)
            self._known_held[machine, mark] = usd
        return _Held(taken, base, usd, mark)

    def _base_period(self, kind: int, share: float) -> int:
        known = self._ways.base_periods
        if (kind, share) not in known:
            busy = self.sets.kinds[kind].busy_periods(self.sets.hours, share)
            known[kind, share] = int(busy[0])
        return known[kind, share]

    def _usd_with(self, group: int, blocks: slice) -> float:
        """Give what blocks of a group would add to the cost."""
        machine = self.sets.groups[group].machine
        held = self._on(machine)
        key = (held.mark, group, blocks.start, blocks.stop)
        usd = self._known_usd.get(key)
        if usd is None:
            if len(self._known_usd) > _MOST_KNOWN:
                self._known_usd.clear()
            usd = self._with(group, blocks, 1.0).usd - held.usd
            usd += float(self._replica_usd[group][blocks].sum())
            self._known_usd[key] = usd
        return usd

    def _best_way(self, option: int) -> tuple[float, Times]:
        """Give the periods in which an option would add least, and how much; infinity for none."""
        held = self._on(self.sets.run_options[option].machine)
        known = self._known_ways.get((held.mark, option))
        if known is None:
            if len(self._known_ways) > _MOST_KNOWN:
                self._known_ways.clear()
            known = self._known_ways[held.mark, option] = self._cheapest_way(option, held)
        return known

    def _cheapest_way(self, option: int, held: _Held) -> tuple[float, Times]:
        one = self.sets.run_options[option]
        side = _SPOT_GANGS if one.option.candidate.on_spot else _FIRM_GANGS
        best, best_usd = (option, ()), math.inf
        for periods in self._ways.periods(option, self._gang_usd(option)):
            taken = held.taken.copy()
            taken[side, periods] += one.nodes
            usd = self.costs.usd(one.machine, _Held(taken, held.base).usage)
            usd += float(one.option.data_usd) - held.usd
            if usd < best_usd:
                best, best_usd = (option, tuple(periods.tolist())), usd
        return best_usd, best

    def _change_run(self, way: Times, sign: float) -> None:
        one = self.sets.run_options[way[0]]
        side = _SPOT_GANGS if one.option.candidate.on_spot else _FIRM_GANGS
        held = self._on(one.machine)
        taken = held.taken.copy()
        taken[side, list(way[1])] += sign * one.nodes
        self._data_usd += sign * float(one.option.data_usd)
        mark = held.mark ^ hash(way)
        self._hold(one.machine, self._priced(one.machine, taken, held.base, mark))

    def _gang_usd(self, option: int) -> Floats:
        """Say what a gang adds in each period of its window, beside what is bought now."""
        one = self.sets.run_options[option]
        machine, window = self.sets.machines[one.machine], list(one.window)
        offer = machine.spot if one.option.candidate.on_spot else machine.on_demand
        price = float(offer.usd_per_hour) if offer else 1e9
        if one.option.candidate.on_spot:
            return np.asarray(one.nodes * price * self.sets.hours[window])
        usage = self._on(one.machine).usage
        bought = self.costs.nodes(one.machine, usage)
        held = np.array(machine.owned, dtype=float)
        for number, nodes in bought.committed.items():
            held = held + nodes * np.array(self.sets.committed[number].active, dtype=float)
        busy = np.ceil(usage.firm_gpus / machine.gpus - _GAIN) + usage.firm_gangs
        idle = np.maximum(held - busy, 0.0)[window]
        return np.asarray(np.maximum(one.nodes - idle, 0.0) * price * self.sets.hours[window])
