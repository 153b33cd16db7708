"""A good plan by search: take a few workloads out, put them back in the cheapest way, keep gains.

Where one kind serves each demand, a plan is a kind for each demand, a group for each block of its
replicas, and an option with its periods for each run. What that costs is known machine by machine,
so each step asks few of them. Rules that no machine knows of by itself (quotas, caps, shares) are
not looked at: whoever uses the plan must check them.
"""

import math
import random
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from solver.milp.machine_costs import MachineCosts, Nodes, Usage
from solver.milp.replica_data import replica_usd
from solver.milp.run_slots import run_ways
from solver.milp.sets import Floats, Sets

Monotonic = Callable[[], float]
_STEPS_A_WORKLOAD = 300
_WARMTH = 1e-2
_GAIN = 1e-7
_NEW_KIND = 0.35
_RUNS_ONLY = 0.3
_PART_ONLY = 0.6


@dataclass(slots=True)
class Draft:
    """A plan in the making: the kind and the groups of each demand, the way of each run."""

    kinds: dict[int, int] = field(default_factory=dict)
    groups: dict[int, list[int]] = field(default_factory=dict)
    runs: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """The best draft, and what is bought of each machine for it."""

    draft: Draft
    nodes: dict[int, Nodes]

    @property
    def usd(self) -> float:
        """Add up the machines; data costs are not in it."""
        return sum(one.usd for one in self.nodes.values())


def search(
    sets: Sets,
    hopes: dict[int, list[int]],
    *,
    seed: int,
    ends_at: float,
    enough_usd: float = 0.0,
    clock: Monotonic = time.monotonic,
) -> Found | None:
    """Search for a number of steps, or until a plan costs no more than enough, or the time is up.

    None where nothing fits.

    `hopes` lists the kinds of each demand, the most hopeful first.
    """
    bench = _Bench(sets)
    if not _begin(bench, hopes):
        return None
    draw = random.Random(seed)  # noqa: S311 - a search, not a secret
    best, best_state = bench.usd, bench.saved()
    steps = _STEPS_A_WORKLOAD * (len(hopes) + len(sets.runs))
    for number in range(steps):
        if best <= enough_usd or clock() > ends_at:
            break
        before, was = bench.saved(), bench.usd
        warmth = _WARMTH * best * (1 - number / steps) ** 2
        is_whole = _step(bench, hopes, draw)
        if not is_whole or bench.usd > was - warmth * math.log(draw.random() or 1.0):
            bench.restore(before)
        elif bench.usd < best - _GAIN * max(1.0, best):
            best, best_state = bench.usd, bench.saved()
    bench.restore(best_state)
    return bench.found()


def _begin(bench: "_Bench", hopes: dict[int, list[int]]) -> bool:
    """Place all, the largest first, each with the first of its kinds that fits."""
    order = sorted(hopes, key=lambda demand: -bench.size(hopes[demand][0]))
    return all(
        any(bench.place(demand, kind) for kind in hopes[demand]) for demand in order
    ) and all(bench.do(run) for run in range(len(bench.sets.runs)))


def _step(bench: "_Bench", hopes: dict[int, list[int]], draw: random.Random) -> bool:
    """Take one to three workloads out and put them back; say whether all found a place."""
    runs, demands = list(bench.draft.runs), list(hopes)
    if runs and (not demands or draw.random() < _RUNS_ONLY):
        out_demands: list[int] = []
        out_runs = draw.sample(runs, min(len(runs), draw.choice((1, 1, 2))))
    else:
        out_demands = draw.sample(demands, min(len(demands), draw.choice((1, 1, 2, 3))))
        out_runs = draw.sample(runs, min(len(runs), draw.choice((0, 0, 1, 2))))
    if len(out_demands) == 1 and draw.random() < _PART_ONLY:
        return _move_part(bench, out_demands[0], draw)
    kinds = {
        demand: draw.choice(hopes[demand])
        if draw.random() < _NEW_KIND
        else bench.draft.kinds[demand]
        for demand in out_demands
    }
    for demand in out_demands:
        bench.remove(demand)
    for run in out_runs:
        bench.undo(run)
    jobs = [(0, demand) for demand in out_demands] + [(1, run) for run in out_runs]
    draw.shuffle(jobs)
    skips = draw.choice((0, 0, 1, 2))
    return all(
        bench.do(job) if is_run else bench.place(job, kinds[job], skips=skips)
        for is_run, job in jobs
    )


def _move_part(bench: "_Bench", demand: int, draw: random.Random) -> bool:
    """Move some blocks that follow on each other to one group that is drawn."""
    groups = bench.draft.groups[demand]
    first = draw.randrange(len(groups))
    last = min(len(groups), first + draw.choice((1, 1, 2, 3, 5)))
    return bench.move(
        demand, slice(first, last), draw.choice(bench.members[bench.draft.kinds[demand]])
    )


@dataclass(frozen=True, slots=True)
class _State:
    """All that a step may change."""

    taken: Floats
    base: Floats
    machine_usd: Floats
    data_usd: float
    draft: Draft


class _Bench:
    """A draft with what it takes of each machine, and what that costs."""

    def __init__(self, sets: Sets) -> None:
        self.sets = sets
        self.costs = MachineCosts(sets)
        periods, machines = len(sets.periods), len(sets.machines)
        levels = max((len(own) for own in self.costs.levels), default=0)
        self.taken = np.zeros((4, machines, periods))
        self.base = np.zeros((machines, levels))
        self.machine_usd = np.zeros(machines)
        self.data_usd = 0.0
        self.draft = Draft()
        self.members: dict[int, list[int]] = defaultdict(list)
        for number, group in enumerate(sets.groups):
            self.members[group.kind].append(number)
        self.up = [kind.up() for kind in sets.kinds]
        self.replica_usd = [replica_usd(sets, number) for number in range(len(sets.groups))]
        self.ways = run_ways(sets)

    @property
    def usd(self) -> float:
        return float(self.machine_usd.sum()) + self.data_usd

    def size(self, kind: int) -> float:
        return float(self.up[kind].sum()) * self.sets.kinds[kind].gpus

    def saved(self) -> "_State":
        draft = self.draft
        return _State(
            self.taken.copy(),
            self.base.copy(),
            self.machine_usd.copy(),
            self.data_usd,
            Draft(dict(draft.kinds), dict(draft.groups), dict(draft.runs)),
        )

    def restore(self, saved: "_State") -> None:
        self.taken, self.base = saved.taken, saved.base
        self.machine_usd, self.data_usd = saved.machine_usd, saved.data_usd
        self.draft = saved.draft

    def found(self) -> Found:
        used = np.flatnonzero(self.taken.any(axis=(0, 2)))
        return Found(
            self.draft,
            {
                int(machine): self.costs.nodes(int(machine), self._usage(int(machine)))
                for machine in used
            },
        )

    def _usage(self, machine: int) -> Usage:
        firm, spot, firm_gangs, spot_gangs = self.taken[:, machine]
        return Usage(firm, spot, firm_gangs, spot_gangs, self.base[machine])

    def _price(self, machine: int) -> None:
        self.machine_usd[machine] = self.costs.usd(machine, self._usage(machine))

    def place(self, demand: int, kind: int, *, skips: int = 0) -> bool:
        """Put a demand's blocks where each costs least, one after the other.

        `skips` blocks are placed together at a time, where that is more than one.
        """
        one, up = self.sets.kinds[kind], self.up[kind]
        spot_left = np.array(one.replicas_alone, float) - np.array(one.firm_alone, float)
        groups: list[int] = []
        block = 0
        while block < one.blocks:
            several = slice(block, min(block + 1 + skips, one.blocks))
            replicas = up[several].sum(axis=0)
            best, best_usd = -1, math.inf
            for group in self.members[kind]:
                if self.sets.groups[group].on_spot and (replicas > spot_left + _GAIN).any():
                    continue
                usd = self._usd_with(group, several)
                if usd < best_usd:
                    best, best_usd = group, usd
            if best < 0:
                self._put_off(groups)
                return False
            self._move(best, several, 1.0)
            if self.sets.groups[best].on_spot:
                spot_left -= replicas
            groups.extend([best] * (several.stop - several.start))
            block = several.stop
        self.draft.kinds[demand], self.draft.groups[demand] = kind, groups
        return True

    def move(self, demand: int, blocks: slice, group: int) -> bool:
        """Move blocks to a group; say whether as many stay firm as must."""
        groups = list(self.draft.groups[demand])
        for block in range(blocks.start, blocks.stop):
            self._move(groups[block], slice(block, block + 1), -1.0)
            groups[block] = group
        self._move(group, blocks, 1.0)
        self.draft.groups[demand] = groups
        kind = self.sets.kinds[self.draft.kinds[demand]]
        on_spot = [block for block, at in enumerate(groups) if self.sets.groups[at].on_spot]
        spot = self.up[self.draft.kinds[demand]][on_spot].sum(axis=0)
        most = np.array(kind.replicas_alone, float) - np.array(kind.firm_alone, float)
        return not bool((spot > most + _GAIN).any())

    def remove(self, demand: int) -> None:
        del self.draft.kinds[demand]
        self._put_off(self.draft.groups.pop(demand))

    def _put_off(self, groups: list[int]) -> None:
        for block, group in enumerate(groups):
            self._move(group, slice(block, block + 1), -1.0)

    def _load(self, group: int, blocks: slice) -> tuple[int, int, Floats, Floats]:
        """Give the side, the machine, the GPUs by period and the base that blocks take."""
        one = self.sets.groups[group]
        gpus = self.up[one.kind][blocks].sum(axis=0) * one.gpus
        base = np.zeros(self.base.shape[1])
        if not one.on_spot:
            for place, level in enumerate(self.costs.levels[one.machine]):
                share = self.sets.levels[level].breakeven_utilization
                base[place] = gpus[self._base_period(one.kind, share)]
        return int(one.on_spot), one.machine, gpus, base

    def _base_period(self, kind: int, share: float) -> int:
        known = self.ways.base_periods
        if (kind, share) not in known:
            busy = self.sets.kinds[kind].busy_periods(self.sets.hours, share)
            known[kind, share] = int(busy[0])
        return known[kind, share]

    def _usd_with(self, group: int, blocks: slice) -> float:
        side, machine, gpus, base = self._load(group, blocks)
        firm, spot, firm_gangs, spot_gangs = self.taken[:, machine]
        usage = Usage(
            firm + gpus if side == 0 else firm,
            spot + gpus if side == 1 else spot,
            firm_gangs,
            spot_gangs,
            self.base[machine] + base,
        )
        data_usd = float(self.replica_usd[group][blocks].sum())
        return self.costs.usd(machine, usage) - float(self.machine_usd[machine]) + data_usd

    def _move(self, group: int, blocks: slice, sign: float) -> None:
        side, machine, gpus, base = self._load(group, blocks)
        self.taken[side, machine] += sign * gpus
        self.base[machine] += sign * base
        self.data_usd += sign * float(self.replica_usd[group][blocks].sum())
        self._price(machine)

    def do(self, run: int) -> bool:
        """Give a run the option and the periods that add least to the cost."""
        best: tuple[int, tuple[int, ...]] | None = None
        best_usd = math.inf
        for option in self.ways.options[run]:
            one = self.sets.run_options[option]
            side = 3 if one.option.candidate.on_spot else 2
            by_period = self._gang_usd(option)
            before = self.taken[side, one.machine].copy()
            for periods in self.ways.periods(option, by_period):
                self.taken[side, one.machine, periods] += one.nodes
                usd = self.costs.usd(one.machine, self._usage(one.machine))
                usd += float(one.option.data_usd) - float(self.machine_usd[one.machine])
                self.taken[side, one.machine] = before
                if usd < best_usd:
                    best, best_usd = (option, tuple(periods.tolist())), usd
        if best is None:
            return False
        self._change_run(best, 1.0)
        self.draft.runs[run] = best
        return True

    def undo(self, run: int) -> None:
        self._change_run(self.draft.runs.pop(run), -1.0)

    def _change_run(self, way: tuple[int, tuple[int, ...]], sign: float) -> None:
        one = self.sets.run_options[way[0]]
        side = 3 if one.option.candidate.on_spot else 2
        self.taken[side, one.machine, list(way[1])] += sign * one.nodes
        self.data_usd += sign * float(one.option.data_usd)
        self._price(one.machine)

    def _gang_usd(self, option: int) -> Floats:
        """Say what a gang adds in each period of its window, beside what is bought now."""
        one = self.sets.run_options[option]
        machine, window = self.sets.machines[one.machine], list(one.window)
        offer = machine.spot if one.option.candidate.on_spot else machine.on_demand
        price = float(offer.usd_per_hour) if offer else 1e9
        if one.option.candidate.on_spot:
            return np.asarray(one.nodes * price * self.sets.hours[window])
        usage = self._usage(one.machine)
        bought = self.costs.nodes(one.machine, usage)
        held = np.array(machine.owned, dtype=float)
        for number, nodes in bought.committed.items():
            held = held + nodes * np.array(self.sets.committed[number].active, dtype=float)
        busy = np.ceil(usage.firm_gpus / machine.gpus - _GAIN) + usage.firm_gangs
        idle = np.maximum(held - busy, 0.0)[window]
        return np.asarray(np.maximum(one.nodes - idle, 0.0) * price * self.sets.hours[window])


def kinds_by_demand(sets: Sets) -> dict[int, list[int]]:
    """List the kinds of each demand."""
    kinds: dict[int, list[int]] = defaultdict(list)
    for number, kind in enumerate(sets.kinds):
        kinds[kind.demand].append(number)
    return dict(kinds)
