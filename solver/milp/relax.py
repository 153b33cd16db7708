"""The relaxed program: its bound, and what using an option must add to it at least.

In any plan the cost is the relaxed cost plus Σ reduced cost · value. So a kind of replica or a run
option whose forced columns alone lift the relaxed cost above a known plan is in no better plan.
"""

import math
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from ortools.math_opt.python import mathopt

from solver.milp.program import Program, to_proto
from solver.milp.sets import Floats
from solver.milp.variables import Block

_SHORTEST_S = 0.1


@dataclass(frozen=True, slots=True)
class Relaxed:
    """The relaxed optimum: dollars, and per kind and run option its value and its penalty.

    A penalty is in dollars: no plan that uses the kind or option costs less than
    `bound_usd` plus it. `row_usd` are the duals of all rows, in the order of the families.
    `groups` and `options` are those that it was solved over, where those are not all;
    `group_penalty_usd` is that of each group beside its kind's, `alone_penalty_usd` that of each
    run option where no service is on its machine.
    """

    bound_usd: float
    kind_value: Floats
    kind_penalty_usd: Floats
    option_value: Floats
    option_penalty_usd: Floats
    row_usd: Floats
    groups: frozenset[int] | None = None
    options: frozenset[int] | None = None
    group_penalty_usd: Floats | None = None
    alone_penalty_usd: Floats | None = None


def solve_relaxed(program: Program, time_limit_s: float = math.inf) -> Relaxed | None:
    """Solve the program without whole numbers; None where even that has no solution.

    Where GLOP gives up, HiGHS tries; where both do, or the time is up, nothing is known and
    nothing is claimed.
    """
    proto = to_proto(program)
    proto.variables.integers[:] = [False] * len(proto.variables.integers)
    model = mathopt.Model.from_model_proto(proto)
    limit = None if math.isinf(time_limit_s) else timedelta(seconds=max(time_limit_s, _SHORTEST_S))
    parameters = mathopt.SolveParameters(time_limit=limit)
    for solver in (mathopt.SolverType.GLOP, mathopt.SolverType.HIGHS):
        result = mathopt.solve(model, solver, params=parameters)
        if result.termination.reason is mathopt.TerminationReason.INFEASIBLE:
            return None
        if result.termination.reason is mathopt.TerminationReason.OPTIMAL:
            return _relaxed(program, model, result)
        if result.termination.limit is mathopt.Limit.TIME:
            break
    return _nothing_known(program)


def _nothing_known(program: Program) -> Relaxed:
    kinds, options = np.zeros(len(program.sets.kinds)), np.zeros(len(program.sets.run_options))
    rows = np.zeros(sum(len(family.keys) for family in program.families))
    return Relaxed(0.0, kinds, kinds, options, options, rows)


def _relaxed(program: Program, model: mathopt.Model, result: mathopt.SolveResult) -> Relaxed:
    variables = list(model.variables())
    values, costs = result.variable_values(), result.reduced_costs()
    duals = result.dual_values()
    value = np.array([values[variable] for variable in variables])
    reduced = np.maximum([costs[variable] for variable in variables], 0.0)
    columns = program.columns
    return Relaxed(
        bound_usd=result.objective_value(),
        kind_value=_of(value, columns.kind_used),
        kind_penalty_usd=_kind_penalties(program, reduced),
        option_value=_of(value, columns.option_used),
        option_penalty_usd=_option_penalties(program, reduced),
        row_usd=np.array([duals[row] for row in model.linear_constraints()]),
    )


def _of(values: Floats, block: Block) -> Floats:
    return values[block.start : block.start + block.size].reshape(block.upper.shape)


def _kind_penalties(program: Program, reduced: Floats) -> Floats:
    """Add up what a used kind forces: its own column and, under one kind, all its replicas."""
    sets, columns = program.sets, program.columns
    penalty = _of(reduced, columns.kind_used).copy()
    if not sets.has_one_kind:
        return penalty
    replicas = _of(reduced, columns.replicas)
    cheapest = np.full((len(sets.kinds), replicas.shape[1]), np.inf)
    for number, group in enumerate(sets.groups):
        cheapest[group.kind] = np.minimum(cheapest[group.kind], replicas[number])
    for number, kind in enumerate(sets.kinds):
        penalty[number] += cheapest[number, : kind.blocks].sum()
    return penalty


def _option_penalties(program: Program, reduced: Floats) -> Floats:
    """Add up what a used option forces: its own column and its cheapest slots."""
    columns = program.columns
    penalty = _of(reduced, columns.option_used).copy()
    gang_up = _of(reduced, columns.gang_up)
    for number, option in enumerate(program.sets.run_options):
        slots = np.sort(gang_up[number, list(option.window)])
        penalty[number] += slots[: option.slots_needed].sum()
    return penalty
