"""The relaxed program over all kinds, machines and run options, solved over the few that matter.

Under one kind a demand, the duals of a small relaxed program price all that is outside it. A GPU of
a machine outside is worth, period by period, what one of the same model is worth inside, less where
any way to have the machine costs less: so none of its own columns pays (dual feasible). A kind,
spread over its machines as is cheapest, that then costs more than its demand's dual is in no better
relaxed plan; of one that costs less, the machines that make it so are taken in, and so are run
options that cost less than their run's dual. At any time

    bound = relaxed cost + Σ_d min(0, least penalty of a kind of d)
        + Σ_j min(0, least penalty of an option of run j)

holds for all, as each demand has exactly one kind, and each run one option.
"""

import math
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from solver.milp.firm_shares import firm_shares
from solver.milp.price_nodes import NodePrices, flat_prices, node_prices, rows_of_family
from solver.milp.program import Program, build_program
from solver.milp.relax import Relaxed, solve_relaxed
from solver.milp.replica_data import members_usd
from solver.milp.restrict import restricted
from solver.milp.sets import Configuration, Floats, Kind, Sets
from solver.milp.tighten import tighter_fills
from solver.milp.variables import Ints

_Name = tuple[int, Configuration, tuple[float, ...]]
Monotonic = Callable[[], float]

_FIRST_KINDS = 6
_FIRST_MACHINES = 3
_FIRST_OPTIONS = 4
_MORE_KINDS = 4
_MORE_OPTIONS = 4
_MORE_MACHINES = 4
_NEGLIGIBLE = 1e-6
_MOST_ROUNDS = 60
_ROUNDING_GAIN = 1e-3
_SOLVES_AFTER_ROUNDING = 3


@dataclass(frozen=True, slots=True)
class _Inside:
    """What the small program is solved over: positions of groups and of run options."""

    groups: frozenset[int]
    options: frozenset[int]

    def beside(self, other: "_Inside") -> "_Inside":
        return _Inside(self.groups | other.groups, self.options | other.options)

    def holds(self, other: "_Inside") -> bool:
        return other.groups <= self.groups and other.options <= self.options


def relaxed_over_all(
    sets: Sets, ends_at: float, clock: Monotonic = time.monotonic, *, rounds_up: bool = True
) -> Relaxed | None:
    """Solve the relaxed program of a case with one kind a demand; None where it has no solution.

    `ends_at` is when to stop: the bound holds, but is not the best. `rounds_up` is to whole nodes.
    """
    market = _Market(sets)
    machines = _FIRST_MACHINES
    inside = market.first(machines)
    best: Relaxed | None = None
    rounded_usd = -math.inf if rounds_up else math.inf
    for _ in range(_MOST_ROUNDS):
        began = clock()
        found = _solved(market.sets, inside, market, ends_at - began)
        if found is None:
            if inside.holds(market.everything):
                return None
            machines *= _MORE_MACHINES
            wider = inside.beside(market.first(machines))
            inside = market.everything if inside.holds(wider) else wider
            continue
        best = _better(best, found.relaxed)
        if clock() > ends_at:
            break
        if not (inside.holds(found.paying) or found.is_near):
            inside = inside.beside(found.paying)
            continue
        bound_usd = found.relaxed.bound_usd
        gains = bound_usd - rounded_usd > _ROUNDING_GAIN * abs(bound_usd)
        rounded_usd = bound_usd
        rounds_end_at = ends_at - _SOLVES_AFTER_ROUNDING * (clock() - began)
        if not gains or not market.round_up(found.program, rounds_end_at, clock):
            break
    return best and replace(
        best, groups=inside.groups, options=inside.options, fills=market.sets.fills
    )


def _better(best: Relaxed | None, found: Relaxed) -> Relaxed:
    return found if best is None or found.bound_usd >= best.bound_usd else best


class _Market:
    """What each kind and run option costs at prices of GPUs by machine and period."""

    def __init__(self, sets: Sets) -> None:
        self.sets = sets
        self.flat = flat_prices(sets)
        self.up = [kind.up() for kind in sets.kinds]
        groups: dict[tuple[int, bool], list[int]] = defaultdict(list)
        for number, group in enumerate(sets.groups):
            groups[group.kind, group.on_spot].append(number)
        self.members = {side: np.array(own) for side, own in groups.items()}
        self.machines = {
            side: np.array([sets.groups[one].machine for one in own])
            for side, own in groups.items()
        }
        self.data_usd = {side: members_usd(sets, own) for side, own in self.members.items()}
        self.everything = _Inside(
            frozenset(range(len(sets.groups))), frozenset(range(len(sets.run_options)))
        )

    def round_up(self, program: Program, ends_at: float, clock: Monotonic) -> bool:
        """Round up what the smaller program holds in parts of nodes; say whether that is new."""
        small = program.sets
        kind_at = {id(one): number for number, one in enumerate(self.sets.kinds)}
        machine_at = {machine.key: number for number, machine in enumerate(self.sets.machines)}
        kinds = {number: kind_at[id(one)] for number, one in enumerate(small.kinds)}
        machines = {number: machine_at[one.key] for number, one in enumerate(small.machines)}
        fills = tighter_fills(program, ends_at, clock)
        moved = tuple(one.moved(machines, kinds) for one in fills)
        is_new = not set(moved) <= set(self.sets.fills)
        self.sets = replace(self.sets, fills=moved)
        return is_new

    def first(self, machines: int) -> _Inside:
        """Choose the cheapest kinds of each demand on so many of their cheapest machines."""
        kind_usd = [self.spread(number, self.flat).usd for number in range(len(self.sets.kinds))]
        chosen: set[int] = set()
        for number in _first_of(
            [kind.demand for kind in self.sets.kinds], np.array(kind_usd), most=_FIRST_KINDS
        ):
            chosen |= self._cheapest(number, machines)
        option_usd = self.option_usd(self.flat.gangs, self.flat.spot_gangs, self.flat)
        owner = [option.run for option in self.sets.run_options]
        return _Inside(
            frozenset(chosen), frozenset(_first_of(owner, option_usd, most=_FIRST_OPTIONS))
        )

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

    def spread(self, number: int, prices: NodePrices) -> "_Spread":
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
        return _Spread(total + prices.fills.kind_usd.get(number, 0.0), used, beside)

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
class _Spread:
    """What a kind costs at least, the groups that do it, and what each group costs beside that."""

    usd: float
    used: set[int]
    beside_usd: dict[int, float]


@dataclass(frozen=True, slots=True)
class _Found:
    """The relaxed figures of all, and what would lower the cost: `is_near` if hardly."""

    relaxed: Relaxed
    paying: _Inside
    is_near: bool
    program: Program


def _solved(sets: Sets, inside: _Inside, market: _Market, left_s: float) -> _Found | None:
    """Solve the relaxed program of what is inside, and price the rest with its duals."""
    small = restricted(sets, inside.groups, inside.options)
    program = build_program(small)
    solved = solve_relaxed(program, left_s)
    if solved is None:
        return None
    prices = node_prices(sets, program, solved, market.flat)
    duals = _Duals(solved, inside, program)
    kinds = _priced_kinds(market, prices, duals)
    options = _priced_options(market, prices, duals)
    least = kinds.least(len(sets.demands)), options.least(len(sets.runs))
    lost = float(least[0].sum() + least[1].sum())
    relaxed = replace(
        solved,
        bound_usd=solved.bound_usd + lost,
        kind_value=kinds.value,
        kind_penalty_usd=np.maximum(kinds.penalty - least[0][kinds.owner], 0.0),
        option_value=options.value,
        option_penalty_usd=np.maximum(options.penalty - least[1][options.owner], 0.0),
        groups=inside.groups,
        options=inside.options,
        group_penalty_usd=kinds.beside_usd,
        alone_penalty_usd=options.beside_usd,
    )
    paying = _Inside(
        frozenset(set().union(*(kinds.used[one] for one in kinds.paying(_MORE_KINDS)))),
        frozenset(options.paying(_MORE_OPTIONS)),
    )
    is_near = -lost <= _NEGLIGIBLE * max(1.0, solved.bound_usd)
    return _Found(relaxed, paying, is_near, program)


@dataclass(frozen=True, slots=True)
class _Duals:
    """A solved small program, and over what."""

    solved: Relaxed
    inside: _Inside
    program: Program

    def of(self, family: str) -> Floats:
        """Give the duals of one family's rows."""
        return rows_of_family(self.program, family, self.solved)


@dataclass(frozen=True, slots=True)
class _Priced:
    """Kinds or options: owner, value inside, penalty, and the groups that make the penalty.

    `beside_usd` is that of each group beside its kind's, or of options without services there.
    """

    owner: Ints
    value: Floats
    penalty: Floats
    used: tuple[set[int], ...] = ()
    beside_usd: Floats | None = None

    def least(self, owners: int) -> Floats:
        """Give the least negative penalty of each owner."""
        least = np.zeros(owners)
        np.minimum.at(least, self.owner, self.penalty)
        return least

    def paying(self, most: int) -> list[int]:
        """List a few of each owner's that would lower the cost."""
        negative = np.where(self.penalty < -_NEGLIGIBLE, self.penalty, np.inf)
        chosen = _first_of(self.owner.tolist(), negative, most=most)
        return [one for one in chosen if np.isfinite(negative[one])]


def _priced_kinds(market: _Market, prices: NodePrices, duals: _Duals) -> _Priced:
    sets = market.sets
    position = {_name(kind): number for number, kind in enumerate(duals.program.sets.kinds)}
    demand_usd = duals.of("kind_limit")
    value, penalty = np.zeros(len(sets.kinds)), np.zeros(len(sets.kinds))
    beside = np.zeros(len(sets.groups))
    used = []
    for number, kind in enumerate(sets.kinds):
        spread = market.spread(number, prices)
        groups = spread.used
        penalty[number] = spread.usd - demand_usd[kind.demand]
        at = position.get(_name(kind))
        if at is not None:
            value[number] = duals.solved.kind_value[at]
            if groups <= duals.inside.groups:
                penalty[number] = max(penalty[number], duals.solved.kind_penalty_usd[at])
        for group, usd in spread.beside_usd.items():
            beside[group] = usd
        used.append(groups)
    owner = np.array([kind.demand for kind in sets.kinds], dtype=np.int64)
    return _Priced(owner, value, penalty, tuple(used), beside)


def _priced_options(market: _Market, prices: NodePrices, duals: _Duals) -> _Priced:
    owner = np.array([option.run for option in market.sets.run_options], dtype=np.int64)
    value = np.zeros(len(owner))
    if not len(owner):
        return _Priced(owner, value, value, beside_usd=value)
    run_usd = duals.of("run_choice")[owner]
    penalty = market.option_usd(prices.gangs, prices.spot_gangs, prices) - run_usd
    alone = market.option_usd(prices.alone, prices.spot_gangs, prices) - run_usd
    inside = np.array(sorted(duals.inside.options), dtype=np.int64)
    value[inside] = duals.solved.option_value
    penalty[inside] = np.maximum(penalty[inside], duals.solved.option_penalty_usd)
    return _Priced(owner, value, penalty, beside_usd=np.maximum(penalty, alone))


def _first_of(owner: list[int], usd: Floats, *, most: int) -> list[int]:
    """Choose so many of each owner's, the cheapest first."""
    count: dict[int, int] = defaultdict(int)
    chosen = []
    for number in np.argsort(usd, kind="stable").tolist():
        count[owner[number]] += 1
        if count[owner[number]] <= most:
            chosen.append(number)
    return chosen


def _name(kind: Kind) -> _Name:
    return (kind.demand, kind.configuration, kind.rates)
