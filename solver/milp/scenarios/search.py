"""Plans over scenarios: the joint program goes to HiGHS whole, with a start and a last polish.

The search by kinds and branching know of one course of demand, so they are no part of this. Two
bounds hold for what is minimized over all scenarios: that of HiGHS over the joint program, and the
measure of what each scenario costs at least by itself, decided as if it were known to come. The
second is that of the relaxed program of a case over all its offers, and is soon there; the higher
one counts.

Once decisions are fixed the scenarios come apart. So a first plan takes those of the forecast
planned alone, as far as they do elsewhere; and the last word on each scenario is its own program,
as what the objective does not weigh (the forecast where the others have all probability, or a
course that is not among the worst) would else be left at any cost.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from ortools.math_opt import model_pb2

from broker.domain.case import Case
from broker.domain.robust import Robust
from solver.milp.beside import Beside
from solver.milp.first_plan import is_plan
from solver.milp.program import Program, to_proto
from solver.milp.scenarios.joint import (
    Choice,
    Decision,
    Joint,
    Scenario,
    build_joint,
    choices_of,
    decisions_of,
)
from solver.milp.scenarios.program import joint_cost, to_joint_proto
from solver.milp.sets import Floats, Sets, has_hopeless_workload
from solver.milp.solve import Limits, Outcome, Solution, solve_model
from solver.milp.targets import without_targets
from solver.milp.watch import Watch

Monotonic = Callable[[], float]
Alone = Callable[[Case, Limits], tuple[Program, Floats] | None]
"""Plans a case of one course: a program that is solved, and its values; None without a plan."""
Bounded = Callable[[Sets, float], float]
"""Says in so many seconds what a program costs at least; infinity where it has no solution."""
_START_SHARE = 0.4
_POLISH_SHARE = 0.15
_FIRST_SHARE = 0.5
_SHORTEST_S = 1.0
_HALF = 0.5
_SOLVER_SHARE = 0.85
"""The solver looks at the clock now and then only; so much of its time it is given."""


@dataclass(frozen=True, slots=True)
class Ways:
    """What is known of a case of one course: how to plan it, and what it costs at least."""

    alone: Alone
    bounded: Bounded
    clock: Monotonic


@dataclass(frozen=True, slots=True)
class JointSolution:
    """How the joint program was solved; values of each scenario where there is a plan."""

    joint: Joint
    outcome: Outcome
    values: tuple[Floats, ...]
    bound_usd: float


def solve_joint(
    case: Case,
    robust: Robust,
    limits: Limits,
    *,
    ways: Ways,
    watch: Watch,
) -> JointSolution:
    """Plan a case over all scenarios, to the gap, the time limit, or until it is ended."""
    clock = ways.clock
    ends_at = clock() + limits.time_limit_s
    joint = build_joint(case, robust)
    if any(has_hopeless_workload(one.program.sets) for one in joint.scenarios):
        return JointSolution(joint, Outcome.INFEASIBLE, (), 0.0)
    known = _start(joint, _part(limits, limits.time_limit_s * _START_SHARE), ways)
    if known is not None:
        watch.saw(best_usd=_usd(joint, known))
    left_s = ends_at - clock() - limits.time_limit_s * _POLISH_SHARE
    least = Beside(lambda: _least_usd(joint, ways.bounded, left_s * _SOLVER_SHARE))
    model = to_joint_proto(joint).SerializeToString()
    solution = solve_model(model, _part(limits, left_s * _SOLVER_SHARE), known, watch)
    bound_usd = _bound_usd(solution, least, left_s)
    best = _better(joint, known, solution)
    if best is None:
        outcome = Outcome.INFEASIBLE if bound_usd == math.inf else solution.outcome
        return JointSolution(joint, outcome, (), min(bound_usd, solution.bound_usd))
    values = polished(joint, best, _part(limits, ends_at - clock()), clock)
    own = tuple(one.of(best if values is None else values) for one in joint.scenarios)
    return JointSolution(joint, Outcome.FEASIBLE, own, bound_usd)


def joint_bound_usd(case: Case, robust: Robust, bounded: Bounded) -> float:
    """Give what a case costs at least over all scenarios; infinity where it has no plan."""
    joint = build_joint(case, robust)
    if any(has_hopeless_workload(one.program.sets) for one in joint.scenarios):
        return math.inf
    return _least_usd(joint, bounded, math.inf)


def _least_usd(joint: Joint, bounded: Bounded, seconds: float) -> float:
    """Measure what each scenario costs at least by itself: no plan for all of them costs less.

    Only in the forecast what is committed must be worth it after the horizon, and targets be met.
    """
    share_s = seconds / len(joint.scenarios)
    costs = []
    for number, scenario in enumerate(joint.scenarios):
        sets = scenario.program.sets
        costs.append(bounded(_for_now(sets) if number else sets, share_s))
    return math.inf if math.inf in costs else measured(joint, np.array(costs))


def _for_now(sets: Sets) -> Sets:
    """Ask nothing of what is committed but what it carries."""
    plans = tuple(replace(one, needs_steady=False) for one in sets.plans)
    return replace(without_targets(sets), levels=(), plans=plans)


def measured(joint: Joint, costs: Floats) -> float:
    """Give the objective of the scenarios' costs."""
    probabilities = np.array([one.probability for one in joint.scenarios])
    tail = 1 - float(joint.robust.alpha)
    worst = min(
        at_risk + probabilities @ np.maximum(costs - at_risk, 0.0) / tail for at_risk in costs
    )
    weight = joint.tail_weight
    return float((1 - weight) * (probabilities @ costs) + weight * worst)


def _bound_usd(solution: Solution, least: Beside[float], wait_s: float) -> float:
    """Take the higher one of two bounds; one that is not there in the time is none."""
    if solution.outcome is Outcome.OPTIMAL:
        return solution.bound_usd
    proven = 0.0 if solution.outcome is Outcome.INFEASIBLE else solution.bound_usd
    return max(proven, least.result(max(0.0, wait_s * (1 - _SOLVER_SHARE))) or 0.0)


def _part(limits: Limits, seconds: float) -> Limits:
    return replace(limits, time_limit_s=max(seconds, _SHORTEST_S))


def _usd(joint: Joint, values: Floats) -> float:
    return float(joint_cost(joint) @ values)


def _better(joint: Joint, known: Floats | None, solution: Solution) -> Floats | None:
    if not is_plan(solution):
        return known
    if known is not None and _usd(joint, known) <= _usd(joint, solution.values):
        return known
    return solution.values


def _start(joint: Joint, limits: Limits, ways: Ways) -> Floats | None:
    """Plan the forecast alone, and answer to all scenarios under its decisions."""
    clock = ways.clock
    ends_at = clock() + limits.time_limit_s
    case = joint.scenarios[0].program.sets.case
    found = ways.alone(case, _part(limits, limits.time_limit_s * _FIRST_SHARE))
    if found is None:
        return None
    program, values = found
    left = _part(limits, ends_at - clock())
    unknown = np.full(joint.size, np.nan)
    decisions = _decided(program, values)
    return _completed(
        joint, unknown, (decisions, _choices(program, values)), limits=left, clock=clock
    )


def polished(joint: Joint, values: Floats, limits: Limits, clock: Monotonic) -> Floats | None:
    """Solve each scenario anew under the decisions of a plan."""
    forecast = joint.scenarios[0]
    choices = frozenset[Choice]().union(
        *(_choices(one.program, one.of(values)) for one in joint.scenarios)
    )
    decisions = _decided(forecast.program, forecast.of(values))
    return _completed(joint, values, (decisions, choices), limits=limits, clock=clock)


_Decisions = tuple[dict[Decision, float], frozenset[Choice]]


def _completed(
    joint: Joint,
    values: Floats,
    decisions: _Decisions,
    *,
    limits: Limits,
    clock: Monotonic,
) -> Floats | None:
    """Solve each scenario alone under decisions; None where one has no plan.

    Values of a scenario that are known (no NaN) stay where its own search finds no cheaper ones.
    """
    ends_at = clock() + limits.time_limit_s
    decided, choices = decisions
    completed = np.zeros(joint.size)
    for number, scenario in enumerate(joint.scenarios):
        model = _under(scenario, decided, choices)
        share_s = (ends_at - clock()) / (len(joint.scenarios) - number)
        own = scenario.of(values)
        known = None if np.isnan(own).any() else own
        part = _part(limits, share_s * _SOLVER_SHARE)
        found = solve_model(model.SerializeToString(), part, known)
        best = _cheapest(scenario, known, found)
        if best is None:
            return None
        scenario.of(completed)[:] = best
    completed[joint.chosen.start : joint.chosen.start + joint.chosen.size] = [
        float(choice in choices) for choice in joint.choices
    ]
    return _with_tail(joint, completed)


def _decided(program: Program, values: Floats) -> dict[Decision, float]:
    """Read the decisions of a plan, as whole numbers."""
    return {name: float(np.rint(values[at])) for name, at in decisions_of(program).items()}


def _choices(program: Program, values: Floats) -> frozenset[Choice]:
    """List the configurations that a plan uses."""
    used = np.flatnonzero(program.columns.kind_used.of(values) > _HALF)
    names = choices_of(program.sets)
    return frozenset(names[number] for number in used.tolist())


def _under(
    scenario: Scenario, decided: dict[Decision, float], choices: frozenset[Choice]
) -> model_pb2.ModelProto:
    """Write a scenario's own program under decisions, with kinds of some configurations alone."""
    proto = to_proto(scenario.program)
    lower = np.array(proto.variables.lower_bounds)
    upper = np.array(proto.variables.upper_bounds)
    for name, column in decisions_of(scenario.program).items():
        lower[column] = upper[column] = decided.get(name, 0.0)
    kinds = scenario.program.columns.kind_used
    for number, choice in enumerate(choices_of(scenario.program.sets)):
        if choice not in choices:
            upper[kinds.at(number)] = 0.0
    proto.variables.lower_bounds[:] = lower.tolist()
    proto.variables.upper_bounds[:] = upper.tolist()
    return proto


def _cheapest(scenario: Scenario, known: Floats | None, found: Solution) -> Floats | None:
    if not is_plan(found):
        return known
    cost = scenario.program.cost
    if known is not None and cost @ known <= cost @ found.values:
        return known
    return found.values


def _with_tail(joint: Joint, values: Floats) -> Floats:
    """Set the value at risk to the best of the scenarios' costs, and what is beyond it."""
    if not joint.beyond_usd.size:
        return values
    costs = np.array([one.program.cost @ one.of(values) for one in joint.scenarios])
    objective = joint_cost(joint)
    tried = []
    for cost in costs:
        values[joint.value_at_risk.start] = cost
        end = joint.beyond_usd.start + joint.beyond_usd.size
        values[joint.beyond_usd.start : end] = np.maximum(costs - cost, 0.0)
        tried.append((float(objective @ values), values.copy()))
    return min(tried, key=lambda one: one[0])[1]
