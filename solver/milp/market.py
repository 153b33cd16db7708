"""The market that a small relaxed program is chosen from: what everything in it costs at prices.

Of each demand and run the cheapest few are chosen first; later, what its prices say would pay.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from solver.milp.fills import joined
from solver.milp.firm_shares import firm_shares
from solver.milp.pairs import Pairs
from solver.milp.price_nodes import NodePrices, flat_prices
from solver.milp.program import Program
from solver.milp.replica_data import members_usd
from solver.milp.sets import Floats, Sets
from solver.milp.tighten import tighter_fills

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

    def __init__(self, sets: Sets) -> None:
        self.sets = sets
        self.flat = flat_prices(sets)
        self.up = [kind.up() for kind in sets.kinds]
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
        self.everything = Inside(
            frozenset(range(len(sets.groups))), frozenset(range(len(sets.run_options)))
        )

    def round_up(
        self, program: Program, ends_at: float, clock: Monotonic, clusters: int | None
    ) -> bool:
        """Round up what the smaller program holds in parts of nodes; say whether that is new."""
        small = program.sets
        kind_at = {id(one): number for number, one in enumerate(self.sets.kinds)}
        machine_at = {machine.key: number for number, machine in enumerate(self.sets.machines)}
        kinds = {number: kind_at[id(one)] for number, one in enumerate(small.kinds)}
        machines = {number: machine_at[one.key] for number, one in enumerate(small.machines)}
        fills = tighter_fills(program, ends_at, clock, clusters)
        moved = tuple(one.moved(machines, kinds) for one in fills)
        fills = joined((*self.sets.fills, *moved))
        is_new = set(fills) != set(self.sets.fills)
        self.sets = replace(self.sets, fills=fills)
        return is_new

    def first(self, machines: int) -> Inside:
        """Choose the cheapest kinds of each demand on so many of their cheapest machines."""
        kind_usd = [self.spread(number, self.flat).usd for number in range(len(self.sets.kinds))]
        ways = self.pairs.ways(np.array(kind_usd))
        cheapest = first_of(self.pairs.owner.tolist(), ways.usd, most=_FIRST_KINDS)
        chosen: set[int] = set()
        for number in self.pairs.with_partners(cheapest, ways):
            chosen |= self._cheapest(number, machines)
        option_usd = self.option_usd(self.flat.gangs, self.flat.spot_gangs, self.flat)
        owner = [option.run for option in self.sets.run_options]
        return Inside(
            frozenset(chosen), frozenset(first_of(owner, option_usd, most=_FIRST_OPTIONS))
        )

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
            more = (usd - np.where(blocks, least, either)).min(axis=1)
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
                    base = kind.busy_periods(self.sets.hours, kept.share)[0]
                    gpus = kind.gpus * self.up[number][:, base]
                    usd[at] -= kept.usd(gpus, self.sets.machines[kept.machine].gpus)
        return np.asarray(usd + self._rules_usd(number, prices, on_spot=on_spot))

    def _rules_usd(self, number: int, prices: NodePrices, *, on_spot: bool) -> Floats:
        """Give what rules over replicas themselves add to each block on each group."""
        members, up = self.members[number, on_spot], self.up[number]
        usd = np.zeros((len(members), len(up)))
        for machine, block_usd in prices.fills.block_usd.get((number, on_spot), {}).items():
            usd[self.machines[number, on_spot] == machine] += block_usd
        for rule in (prices.shares, prices.losses):
            if number in rule:
                usd += rule[number].usd(self.sets, members, up)
        if prices.work is not None:
            usd += prices.work.group_usd(self.sets, members, up)
        if prices.zones is not None:
            usd += prices.zones.usd(self.sets, members, up)
        return usd

    def option_usd(self, firm: Floats, spot: Floats, prices: NodePrices) -> Floats:
        """Cost the run options: the cheapest periods of the window that finish the work."""
        usd = np.zeros(len(self.sets.run_options))
        for number, option in enumerate(self.sets.run_options):
            by_period = (spot if option.option.candidate.on_spot else firm)[
                option.machine, list(option.window)
            ]
            by_period = by_period * (option.nodes * self.sets.machines[option.machine].gpus)
            if number in prices.fills.gang_usd:
                by_period = by_period + prices.fills.gang_usd[number][list(option.window)]
            once = float(option.option.data_usd)
            if prices.work is not None:
                more, more_once = prices.work.option_usd(self.sets, number)
                by_period, once = by_period + more, once + more_once
            usd[number] = np.sort(by_period)[: option.slots_needed].sum() + once
        return usd


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
