"""The market that a small relaxed program is chosen from: what everything in it costs at prices.

Of each demand and run the cheapest few are chosen first; later, what its prices say would pay.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from solver.milp.clusters import Clusters
from solver.milp.column_names import kinds_in, machines_in
from solver.milp.fills import joined
from solver.milp.firm_shares import firm_shares
from solver.milp.pairs import Pairs
from solver.milp.price_nodes import NodePrices, flat_prices
from solver.milp.program import Program
from solver.milp.replica_data import members_usd
from solver.milp.restrict import restricted
from solver.milp.sets import Floats, Sets
from solver.milp.tighten import tighter_fills
from solver.milp.variables import Ints

Monotonic = Callable[[], float]

_FIRST_KINDS = 6
_FIRST_OPTIONS = 4


@dataclass(frozen=True, slots=True)
class Inside:
    """What the small program is solved over: positions of groups and of run options."""

    groups: frozenset[int]
    options: frozenset[int]

    def beside(self, other: "Inside") -> "Inside":
        """Join with another."""
        return Inside(self.groups | other.groups, self.options | other.options)

    def holds(self, other: "Inside") -> bool:
        """Say whether it has all that another has."""
        return other.groups <= self.groups and other.options <= self.options


class Market:
    """What each kind and run option costs at prices of GPUs by machine and period."""

    def __init__(self, sets: Sets, clusters: Clusters | None = None) -> None:
        """Read what may be had; see `look_at`."""
        self.sets = sets
        self.look_at(clusters)
        self.pairs = Pairs.of(sets)
        groups: dict[tuple[int, bool], list[int]] = defaultdict(list)
        for number, group in enumerate(sets.groups):
            groups[group.kind, group.on_spot].append(number)
        self.members = {side: np.array(own) for side, own in groups.items()}
        self.machines = {
            side: np.array([sets.groups[one].machine for one in own])
            for side, own in groups.items()
        }
        self.data_usd = {side: members_usd(sets, own) for side, own in self.members.items()}
        self.base: dict[tuple[int, float], Ints] = {}
        self._read_options()
        self.everything = Inside(
            frozenset(range(len(sets.groups))), frozenset(range(len(sets.run_options)))
        )

    def _read_options(self) -> None:
        """Read the run options as arrays, and which have one window on one side."""
        every, machines = self.sets.run_options, self.sets.machines
        self.option_data_usd = np.array([float(one.option.data_usd) for one in every])
        self.option_machines = np.array([one.machine for one in every], dtype=np.int64)
        self.option_slots = np.array([one.slots_needed for one in every], dtype=np.int64)
        self.option_gpus = np.array([one.nodes * machines[one.machine].gpus for one in every])
        alike: dict[tuple[bool, tuple[int, ...]], list[int]] = defaultdict(list)
        for number, one in enumerate(every):
            alike[one.option.candidate.on_spot, one.window].append(number)
        self.options = {side: np.array(own) for side, own in alike.items()}

    def look_at(self, clusters: Clusters | None) -> None:
        """Add up the periods of each cluster from here on; or none."""
        self.sets = replace(self.sets, clusters=clusters)
        clusters = clusters or Clusters.single(len(self.sets.periods))
        self.flat = flat_prices(self.sets, clusters)
        self._at_flat: AtFlat | None = None
        self.up = [clusters.mean(kind.up()) for kind in self.sets.kinds]

    def restricted(self, inside: Inside) -> Sets:
        """Give the sets of a smaller program."""
        return restricted(self.sets, inside.groups, inside.options)

    def round_up(self, program: Program, ends_at: float, clock: Monotonic) -> bool:
        """Round up what the smaller program holds in parts of nodes; say whether that is new."""
        small = program.sets
        kinds = dict(enumerate(kinds_in(small, self.sets).tolist()))
        machines = dict(enumerate(machines_in(small, self.sets).tolist()))
        fills = tighter_fills(program, ends_at, clock, small.clusters)
        moved = tuple(one.moved(machines, kinds) for one in fills)
        fills = joined((*self.sets.fills, *moved))
        is_new = set(fills) != set(self.sets.fills)
        self.sets = replace(self.sets, fills=fills)
        return is_new

    def first(self, machines: int) -> Inside:
        """Choose the cheapest kinds of each demand on so many of their cheapest machines."""
        at_flat = self.at_flat_prices()
        ways = self.pairs.ways(at_flat.kind_usd)
        cheapest = first_of(self.pairs.owner.tolist(), ways.usd, most=_FIRST_KINDS)
        chosen: set[int] = set()
        for number in self.pairs.with_partners(cheapest, ways):
            chosen |= self._cheapest(number, machines)
        owner = [option.run for option in self.sets.run_options]
        options = first_of(owner, at_flat.option_usd, most=_FIRST_OPTIONS)
        return Inside(frozenset(chosen), frozenset(options))

    def at_flat_prices(self) -> "AtFlat":
        """Cost everything at the cheapest way to have each GPU; once for each look."""
        if self._at_flat is None:
            kind_usd, beside = np.zeros(len(self.sets.kinds)), np.zeros(len(self.sets.groups))
            for number in range(len(kind_usd)):
                spread = self.spread(number, self.flat)
                kind_usd[number] = spread.usd
                beside[list(spread.beside_usd)] = list(spread.beside_usd.values())
            options = self.option_usd(self.flat.gangs, self.flat.spot_gangs, self.flat)
            self._at_flat = AtFlat(kind_usd, beside, options)
        return self._at_flat

    def crossed(self, inside: Inside) -> Inside:
        """Take in whatever puts the kinds inside on the machines inside.

        What is inside but has no kind on it says little of what it is worth to one.
        """
        groups, options = self.sets.groups, self.sets.run_options
        kinds = {groups[one].kind for one in inside.groups}
        machines = {groups[one].machine for one in inside.groups}
        machines |= {options[one].machine for one in inside.options}
        crossed = (
            number
            for number, one in enumerate(groups)
            if one.kind in kinds and one.machine in machines
        )
        return replace(inside, groups=inside.groups | frozenset(crossed))

    def _cheapest(self, kind: int, machines: int) -> set[int]:
        """Choose groups of a kind: so many of the cheapest to commit, to rent, and on spot."""
        chosen: set[int] = set()
        for on_spot, prices in (
            (False, self.flat.firm.sum(axis=1)),
            (False, self.flat.rent),
            (True, self.flat.spot.sum(axis=1)),
        ):
            if (kind, on_spot) in self.members:
                order = np.argsort(prices[self.machines[kind, on_spot]], kind="stable")
                chosen |= set(self.members[kind, on_spot][order[:machines]].tolist())
        return chosen

    def spread(self, number: int, prices: NodePrices) -> "Spread":
        """Cost a kind, block by block on the cheapest of its machines.

        Of what must be firm, only the sum over the horizon is asked for: that costs no more.
        """
        kind = self.sets.kinds[number]
        firm = self._block_usd(number, prices, on_spot=False)
        spot = self._block_usd(number, prices, on_spot=True)
        least_firm, least_spot = (
            side.min(axis=0) if len(side) else np.full(kind.blocks, np.inf) for side in (firm, spot)
        )
        share = firm_shares(kind, self.sets.hours, least_firm, least_spot)
        firm_part = np.where(share > 0, share * np.where(share > 0, least_firm, 0.0), 0.0)
        spot_part = np.where(share < 1, (1 - share) * np.where(share < 1, least_spot, 0.0), 0.0)
        used: set[int] = set()
        beside: dict[int, float] = {}
        for side, usd, least, blocks in (
            (False, firm, least_firm, share > 0),
            (True, spot, least_spot, share < 1),
        ):
            if not len(usd):
                continue
            own = self.members[number, side]
            used |= set(own[usd.argmin(axis=0)[blocks]].tolist())
            either = np.minimum(least_firm, least_spot)
            without = np.where(blocks, least, either)
            more = np.subtract(usd, without, out=usd.copy(), where=np.isfinite(usd)).min(axis=1)
            beside.update(zip(own.tolist(), np.maximum(more, 0.0).tolist(), strict=True))
        rules = (prices.shares, prices.losses)
        credit = sum(one[number].credit_usd for one in rules if number in one)
        total = float((firm_part + spot_part).sum()) - credit
        return Spread(total + prices.fills.kind_usd.get(number, 0.0), used, beside)

    def _block_usd(self, number: int, prices: NodePrices, *, on_spot: bool) -> Floats:
        """Give what each block costs on each group of a market, group by block."""
        machines = self.machines.get((number, on_spot))
        kind = self.sets.kinds[number]
        if machines is None:
            return np.zeros((0, kind.blocks))
        usd = (prices.spot if on_spot else prices.firm)[machines] @ self.up[number].T
        usd = usd * kind.gpus + self.data_usd[number, on_spot]
        if not on_spot:
            for kept in prices.kept:
                at = machines == kept.machine
                if (kept.gpu_usd or kept.node_usd) and at.any():
                    gpus = kind.gpus * kind.up_in(self._base_of(number, kept.share))[:, 0]
                    usd[at] -= kept.usd(gpus, self.sets.machines[kept.machine].gpus)
        return np.asarray(usd + self._rules_usd(number, prices, on_spot=on_spot))

    def _base_of(self, number: int, share: float) -> Ints:
        """Give the base period of a kind, as `steady_level` has it."""
        if (number, share) not in self.base:
            busy = self.sets.kinds[number].busy_periods(self.sets.hours, share)
            self.base[number, share] = busy[:1]
        return self.base[number, share]

    def _rules_usd(self, number: int, prices: NodePrices, *, on_spot: bool) -> Floats:
        """Give what rules over replicas themselves add to each block on each group."""
        kind, members = self.sets.kinds[number], self.members[number, on_spot]
        usd = np.zeros((len(members), kind.blocks))
        for machine, block_usd in prices.fills.block_usd.get((number, on_spot), {}).items():
            usd[self.machines[number, on_spot] == machine] += block_usd
        for rule in (prices.shares, prices.losses):
            if number in rule:
                usd += rule[number].usd(self.sets, members, kind.up())
        if prices.work is not None:
            usd += prices.work.group_usd(self.sets, members, kind.up())
        if prices.zones is not None:
            usd += prices.zones.usd(self.sets, members, kind.up())
        return usd

    def option_usd(self, firm: Floats, spot: Floats, prices: NodePrices) -> Floats:
        """Cost the run options: the cheapest periods of the window that finish the work.

        Prices are by machine and cluster.
        """
        usd = self.option_data_usd.copy()
        for (on_spot, window), own in self.options.items():
            usd[own] += self._cheapest_usd(spot if on_spot else firm, own, window)
        for number in self._by_themselves(prices):
            option = self.sets.run_options[number]
            on_spot = option.option.candidate.on_spot
            by_period = self._a_period(spot if on_spot else firm, number)
            if option.machine in prices.uneven and (on_spot or firm is prices.gangs):
                by_period = prices.uneven[option.machine][on_spot]
            by_period, once = self._with_rules(by_period, number, prices)
            usd[number] = once + np.sort(by_period)[: option.slots_needed].sum()
        return usd

    def _by_themselves(self, prices: NodePrices) -> Iterable[int]:
        """List the options whose periods of one cluster cost not the same."""
        if prices.work is not None:
            return range(len(self.option_gpus))
        uneven = np.isin(self.option_machines, list(prices.uneven))
        return sorted({*prices.fills.gang_usd, *np.flatnonzero(uneven).tolist()})

    def _cheapest_usd(self, prices: Floats, options: Ints, window: tuple[int, ...]) -> Floats:
        """Cost options of one window, whose periods of one cluster cost the same."""
        clusters = self.flat.clusters
        has = np.bincount(clusters.of[list(window)], minlength=len(clusters.count))
        usd = prices[self.option_machines[options]] / clusters.count
        order = np.argsort(usd, axis=1, kind="stable")
        had = has[order].cumsum(axis=1) - has[order]
        taken = np.clip(self.option_slots[options, None] - had, 0, has[order])
        a_period = np.where(taken > 0, np.take_along_axis(usd, order, axis=1), 0.0)
        return np.asarray((taken * a_period).sum(axis=1) * self.option_gpus[options])

    def _a_period(self, prices: Floats, number: int) -> Floats:
        """Give what a GPU costs an option in each period."""
        clusters = self.flat.clusters
        a_period = prices[self.option_machines[number]] / clusters.count
        return np.asarray(a_period[clusters.of])

    def _with_rules(
        self, by_period: Floats, number: int, prices: NodePrices
    ) -> tuple[Floats, float]:
        """Give what an option costs in each period of its window, by all rules, and once."""
        window, once = (
            list(self.sets.run_options[number].window),
            float(self.option_data_usd[number]),
        )
        usd = by_period[window] * self.option_gpus[number]
        if number in prices.fills.gang_usd:
            usd = usd + prices.fills.gang_usd[number][window]
        if prices.work is not None:
            more, more_once = prices.work.option_usd(self.sets, number)
            usd, once = usd + more, once + more_once
        return np.asarray(usd), once


@dataclass(frozen=True, slots=True)
class AtFlat:
    """What kinds, each group beside its kind, and run options cost at the cheapest way to a GPU."""

    kind_usd: Floats
    beside_usd: Floats
    option_usd: Floats


@dataclass(frozen=True, slots=True)
class Spread:
    """What a kind costs at least, the groups that do it, and what each group costs beside that."""

    usd: float
    used: set[int]
    beside_usd: dict[int, float]


def first_of(owner: Sequence[int], usd: Floats, *, most: int) -> list[int]:
    """Choose so many of each owner's, the cheapest first."""
    count: dict[int, int] = defaultdict(int)
    chosen = []
    for number in np.argsort(usd, kind="stable").tolist():
        count[owner[number]] += 1
        if count[owner[number]] <= most:
            chosen.append(number)
    return chosen
