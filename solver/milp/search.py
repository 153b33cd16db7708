"""A search over a program with rows of its own: what looks good first, then all that can be better.

It is `optimize` for programs that are more than their case: the rows go into every smaller program
too, so that its steps stay exact.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal

from broker.domain.case import Case
from broker.domain.plan import Status
from broker.domain.quantities import MICRO_USD
from solver.milp.build import build_sets
from solver.milp.narrow import possible, promising
from solver.milp.optimum import Optimum, optimum_of
from solver.milp.program import Program, to_proto
from solver.milp.relax import Relaxed, solve_relaxed
from solver.milp.restrict import restricted
from solver.milp.sets import Group, Sets, has_hopeless_workload, with_one_kind
from solver.milp.solve import Limits, Outcome, Solution, solve_model

Build = Callable[[Sets], Program | None]
"""Makes the program of some sets with the rows of the search; None where it has no plan."""

_FIRST_SHARE = 0.4
_SHORTEST_S = 1.0


@dataclass(frozen=True, slots=True)
class _Found:
    """A program and its solution."""

    program: Program
    solution: Solution

    @property
    def usd(self) -> float:
        return float(self.program.cost @ self.solution.values)


def search(
    case: Case,
    build: Build,
    limits: Limits,
    *,
    keep: str = "",
    clock: Callable[[], float] = time.monotonic,
) -> Optimum:
    """Plan a case to the gap or the time limit; no pruning is done here.

    No smaller program goes without what the machine `keep` has.
    """
    ends_at = clock() + limits.time_limit_s
    program, relaxed = _relaxed(build, case)
    if program is None or relaxed is None:
        return no_plan(0.0, ran_out_of_time=False)
    known = _first(program, relaxed, build, limits, keep=keep)
    if known is not None and _is_within(known.usd, relaxed.bound_usd, limits):
        return _optimum(known, relaxed.bound_usd, limits)
    rest: Program | None = program
    beyond_usd = math.inf
    if known is not None:
        better = possible(program.sets, relaxed, known.usd)
        beyond_usd = better.beyond_usd
        rest = build(_with_machine(program.sets, better.sets, keep))
    if rest is None or has_hopeless_workload(rest.sets):
        if known is None:
            return no_plan(0.0, ran_out_of_time=False)
        return _optimum(known, min(known.usd, beyond_usd), limits)
    left = replace(limits, time_limit_s=max(ends_at - clock(), _SHORTEST_S))
    solution = solve_model(to_proto(rest).SerializeToString(), left)
    return _better(known, _Found(rest, solution), (relaxed.bound_usd, beyond_usd), limits)


def no_plan(bound_usd: float, *, ran_out_of_time: bool) -> Optimum:
    """Say that there is no plan, or that none was found in the time."""
    bound = Decimal(repr(max(0.0, bound_usd))).quantize(MICRO_USD, rounding=ROUND_FLOOR)
    return Optimum(
        status=Status.INFEASIBLE,
        total_usd=Decimal(0),
        bound_usd=bound,
        gap_fraction=1.0 if ran_out_of_time else 0.0,
        ran_out_of_time=ran_out_of_time,
    )


def _relaxed(build: Build, case: Case) -> tuple[Program | None, Relaxed | None]:
    program = build(build_sets(case))
    if program is None or has_hopeless_workload(program.sets):
        return None, None
    return program, solve_relaxed(program)


def _first(
    program: Program, relaxed: Relaxed, build: Build, limits: Limits, *, keep: str
) -> _Found | None:
    """Plan with what looks good, for a part of the time; one kind a demand is found soonest."""
    whole: Program | None = program
    guide: Relaxed | None = relaxed
    if not program.sets.has_one_kind:
        whole, guide = _relaxed(build, with_one_kind(program.sets.case))
    if whole is None or guide is None:
        return None
    good = promising(whole.sets, guide, limits.start)
    narrow = build(_with_machine(whole.sets, good, keep))
    if narrow is None or has_hopeless_workload(narrow.sets):
        return None
    part = replace(limits, time_limit_s=limits.time_limit_s * _FIRST_SHARE)
    solution = solve_model(to_proto(narrow).SerializeToString(), part)
    return _Found(narrow, solution) if _is_plan(solution) else None


def _with_machine(whole: Sets, part: Sets, machine: str) -> Sets:
    """Put back all groups and run options of a machine that the whole sets have."""
    groups = {_name_of(part, one) for one in part.groups}
    options = {id(one.option) for one in part.run_options}
    return restricted(
        whole,
        [
            number
            for number, one in enumerate(whole.groups)
            if whole.machines[one.machine].key == machine or _name_of(whole, one) in groups
        ],
        [
            number
            for number, one in enumerate(whole.run_options)
            if whole.machines[one.machine].key == machine or id(one.option) in options
        ],
    )


def _name_of(sets: Sets, group: Group) -> tuple[object, ...]:
    kind = sets.kinds[group.kind]
    return (kind.demand, kind.configuration, kind.rates, id(group.option))


def _better(
    known: _Found | None, found: _Found, least_usd: tuple[float, float], limits: Limits
) -> Optimum:
    """Take the better plan; `least_usd` is what any costs, and what any beyond the program does."""
    all_usd, beyond_usd = least_usd
    solution = found.solution
    if not _is_plan(solution):
        is_done = solution.outcome is Outcome.INFEASIBLE
        if known is None:
            return no_plan(max(solution.bound_usd, all_usd), ran_out_of_time=not is_done)
        usd = min(known.usd, beyond_usd) if is_done else all_usd
        return _optimum(known, max(usd, all_usd), limits)
    best = found if known is None or found.usd <= known.usd else known
    bound_usd = min(solution.bound_usd, beyond_usd, best.usd)
    return _optimum(best, max(all_usd, bound_usd), limits)


def _optimum(found: _Found, bound_usd: float, limits: Limits) -> Optimum:
    return optimum_of(found.program, replace(found.solution, bound_usd=bound_usd), limits)


def _is_plan(solution: Solution) -> bool:
    return solution.outcome in (Outcome.OPTIMAL, Outcome.FEASIBLE)


def _is_within(usd: float, bound_usd: float, limits: Limits) -> bool:
    return usd - bound_usd <= limits.gap_fraction * usd
