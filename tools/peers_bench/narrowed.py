"""Narrower strategies as rivals: our own program, with some of its freedom taken away.

On demand only, one provider, one model of GPU: the choices are taken in the order of what they
would cost without shared nodes; each is solved in half of the time that is left, unless its bound
is above the best plan so far. These are stronger than what a person would do under the same rule,
and need no repair.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from peers_bench.market import Market

from broker.domain.case import Case
from broker.domain.plan import Status
from broker.planning.strategies import Choice, Strategy, unserved
from solver.milp.optimum import Optimum
from solver.milp.solve import Limits

_SHORTEST_S = 1.0
_SHARE = 0.5


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


class Estimate:
    """Guesses what a choice costs: each workload alone where that is cheapest, rented for good."""

    def __init__(self, market: Market) -> None:
        sets = market.sets
        by_workload: list[list[tuple[float, str]]] = [
            [
                (market.replicas_usd(group, needed), sets.machines[market.machine(group)].key)
                for kind in kinds
                for needed in [market.needed(kind)]
                for group in market.firm(kind)
            ]
            for kinds in market.kinds.values()
        ]
        by_workload += [
            [
                (market.run_usd(one), sets.machines[sets.run_options[one].machine].key)
                for one in options
            ]
            for options in market.options.values()
        ]
        self._by_workload = [sorted(ways) for ways in by_workload]

    def __call__(self, choice: Choice) -> float:
        """Add up the workloads; infinity where one can be done on owned or spot nodes only."""
        sold = {offer.machine for offer in choice.case.offers}
        cheapest = (
            next((usd for usd, machine in ways if machine in sold), math.inf)
            for ways in self._by_workload
        )
        return sum(cheapest)


def solve_narrowed(
    strategy: Strategy,
    solver: Solver,
    limits: Limits,
    estimate: Callable[[Choice], float],
) -> Narrowed:
    """Find the best choice of a strategy and its plan, all within the time of the limits."""
    ends_at = time.monotonic() + limits.time_limit_s
    able = [one for one in strategy.choices if not unserved(one.case)]
    best: Optimum | None = None
    chosen: Choice | None = None
    bounds: list[float] = []
    for number, choice in enumerate(sorted(able, key=lambda one: (estimate(one), one.name))):
        at_least = _bound_usd(choice, solver, ends_at, is_only=len(able) == 1)
        left_s = ends_at - time.monotonic()
        is_no_better = best is not None and at_least >= float(best.objective_usd)
        if is_no_better or left_s < _SHORTEST_S:
            bounds += [at_least] if at_least < math.inf else []
            continue
        own_s = left_s if number == len(able) - 1 else _SHARE * left_s
        optimum = solver.optimize(choice.case, replace(limits, time_limit_s=own_s))
        if optimum.status is Status.INFEASIBLE:
            bounds += [max(at_least, float(optimum.bound_usd))] if optimum.ran_out_of_time else []
            continue
        bounds.append(max(at_least, float(optimum.bound_usd)))
        if best is None or optimum.objective_usd < best.objective_usd:
            best, chosen = optimum, choice
    if best is None:
        return Narrowed(None, None, 0.0, "the time was up" if bounds else "no choice has a plan")
    return Narrowed(chosen, best, min(bounds))


def _bound_usd(choice: Choice, solver: Solver, ends_at: float, *, is_only: bool) -> float:
    """Give what a choice costs at least; 0 where it is the only one, or the time is up."""
    if is_only or ends_at - time.monotonic() < _SHORTEST_S:
        return 0.0
    return solver.bound_usd(choice.case)
