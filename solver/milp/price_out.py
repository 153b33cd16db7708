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

Before any program is solved the cheapest way to have each GPU is a price for all: the cheapest kind
of each demand and option of each run at those is a bound, too. It counts where there is no time for
more.

Where the market is large, like hours are added up (see `coarse`): the duals of a row are those of
the rows that it is the sum of, so price all the same. A few clusters of hours say what is worth to
be looked at, more of them which nodes are to be whole, and still more what the bound is: only that
is waited for. What costs more is let go in between.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from broker.domain.policy import Sharing
from solver.milp.alike_periods import CLUSTERS, MANY_PERIODS, clusters_of
from solver.milp.clusters import Clusters
from solver.milp.column_names import column_names
from solver.milp.ended import Ended
from solver.milp.flat_bound import flat_bound
from solver.milp.market import Inside, Market, first_of
from solver.milp.price_nodes import NodePrices, node_prices, rows_of_family
from solver.milp.program import Program, build_program
from solver.milp.relax import Relaxed, solve_grown, solve_relaxed
from solver.milp.sets import Configuration, Floats, Kind, Sets
from solver.milp.variables import Ints

_Name = tuple[int, Configuration, tuple[float, ...]]
Monotonic = Callable[[], float]

_FIRST_MACHINES = 3
_MORE_KINDS = 4
_MORE_MACHINES = 4
_NEGLIGIBLE = 1e-6
_MANY_GROUPS = 500
_HUGE_GROUPS = 3_000_000
_MOST_ROUNDS = 60
_ROUNDING_GAIN = 1e-3
_SOLVES_AFTER_ROUNDING = 3
_SETTLED = 1e-3
_PROVEN = 0.985
"""A look is enough for the next one once its plan changes by so little, and so much is proven."""
_IN_PARTS = 1e-4
"""Rounded up is what costs no more than such a share of the bound, so that it is soon done."""


@dataclass(frozen=True, slots=True)
class _Look:
    """How closely to look: at how many clusters of hours, and what share of the bound is near.

    So many options of each run are taken in at once, also those that cost up to a share `almost`
    more than they pay. At its end, groups that cost more than `far`, a share too, are let go of.
    The next look proves nothing more unless it has `next_takes` times as long.
    """

    clusters: int | None
    near: float
    options: int
    far: float
    almost: float = 0.0
    rounds_up: bool = True
    next_takes: float = 0.0

    def at(self, sets: Sets) -> Clusters | None:
        """Say which periods are added up; None where none are, or services and runs are apart."""
        is_split = sets.case.workloads.policy.sharing is Sharing.SPLIT
        if self.clusters is None or is_split:
            return None
        return clusters_of(sets, self.clusters)


_SMALL = (_Look(None, 1e-6, 4, math.inf),)
_LARGE = (
    _Look(12, 1e-2, 16, 1e-3, 5e-4, rounds_up=False, next_takes=4.0),
    _Look(24, 2e-3, 32, 1e-3, 2e-3),
    _Look(CLUSTERS, 2e-3, 32, 1e-3, 2e-3),
)
"""A few clusters say what is worth to be looked at, more which nodes are to be whole."""
_FIRST_OF_HUGE = _Look(4, 5e-2, 16, 1e-3, 5e-4, rounds_up=False)
"""Where the first rounds would take most of the time, still fewer say nearly the same of most."""


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
        is_large = len(sets.periods) > MANY_PERIODS and len(sets.groups) > _MANY_GROUPS
        self.looks = list(_LARGE if is_large else _SMALL)
        if is_large and len(sets.groups) > _HUGE_GROUPS:
            self.looks.insert(0, _FIRST_OF_HUGE)
        self.market = Market(sets, self.looks[0].at(sets))
        self.ends_at, self.clock = ends_at, clock
        self.machines = _FIRST_MACHINES
        self.inside = self.market.first(self.machines)
        self.inside = self._crossed(self.inside)
        self.look_began = clock()
        self.rounded_usd = -math.inf
        self.usd = math.inf
        self.rounds_up = rounds_up
        self.ended: Ended | None = None

    def run(self) -> Relaxed | None:
        best = flat_bound(self.market)
        for _ in range(_MOST_ROUNDS):
            looked = self._look_again(best)
            if looked is not None:
                best, goes_on = looked
                if not goes_on:
                    break
            elif not self._widened():
                return None
        return replace(
            best,
            groups=self.inside.groups,
            options=self.inside.options,
            fills=self.market.sets.fills,
        )

    def _look_again(self, best: Relaxed) -> tuple[Relaxed, bool] | None:
        """Solve a round; give the best so far, and whether to go on. Its program is let go of."""
        began = self.clock()
        left_s = self.ends_at - began
        found = _solved(self.market, self.inside, self.ended, self.looks[0], left_s=left_s)
        if found is None:
            return None
        self.ended = found.solved.ended
        best = _better(best, found.relaxed)
        took_s = self.clock() - began
        is_late = self.clock() + took_s > self.ends_at
        return best, not is_late and self._goes_on(replace(found, took_s=took_s), best)

    def _widened(self) -> bool:
        if self.inside.holds(self.market.everything):
            return False
        self.machines *= _MORE_MACHINES
        wider = self.inside.beside(self.market.first(self.machines))
        self.inside = self.market.everything if self.inside.holds(wider) else wider
        return True

    def _goes_on(self, found: "_Found", best: Relaxed) -> bool:
        look, is_last = self.looks[0], len(self.looks) == 1
        is_done = self.inside.holds(found.paying) or found.is_near
        if not (is_done or (not is_last and self._has_settled(found, best))):
            self.inside = self._crossed(self.inside.beside(found.paying))
            return True
        rounded, self.ended = self.inside, None
        if look.clusters is not None:
            rounded, near = found.kept(_IN_PARTS), found.kept(look.far)
            self.inside = replace(self.inside, groups=near.groups)
        is_new = self.rounds_up and look.rounds_up and self._rounded_up(rounded, found)
        if is_last:
            return is_new
        now = self.clock()
        if self.ends_at - now < look.next_takes * (now - self.look_began):
            return False
        self.look_began = now
        self.looks.pop(0)
        self.usd = math.inf
        self.market.look_at(self.looks[0].at(self.market.sets))
        return True

    def _has_settled(self, found: "_Found", best: Relaxed) -> bool:
        """Say whether the plan costs as much as before: to prove it may take many more rounds."""
        usd = found.solved.bound_usd
        was, self.usd = self.usd, usd
        return was - usd < _SETTLED * abs(usd) and best.bound_usd > _PROVEN * usd

    def _rounded_up(self, inside: Inside, found: "_Found") -> bool:
        """Round up what is held in parts of nodes inside; say whether that is new."""
        usd = found.solved.bound_usd
        gains = usd - self.rounded_usd > _ROUNDING_GAIN * abs(usd)
        self.rounded_usd = usd
        if not gains:
            return False
        program = build_program(self.market.restricted(inside))
        ends_at = self.ends_at - _SOLVES_AFTER_ROUNDING * found.took_s
        return self.market.round_up(program, ends_at, self.clock)

    def _crossed(self, inside: Inside) -> Inside:
        return inside if self.looks[0].clusters is None else self.market.crossed(inside)


def _better(best: Relaxed, found: Relaxed) -> Relaxed:
    return found if found.bound_usd >= best.bound_usd else best


@dataclass(frozen=True, slots=True)
class _Found:
    """The relaxed figures of all and of what is inside, and what would lower the cost.

    `is_near` if hardly.
    """

    relaxed: Relaxed
    solved: Relaxed
    inside: Inside
    paying: Inside
    is_near: bool
    program: Program
    took_s: float = 0.0

    def kept(self, far: float) -> Inside:
        """Keep of what it was solved over what its plan uses, or what costs little more."""
        solved, small = self.solved, self.program.sets
        replicas = self.program.columns.replicas.of(solved.reduced_usd)
        usd = [
            solved.kind_penalty_usd[one.kind] + own[: small.kinds[one.kind].blocks].min()
            for one, own in zip(small.groups, replicas, strict=True)
        ]
        is_used = solved.option_value > 0
        most_usd = far * max(1.0, abs(solved.bound_usd))
        groups, options = sorted(self.inside.groups), sorted(self.inside.options)
        return Inside(
            frozenset(groups[at] for at in np.flatnonzero(np.array(usd) <= most_usd)),
            frozenset(
                options[at]
                for at in np.flatnonzero(is_used | (solved.option_penalty_usd <= most_usd))
            ),
        )


def _solved(
    market: Market, inside: Inside, before: Ended | None, look: _Look, *, left_s: float
) -> _Found | None:
    """Solve the relaxed program of what is inside, and price the rest with its duals.

    The better of two prices counts: those of the duals, and where nothing is bought as outside.
    """
    program = build_program(market.restricted(inside))
    if market.sets.clusters is None:
        solved = solve_relaxed(program, left_s)
    else:
        own = sorted(inside.groups), sorted(inside.options)
        naming = partial(column_names, program, market=market.sets, inside=own)
        solved = solve_grown((program, market.sets.clusters), naming, before, left_s)
    if solved is None:
        return None
    duals = _Duals(solved, inside, program)
    found = _priced(market, duals, look, only_used=False)
    if look.clusters is None:
        return found
    other = _priced(market, duals, look, only_used=True)
    if other.relaxed.bound_usd <= found.relaxed.bound_usd:
        return found
    return replace(other, paying=other.paying.beside(found.paying))


def _priced(market: Market, duals: "_Duals", look: _Look, *, only_used: bool) -> _Found:
    sets, solved, inside = market.sets, duals.solved, duals.inside
    prices = node_prices(sets, duals.program, solved, market.flat, only_used=only_used)
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
        frozenset(options.paying(look.options, look.almost * abs(solved.bound_usd))),
    )
    is_near = -lost <= look.near * max(1.0, solved.bound_usd)
    return _Found(relaxed, solved, inside, paying, is_near, duals.program)


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

    def paying(self, most: int, almost_usd: float = 0.0) -> list[int]:
        """List a few of each owner's that would lower the cost, or would if they cost less."""
        negative = np.where(self.penalty < almost_usd - _NEGLIGIBLE, self.penalty, np.inf)
        chosen = first_of(self.owner.tolist(), negative, most=most)
        return [one for one in chosen if np.isfinite(negative[one])]


def _priced_kinds(market: Market, prices: NodePrices, duals: _Duals) -> _Priced:
    sets = market.sets
    position = {_name(kind): number for number, kind in enumerate(duals.program.sets.kinds)}
    demand_usd = duals.of("kind_limit")
    value, penalty = np.zeros(len(sets.kinds)), np.zeros(len(sets.kinds))
    inside = np.full(len(sets.kinds), -np.inf)
    beside = np.zeros(len(sets.groups))
    within = (sets.groups[one] for one in duals.inside.groups)
    repriced = {one.kind for one in within if one.machine in prices.as_if_outside}
    used = []
    for number, kind in enumerate(sets.kinds):
        spread = market.spread(number, prices)
        groups = spread.used
        penalty[number] = spread.usd - demand_usd[kind.demand]
        at = position.get(_name(kind))
        if at is not None:
            value[number] = duals.solved.kind_value[at]
            if groups <= duals.inside.groups and number not in repriced:
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
    by_duals = np.where(
        np.isin(market.option_machines[inside], list(prices.as_if_outside)),
        -np.inf,
        duals.solved.option_penalty_usd,
    )
    penalty[inside] = np.maximum(penalty[inside], by_duals)
    return _Priced(owner, value, penalty, beside_usd=np.maximum(penalty, alone))


def _name(kind: Kind) -> _Name:
    return (kind.demand, kind.configuration, kind.rates)
