"""Narrower strategies as rivals: our own program, with some of its freedom taken away.

On demand only, one provider, one model of GPU: of every choice the bound is computed first, then
they are solved in the order of their bounds until the next bound is above the best plan, or the
time is up. These are stronger than what a person would do under the same rule, and need no repair.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from broker.domain.case import Case
from broker.domain.plan import Status
from broker.planning.strategies import Choice, Strategy, unserved
from solver.milp.optimize import Optimum
from solver.milp.solve import Limits

_SHORTEST_S = 1.0
_BOUNDS_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Solver:
    """How a case is solved, and its bound computed."""

    optimize: Callable[[Case, Limits], Optimum]
    bound_usd: Callable[[Case], float]


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The best plan of a strategy, its choice, and what no plan of the strategy costs less than.

    Where there is no plan, `why` says why.
    """

    choice: Choice | None
    optimum: Optimum | None
    bound_usd: float
    why: str = ""


def solve_narrowed(strategy: Strategy, solver: Solver, gap: float, seconds: float) -> Narrowed:
    """Find the best choice of a strategy and its plan."""
    begun = time.monotonic()
    best: Optimum | None = None
    chosen: Choice | None = None
    bounds: list[float] = []
    for at_least, choice in _bounded(strategy, solver, begun + _BOUNDS_SHARE * seconds):
        if best is not None and at_least >= float(best.total_usd):
            break
        left_s = begun + seconds - time.monotonic()
        if left_s < _SHORTEST_S:
            bounds.append(at_least)
            continue
        optimum = solver.optimize(choice.case, Limits(gap, left_s))
        if optimum.status is Status.INFEASIBLE:
            bounds += [max(at_least, float(optimum.bound_usd))] if optimum.ran_out_of_time else []
            continue
        bounds.append(float(optimum.bound_usd))
        if best is None or optimum.total_usd < best.total_usd:
            best, chosen = optimum, choice
    why = "" if best is not None else "the time was up" if bounds else "no choice has a plan"
    return Narrowed(chosen, best, min(bounds, default=0.0), why)


def _bounded(strategy: Strategy, solver: Solver, until: float) -> list[tuple[float, Choice]]:
    """List the choices that may have a plan by what they cost at least; 0 where time was short."""
    able = [one for one in strategy.choices if not unserved(one.case)]
    found = []
    for choice in able:
        is_short = len(able) == 1 or time.monotonic() > until
        found.append((0.0 if is_short else solver.bound_usd(choice.case), choice))
    possible = [one for one in found if one[0] < math.inf]
    return sorted(possible, key=lambda one: (one[0], one[1].name))
