"""The relaxed program over all kinds, machines and run options, solved over the few that matter.

Under one kind a demand, the duals of a small relaxed program price all that is outside it. A GPU of
a machine outside is worth, period by period, what one of the same model is worth inside, less where
any way to have the machine costs less: so none of its own columns pays (dual feasible). A kind,
spread over its machines as is cheapest, that then costs more than its demand's dual is in no better
relaxed plan; of one that costs less, the machines that make it so are taken in, and so are run
options that cost less than their run's dual. At any time

    bound = relaxed cost + Σ_d min(0, least penalty of a kind of d)
        + Σ_j min(0, least penalty of an option of run j)

holds for all, as each demand has exactly one kind, and each run one option. Where pools may serve a
demand, a kind of one pool counts with the cheapest of the other pool that it may be used with: what
joins them has no price of its own, as that cancels in each such pair.

Where the market is large, like hours are added up (see `coarse`): the duals of a row are those of
the rows that it is the sum of, so price all the same. A few clusters of hours say what is worth to
be looked at and which nodes are to be whole; what costs more is let go; more clusters then say what
the bound is.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from solver.milp.coarse import CLUSTERS, MANY_PERIODS
from solver.milp.market import Inside, Market, first_of
from solver.milp.price_nodes import NodePrices, node_prices, rows_of_family
from solver.milp.program import Program, build_program
from solver.milp.relax import Relaxed, solve_relaxed
from solver.milp.restrict import restricted
from solver.milp.sets import Configuration, Floats, Kind, Sets
from solver.milp.variables import Ints

_Name = tuple[int, Configuration, tuple[float, ...]]
Monotonic = Callable[[], float]

_FIRST_MACHINES = 3
_MORE_KINDS = 4
_MORE_MACHINES = 4
_NEGLIGIBLE = 1e-6
_MANY_GROUPS = 5_000
_MOST_ROUNDS = 60
_ROUNDING_GAIN = 1e-3
_SOLVES_AFTER_ROUNDING = 3


@dataclass(frozen=True, slots=True)
class _Look:
    """How closely to look: at how many clusters of hours, and what share of the bound is near.

    So many options of each run are taken in at once, and what costs more than `far`, a share of the
    bound, is let go of once nothing pays.
    """

    clusters: int | None
    near: float
    options: int
    far: float


_SMALL = (_Look(None, 1e-6, 4, math.inf),)
_LARGE = (_Look(12, 1e-2, 16, 1e-3), _Look(CLUSTERS, 2e-3, 16, 1e-3))
"""A few clusters say what is worth to be looked at; then there are more of them."""


def relaxed_over_all(
    sets: Sets, ends_at: float, clock: Monotonic = time.monotonic, *, rounds_up: bool = True
) -> Relaxed | None:
    """Solve the relaxed program of a case with one kind a demand; None where it has no solution.

    `ends_at` is when to stop: the bound holds, but is not the best. `rounds_up` is to whole nodes.
    """
    return _Search(sets, ends_at, clock, rounds_up=rounds_up).run()


class _Search:
    """Solves a small program, prices the market with it, and takes in what pays, round by round."""

    def __init__(self, sets: Sets, ends_at: float, clock: Monotonic, *, rounds_up: bool) -> None:
        self.market = Market(sets)
        self.ends_at, self.clock = ends_at, clock
        self.machines = _FIRST_MACHINES
        self.inside = self.market.first(self.machines)
        is_large = len(sets.periods) > MANY_PERIODS and len(sets.groups) > _MANY_GROUPS
        self.looks = list(_LARGE if is_large else _SMALL)
        self.inside = self._crossed(self.inside)
        self.rounded_usd = -math.inf
        self.rounds_up = rounds_up

    def run(self) -> Relaxed | None:
        best: Relaxed | None = None
        for _ in range(_MOST_ROUNDS):
            began = self.clock()
            found = _solved(self.market, self.inside, self.ends_at - began, self.looks[0])
            if found is None:
                if not self._widened():
                    return None
                continue
            best = _better(best, found.relaxed)
            took_s = self.clock() - began
            if self.clock() + took_s > self.ends_at or not self._goes_on(found, took_s):
                break
        return best and replace(
            best,
            groups=self.inside.groups,
            options=self.inside.options,
            fills=self.market.sets.fills,
        )

    def _widened(self) -> bool:
        if self.inside.holds(self.market.everything):
            return False
        self.machines *= _MORE_MACHINES
        wider = self.inside.beside(self.market.first(self.machines))
        self.inside = self.market.everything if self.inside.holds(wider) else wider
        return True

    def _goes_on(self, found: "_Found", took_s: float) -> bool:
        if not (self.inside.holds(found.paying) or found.is_near):
            self.inside = self._crossed(self.inside.beside(found.paying))
            return True
        if self.looks[0].clusters is not None:
            self.inside = found.kept(self.market.sets, self.looks[0].far)
        if self._rounded_up(found.relaxed.bound_usd, took_s):
            return True
        self.rounds_up = False
        self.looks.pop(0)
        return bool(self.looks)

    def _rounded_up(self, bound_usd: float, took_s: float) -> bool:
        """Round up what is held in parts of nodes; say whether that is new."""
        gains = bound_usd - self.rounded_usd > _ROUNDING_GAIN * abs(bound_usd)
        self.rounded_usd = bound_usd
        if not (self.rounds_up and gains):
            return False
        inside = self.inside
        program = build_program(restricted(self.market.sets, inside.groups, inside.options))
        ends_at = self.ends_at - _SOLVES_AFTER_ROUNDING * took_s
        return self.market.round_up(program, ends_at, self.clock, self.looks[0].clusters)

    def _crossed(self, inside: Inside) -> Inside:
        return inside if self.looks[0].clusters is None else self.market.crossed(inside)


def _better(best: Relaxed | None, found: Relaxed) -> Relaxed:
    return found if best is None or found.bound_usd >= best.bound_usd else best


@dataclass(frozen=True, slots=True)
class _Found:
    """The relaxed figures of all, and what would lower the cost: `is_near` if hardly."""

    relaxed: Relaxed
    paying: Inside
    is_near: bool
    program: Program

    def kept(self, sets: Sets, far: float) -> Inside:
        """Keep of what it was solved over what its plan uses, or what costs little more."""
        relaxed, most_usd = self.relaxed, far * abs(self.relaxed.bound_usd)
        group_usd = relaxed.kind_penalty_usd[[one.kind for one in sets.groups]]
        if relaxed.group_penalty_usd is not None:
            group_usd = group_usd + relaxed.group_penalty_usd
        return Inside(
            frozenset(one for one in relaxed.groups or () if group_usd[one] <= most_usd),
            frozenset(
                one
                for one in relaxed.options or ()
                if relaxed.option_value[one] > 0 or relaxed.option_penalty_usd[one] <= most_usd
            ),
        )


def _solved(market: Market, inside: Inside, left_s: float, look: _Look) -> _Found | None:
    """Solve the relaxed program of what is inside, and price the rest with its duals."""
    sets = market.sets
    small = restricted(sets, inside.groups, inside.options)
    program = build_program(small)
    solved = solve_relaxed(program, left_s, look.clusters)
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
    paying = Inside(
        frozenset(set().union(*(kinds.used[one] for one in kinds.paying(_MORE_KINDS)))),
        frozenset(options.paying(look.options)),
    )
    is_near = -lost <= look.near * max(1.0, solved.bound_usd)
    return _Found(relaxed, paying, is_near, program)


@dataclass(frozen=True, slots=True)
class _Duals:
    """A solved small program, and over what."""

    solved: Relaxed
    inside: Inside
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
        chosen = first_of(self.owner.tolist(), negative, most=most)
        return [one for one in chosen if np.isfinite(negative[one])]


def _priced_kinds(market: Market, prices: NodePrices, duals: _Duals) -> _Priced:
    sets = market.sets
    position = {_name(kind): number for number, kind in enumerate(duals.program.sets.kinds)}
    demand_usd = duals.of("kind_limit")
    value, penalty = np.zeros(len(sets.kinds)), np.zeros(len(sets.kinds))
    inside = np.full(len(sets.kinds), -np.inf)
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
                inside[number] = duals.solved.kind_penalty_usd[at]
        for group, usd in spread.beside_usd.items():
            beside[group] = usd
        used.append(groups)
    ways = market.pairs.ways(penalty, inside)
    together = (own | used[other] for own, other in zip(used, ways.partner, strict=True))
    return _Priced(market.pairs.owner, value, ways.usd, tuple(together), beside)


def _priced_options(market: Market, prices: NodePrices, duals: _Duals) -> _Priced:
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


def _name(kind: Kind) -> _Name:
    return (kind.demand, kind.configuration, kind.rates)
