"""The search of the joint plan, and of each narrower strategy over its choices.

A strategy is not searched before the joint plan's search has ended: where that plan keeps the
strategy's rules and is proven to the gap, it is the strategy's best plan too, as no narrower plan
costs less than its bound. Until then only the bounds of the choices are computed. So what comes of
a search does not depend on which one ends first.
"""

import math
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from decimal import ROUND_FLOOR, Decimal
from functools import partial

from broker.domain.case import Case
from broker.domain.plan import SMALLEST_GAP, Status
from broker.domain.quantities import MICRO_USD
from broker.planning.bare_plan import bare_plan, keeps_rules
from broker.planning.searches import Budget, Search, Share, Timed, timed_optimize
from broker.planning.strategies import Choice, Strategy, unserved
from solver.milp.optimum import Optimum
from solver.milp.pool import SolverPool
from solver.milp.solve import Limits
from solver.milp.start import Start

_SHORTEST_SOLVE_S = 1.0


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of a strategy: its best choice and the plan of that; None where there is none.

    No plan of the strategy costs less than `bound_usd`. Where no plan was found, `is_settled`
    tells that there is none at all; else the time was up.
    """

    strategy: Strategy
    choice: Choice | None = None
    optimum: Optimum | None = None
    bound_usd: Decimal = Decimal(0)
    is_settled: bool = True

    @property
    def name(self) -> str:
        """Name the strategy, and the choice where there are several."""
        return self.strategy.name.of(self.choice.name if self.choice else "")


@dataclass(frozen=True, slots=True)
class _Bounded:
    """A choice, and the least that it can cost."""

    choice: Choice
    at_least_usd: float


@dataclass(frozen=True, slots=True)
class JointSearch:
    """The search of the joint plan, for whose end the others wait."""

    strategy: Strategy
    limits: Limits
    pool: SolverPool
    budget: Budget
    ended: Future[Compared] = field(default_factory=Future)

    def run(self) -> Search[Compared]:
        """Solve the joint case in its own time, and tell that it has ended."""
        (choice,) = self.strategy.choices
        pending = self.pool.optimize(choice.case, self.limits, is_watched=True)
        yield from self.budget.in_turn(lambda: pending)
        # Waited for even when the time is up: the plan is worth more than the seconds.
        compared = _joint(self.strategy, pending.result())
        self.ended.set_result(compared)
        return compared


@dataclass(frozen=True, slots=True)
class StrategySearches:
    """What the searches of narrower strategies have in common."""

    joint: JointSearch
    limits: Limits
    pool: SolverPool
    budget: Budget

    def run(self, strategy: Strategy) -> Search[Compared]:
        """Find the best choice of a strategy and its plan."""
        able = [one for one in strategy.choices if not unserved(one.case)]
        bounded: list[_Bounded] = []
        while not self.joint.ended.done() and 1 < len(able) > len(bounded):
            bounded.append((yield from self._bound(able[len(bounded)])))
        if not self.joint.ended.done():
            yield self.joint.ended
        known = self._as_joint(strategy)
        if known is not None or not able:
            self.budget.pass_on()
            return known or Compared(strategy)
        while len(bounded) < len(able):
            choice = able[len(bounded)]
            bounded.append((yield from self._bound(choice, is_only=len(able) == 1)))
        possible = [one for one in bounded if one.at_least_usd < math.inf]
        ordered = sorted(possible, key=lambda one: (one.at_least_usd, one.choice.name))
        return (yield from self._searched(strategy, ordered))

    def _bound(self, choice: Choice, *, is_only: bool = False) -> Search[_Bounded]:
        """Find what a choice costs at least: nothing, where it is the only one or time is up."""
        if is_only:
            return _Bounded(choice, 0.0)
        found = yield from self.budget.in_turn(partial(self._begin_bound, choice.case))
        return _Bounded(choice, 0.0 if found is None else found)

    def _begin_bound(self, case: Case) -> Future[float] | None:
        return self.pool.relaxed_bound_usd(case) if self.budget.left_s else None

    def _as_joint(self, strategy: Strategy) -> Compared | None:
        """Take what the joint plan says of a strategy, where that is all there is to say."""
        joint = self.joint.ended.result()
        if joint.optimum is None:
            return Compared(strategy) if joint.is_settled else None
        if joint.optimum.gap_fraction > max(self.limits.gap_fraction, SMALLEST_GAP):
            return None
        for choice in strategy.choices:
            if keeps_rules(joint.optimum, choice.case):
                return Compared(strategy, choice, joint.optimum, joint.bound_usd)
        return None

    def _searched(self, strategy: Strategy, ordered: Sequence[_Bounded]) -> Search[Compared]:
        """Solve choices in the order of their bounds, up to the one that is above the best plan.

        When the time is up the bound tells what was not looked at.
        """
        best, bounds, share = Compared(strategy), list[float](), Share(self.budget)
        limits = self._limits(strategy)
        for one in ordered:
            if _is_no_better(one, best.optimum):
                break
            begin = partial(self._begin, one.choice.case, limits, share)
            timed = yield from self.budget.in_turn(begin)
            if timed is None:
                bounds.append(one.at_least_usd)
                continue
            share.used_s += timed.elapsed_s
            optimum = timed.optimum
            if optimum.status is not Status.INFEASIBLE:
                bounds.append(float(optimum.bound_usd))
                best = _better(best, replace(best, choice=one.choice, optimum=optimum))
            elif optimum.ran_out_of_time:
                bounds.append(max(one.at_least_usd, float(optimum.bound_usd)))
        is_settled = best.optimum is not None or not bounds
        return replace(best, bound_usd=_least(bounds), is_settled=is_settled)

    def _limits(self, strategy: Strategy) -> Limits:
        """Begin where the joint plan ended, where most of its offers are left."""
        joint = self.joint.ended.result()
        if joint.optimum is None or joint.choice is None or len(strategy.choices) > 1:
            return self.limits
        start = Start.of(bare_plan(joint.optimum, joint.choice.case))
        return replace(self.limits, start=start)

    def _begin(self, case: Case, limits: Limits, share: Share) -> Future[Timed] | None:
        left_s = share.left_s
        if left_s < min(_SHORTEST_SOLVE_S, limits.time_limit_s):
            return None
        return self.pool.submit(timed_optimize, case, replace(limits, time_limit_s=left_s))


def _joint(strategy: Strategy, optimum: Optimum) -> Compared:
    if optimum.status is Status.INFEASIBLE:
        is_settled = not optimum.ran_out_of_time
        return Compared(strategy, bound_usd=optimum.bound_usd, is_settled=is_settled)
    return Compared(strategy, strategy.choices[0], optimum, optimum.bound_usd)


def _is_no_better(one: _Bounded, best: Optimum | None) -> bool:
    return best is not None and one.at_least_usd >= float(best.objective_usd)


def _better(best: Compared, found: Compared) -> Compared:
    if best.optimum is None or found.optimum is None:
        return found
    return found if found.optimum.objective_usd < best.optimum.objective_usd else best


def _least(bounds: Sequence[float]) -> Decimal:
    least = max(0.0, min(bounds, default=0.0))
    return Decimal(repr(least)).quantize(MICRO_USD, rounding=ROUND_FLOOR)
