"""From a case to its cheapest plan's parts, with the bound that proves how far it can be off.

Prune exactly; solve the relaxed program for a bound and penalties; find a good plan among what
looks promising; drop what can be in no better plan; solve the rest to the gap. The bound holds for
the whole case, as every step drops only what cannot be cheaper.
"""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial

from broker.domain.case import Case
from broker.domain.plan import (
    SMALLEST_GAP,
    Status,
)
from solver.milp.begun import plan_begun
from solver.milp.branch import branch
from solver.milp.build import build_sets
from solver.milp.churn import weighs_churn
from solver.milp.extract_churn import churn_cost_lines
from solver.milp.first_plan import enough_usd, first_plan, is_plan
from solver.milp.floor import at_floor
from solver.milp.known import Known, better
from solver.milp.memory import give_back
from solver.milp.narrow import Rest, possible, promising
from solver.milp.optimum import Optimum, none, optimum_of, over_scenarios, proven
from solver.milp.placed_better import placed_better
from solver.milp.price_out import relaxed_over_all
from solver.milp.program import Program, build_program, to_proto
from solver.milp.prune import prune
from solver.milp.refined import refined
from solver.milp.relax import Relaxed, solve_relaxed
from solver.milp.scenarios.search import Ways, joint_bound_usd, solve_joint
from solver.milp.sets import Floats, Sets, has_hopeless_workload, with_one_kind
from solver.milp.solve import Limits, Outcome, Solution, solve_model
from solver.milp.targets import lacks_commitments, without_targets
from solver.milp.tenants import sold_as
from solver.milp.watch import Watch

Monotonic = Callable[[], float]
_Found = tuple[Known | None, float, bool]
"""A plan, the bound, and whether the search is done."""
_Job = Callable[[Limits], _Found]
_FIRST_PLAN_SHARE = 0.25
_RELAXED_SHARE = 0.4
_SHORTEST_SOLVE_S = 1.0
_WORTH = 0.1
"""Where all but this part of the gap is beyond what can be branched on, `branch` proves nothing."""
_SAME = 1e-6
"""A bound above a known plan by such a share of it is rounding."""
_FREE_SHARE = 0.6
"""So much of the time a plan is looked for as if no moved node counted, where they do."""
_SOLVER_SHARE = 0.85
"""The solver looks at the clock now and then only; so much of the time left it is given."""
_BRANCH_SHARE = 0.95
_REFINE_SHARE = 0.2
_REFINE_NODES = 50
"""So many that the time is not up, mostly: then the same file gives the same plan."""


def optimize(
    case: Case,
    limits: Limits,
    clock: Monotonic = time.monotonic,
    watch: Watch | None = None,
) -> Optimum:
    """Plan a case to the gap, the time limit, or until whoever watches ends the search.

    A demand or run without any option has no plan at all, nor has a share of commitments where
    there are none; then no solver is asked.
    """
    watch = watch or Watch()
    if lacks_commitments(case):
        return none(0.0, ran_out_of_time=False)
    robust = case.workloads.policy.robust
    if robust is not None:
        ways = Ways(partial(_alone, clock=clock), _bounded_usd, clock)
        solved = solve_joint(case, robust, limits, ways=ways, watch=watch)
        return over_scenarios(solved, limits)
    if weighs_churn(case):
        return _beside_one_in_force(case, limits, clock, watch)
    return _optimized(case, limits, clock, watch)


def _beside_one_in_force(case: Case, limits: Limits, clock: Monotonic, watch: Watch) -> Optimum:
    """Plan as if no move counted, which is pruned further and bounds; then, if need be, as it does.

    The better of the two plans is taken, with the moves that it has.
    """
    ends_at = clock() + limits.time_limit_s
    bound_only = Watch(lambda _, bound_usd: watch.saw(bound_usd=bound_usd), watch.is_ended)
    part = _left(limits, limits.time_limit_s * _FREE_SHARE)
    free = _optimized(replace(case, in_force=None), part, clock, bound_only)
    counted = _with_churn(case, free, limits)
    is_none = free.status is Status.INFEASIBLE and not free.ran_out_of_time
    if is_none or counted.status is Status.OPTIMAL or watch.is_ended():
        return counted
    whole = _optimized(case, _left(limits, ends_at - clock()), clock, watch)
    return _better_of(counted, whole, limits)


def _with_churn(case: Case, free: Optimum, limits: Limits) -> Optimum:
    """Count the moves of a plan that was made as if none did."""
    if free.status is Status.INFEASIBLE:
        return free
    lines = free.cost_lines + churn_cost_lines(case, free.purchases)
    total = sum((line.usd for line in lines), Decimal(0))
    return proven(replace(free, cost_lines=lines, total_usd=total), free.bound_usd, limits)


def _better_of(one: Optimum, other: Optimum, limits: Limits) -> Optimum:
    """Take the cheaper of two plans of a case, at the better of their bounds."""
    bound_usd = max(one.bound_usd, other.bound_usd)
    plans = [plan for plan in (one, other) if plan.status is not Status.INFEASIBLE]
    if not plans:
        return replace(other, bound_usd=bound_usd)
    return proven(min(plans, key=lambda plan: plan.total_usd), bound_usd, limits)


def _optimized(case: Case, limits: Limits, clock: Monotonic, watch: Watch) -> Optimum:
    ends_at = clock() + limits.time_limit_s
    pruned = prune(case)
    sets = build_sets(pruned.case)
    if has_hopeless_workload(sets):
        return none(0.0, ran_out_of_time=False)
    relaxed = _relaxed(sets, clock() + limits.time_limit_s * _RELAXED_SHARE, clock)
    if relaxed is None:
        return none(0.0, ran_out_of_time=False)
    give_back()
    watch.saw(bound_usd=relaxed.bound_usd)
    sets = replace(sets, fills=relaxed.fills)
    known = _first_plan(sets, relaxed, _left(limits, ends_at - clock()), clock)
    if known is not None:
        watch.saw(best_usd=known.usd)
    least_usd = relaxed.bound_usd
    job = _next(sets, relaxed, known, limits=limits, watch=watch)
    del sets, relaxed, known  # what the job does not hold is let go of: of a large market, much
    give_back()
    known, bound_usd, is_done = job(_left(limits, ends_at - clock()))
    if known is None:
        return none(bound_usd, ran_out_of_time=not is_done)
    solution = replace(known.solution, bound_usd=max(bound_usd, least_usd))
    return replace(optimum_of(known.program, solution, limits), outbid=_outbid(case, pruned.case))


def _alone(case: Case, limits: Limits, *, clock: Monotonic) -> tuple[Program, Floats] | None:
    """Plan a case of one course, for a start: nothing is proven of it."""
    sets = build_sets(prune(case).case)
    ends_at = clock() + limits.time_limit_s
    if has_hopeless_workload(sets):
        return None
    relaxed = _relaxed(sets, clock() + limits.time_limit_s * _RELAXED_SHARE, clock)
    if relaxed is None:
        return None
    sets = replace(sets, fills=relaxed.fills)
    left = _left(limits, (ends_at - clock()) / _FIRST_PLAN_SHARE)
    known = _first_plan(sets, relaxed, left, clock)
    return None if known is None else (known.program, known.solution.values)


def _bounded_usd(sets: Sets, seconds: float) -> float:
    """Give what some sets cost at least; infinity where they have no plan."""
    clock = time.monotonic
    relaxed = _relaxed(sets, clock() + seconds, clock)
    return math.inf if relaxed is None else relaxed.bound_usd


def _outbid(case: Case, pruned: Case) -> frozenset[str]:
    before, after = (
        {sold_as(some, one.machine) for one in some.serving}
        | {sold_as(some, one.machine) for one in some.training}
        for some in (case, pruned)
    )
    return frozenset(before - after)


def relaxed_bound_usd(case: Case) -> float:
    """Give what a case costs at least; infinity where it has no plan."""
    robust = case.workloads.policy.robust
    if robust is not None:
        return joint_bound_usd(case, robust, _bounded_usd)
    sets = build_sets(prune(case).case)
    if has_hopeless_workload(sets):
        return math.inf
    relaxed = _relaxed(sets, math.inf, time.monotonic, rounds_up=False)
    return math.inf if relaxed is None else relaxed.bound_usd


def _relaxed(
    sets: Sets, ends_at: float, clock: Monotonic, *, rounds_up: bool = True
) -> Relaxed | None:
    if sets.has_one_kind:
        at_least = without_targets(at_floor(sets))
        return relaxed_over_all(at_least, ends_at, clock, rounds_up=rounds_up)
    return solve_relaxed(build_program(sets), ends_at - clock())


def _first_plan(sets: Sets, relaxed: Relaxed, limits: Limits, clock: Monotonic) -> Known | None:
    """Plan with the promising options alone, for a part of the time.

    Where several kinds may serve a demand, the first plan has one kind each: it is found sooner.
    """
    if not sets.has_one_kind:
        sets = build_sets(prune(with_one_kind(sets.case)).case)
        ends_at = clock() + limits.time_limit_s * _FIRST_PLAN_SHARE
        one_kind = None if has_hopeless_workload(sets) else _relaxed(sets, ends_at, clock)
        if one_kind is None:
            return None
        relaxed = one_kind
    narrow = build_program(promising(sets, relaxed, limits.start))
    part = replace(limits, time_limit_s=limits.time_limit_s * _FIRST_PLAN_SHARE)
    begun = plan_begun(narrow, part, clock)
    solution = first_plan(narrow, part, relaxed.bound_usd, clock)
    return better(begun, Known(narrow, solution)) if is_plan(solution) else begun


def _next(
    sets: Sets, relaxed: Relaxed, known: Known | None, *, limits: Limits, watch: Watch
) -> _Job:
    """Choose how to solve over all that can still be better."""
    if known is not None and (watch.is_ended() or _is_within(known.usd, relaxed.bound_usd, limits)):
        return partial(_as_it_is, known, relaxed.bound_usd)
    beyond_usd, rest_sets = math.inf, sets
    if known is not None:
        left = possible(sets, relaxed, known.usd)
        beyond_usd, rest_sets = left.beyond_usd, left.sets
    bounds = relaxed.bound_usd, beyond_usd
    if known is None or not sets.has_one_kind:
        return partial(_solved_whole, rest_sets, known, bounds, watch=watch)
    if _is_beyond(known, bounds):
        return partial(_placed, known, bounds[0], watch=watch)
    if has_hopeless_workload(rest_sets):
        return partial(_as_it_is, known, min(known.usd, beyond_usd))
    return partial(_closed_in, (sets, relaxed, left), known, watch=watch)


def _as_it_is(known: Known, bound_usd: float, limits: Limits) -> _Found:
    return known, bound_usd, _is_within(known.usd, bound_usd, limits)


def _placed(known: Known, bound_usd: float, limits: Limits, *, watch: Watch) -> _Found:
    part = _left(limits, limits.time_limit_s * _SOLVER_SHARE)
    known = placed_better(known, part, watch, enough_usd(bound_usd, limits))
    return known, bound_usd, _is_within(known.usd, bound_usd, limits)


def _solved_whole(
    rest_sets: Sets,
    known: Known | None,
    bounds: tuple[float, float],
    limits: Limits,
    *,
    watch: Watch,
) -> _Found:
    """Let HiGHS solve the rest as it is; `bounds` are those of all, and of what is beyond it."""
    least_usd, beyond_usd = bounds
    if has_hopeless_workload(rest_sets):
        return known, min(known.usd, beyond_usd) if known else 0.0, True
    rest = build_program(rest_sets)
    limits = _left(limits, limits.time_limit_s * _SOLVER_SHARE)
    model = to_proto(rest).SerializeToString()
    solution = solve_model(model, limits, watch=_capped(watch, beyond_usd))
    solution = believed(solution, math.inf if known is None else known.usd)
    if not is_plan(solution):
        is_done = solution.outcome is Outcome.INFEASIBLE
        bound_usd = known.usd if known is not None and is_done else solution.bound_usd
        return known, max(min(bound_usd, beyond_usd), least_usd), is_done
    best = better(known, Known(rest, solution))
    bound_usd = min(solution.bound_usd, beyond_usd, best.usd)
    return best, bound_usd, solution.outcome is Outcome.OPTIMAL


def _is_beyond(known: Known, bounds: tuple[float, float]) -> bool:
    """Say whether most of the gap is beyond what can be branched on, so that it proves nothing."""
    least_usd, beyond_usd = bounds
    return beyond_usd < least_usd + _WORTH * (known.usd - least_usd)


def _closed_in(
    of: tuple[Sets, Relaxed, Rest], known: Known, limits: Limits, *, watch: Watch
) -> _Found:
    """Place a plan of some sets better, and branch by hand on what then may still be better."""
    sets, relaxed, rest = of
    ends_at = time.monotonic() + limits.time_limit_s
    part = _left(limits, limits.time_limit_s * _REFINE_SHARE)
    found = refined(known, rest.sets, replace(part, most_nodes=_REFINE_NODES), watch)
    if found.usd < known.usd:
        known = found
        watch.saw(best_usd=known.usd)
        rest = possible(sets, relaxed, known.usd)
    least_usd = relaxed.bound_usd
    if has_hopeless_workload(rest.sets):
        return known, min(known.usd, rest.beyond_usd), True
    program, left = build_program(rest.sets), _left(limits, ends_at - time.monotonic())
    known, bound_usd = _branched(program, known, left, _capped(watch, rest.beyond_usd))
    bound_usd = max(min(bound_usd, rest.beyond_usd), least_usd)
    return known, bound_usd, _is_within(known.usd, bound_usd, limits)


def _branched(rest: Program, known: Known, limits: Limits, watch: Watch) -> tuple[Known, float]:
    """Branch by hand; give the best plan, and what no plan of the rest costs less than."""
    limits = _left(limits, limits.time_limit_s * _BRANCH_SHARE)
    found = branch(rest, known.usd, limits, watch)
    if found.solution is not None:
        known = better(known, Known(rest, found.solution))
    return known, min(found.bound_usd, known.usd)


def believed(solution: Solution, known_usd: float) -> Solution:
    """Take no proof from a solver that says there is no plan as cheap as one that is known.

    HiGHS has been seen to end a tiny program as optimal at several times the cost of a plan of it.
    """
    if solution.bound_usd <= known_usd + _SAME * max(1.0, known_usd):
        return solution
    outcome = Outcome.FEASIBLE if is_plan(solution) else Outcome.NO_SOLUTION
    return replace(solution, outcome=outcome, bound_usd=0.0)


def _capped(watch: Watch, most_usd: float) -> Watch:
    """Tell of a part of the program: no bound is above what the rest may cost."""
    return Watch(
        lambda best, bound: watch.saw(best_usd=best, bound_usd=min(bound, most_usd)),
        watch.is_ended,
    )


def _is_within(usd: float, bound_usd: float, limits: Limits) -> bool:
    return usd - bound_usd <= max(limits.gap_fraction, SMALLEST_GAP) * usd


def _left(limits: Limits, left_s: float) -> Limits:
    return replace(limits, time_limit_s=max(left_s, _SHORTEST_SOLVE_S))
