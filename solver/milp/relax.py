"""The relaxed program: its bound, and what using an option must add to it at least.

In any plan the cost is the relaxed cost plus Σ reduced cost · value. So a kind of replica or a run
option whose forced columns alone lift the relaxed cost above a known plan is in no better plan.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from ortools.math_opt import model_pb2, parameters_pb2, solution_pb2

from solver.milp.clusters import Clusters
from solver.milp.coarse import coarse
from solver.milp.ended import Ended, Named, carried, ended
from solver.milp.fills import Fill
from solver.milp.linear import (
    DUAL_SIMPLEX,
    GLOP,
    HIGHS,
    PRIMAL_SIMPLEX,
    LinearPlan,
    LinearProgram,
    LinearResult,
)
from solver.milp.program import Program, to_proto
from solver.milp.sets import Floats
from solver.milp.variables import Ints

Naming = Callable[[Ints], Ints]
"""Gives the names of some columns."""
_MANY_COLUMNS = 50_000
"""Of more, GLOP's primal simplex takes many times as long as HiGHS's dual one; of fewer, a part."""
_MUCH_NEW = 0.3
"""Where so much of many columns is new, the plan of before is far from what is looked for."""


@dataclass(frozen=True, slots=True)
class Relaxed:
    """The relaxed optimum: dollars, and per kind and run option its value and its penalty.

    A penalty is in dollars: no plan that uses the kind or option costs less than
    `bound_usd` plus it. `row_usd` are the duals of all rows, in the order of the families,
    `values` the relaxed plan.
    `groups` and `options` are those that it was solved over, where those are not all;
    `group_penalty_usd` is that of each group beside its kind's, `alone_penalty_usd` that of each
    run option where no service is on its machine. `fills` were rounded to whole nodes. `ended` is
    where a program that may grow ended.
    """

    bound_usd: float
    kind_value: Floats
    kind_penalty_usd: Floats
    option_value: Floats
    option_penalty_usd: Floats
    row_usd: Floats
    reduced_usd: Floats
    values: Floats
    groups: frozenset[int] | None = None
    options: frozenset[int] | None = None
    group_penalty_usd: Floats | None = None
    alone_penalty_usd: Floats | None = None
    fills: tuple[Fill, ...] = ()
    ended: Ended | None = None


def solve_relaxed(
    program: Program, time_limit_s: float = math.inf, clusters: Clusters | None = None
) -> Relaxed | None:
    """Solve the program without whole numbers; None where even that has no solution.

    Where one solver gives up, or goes astray, the other tries; where both do, or the time is up,
    nothing is known and nothing is claimed. Given `clusters`, their periods are added up, see
    `coarse`: the bound and all penalties then are of the program still, though lower.
    """
    if clusters is None:
        result = _solved(partial(to_proto, program), _AS_IT_IS, time_limit_s)
        return _read(result.plan, program, result)
    smaller = coarse(program, clusters)
    result = _solved(smaller.copy, _ways(len(smaller.members)), time_limit_s)
    return _read(result.plan and smaller.lifted(program, result.plan), program, result)


def solve_grown(
    of: tuple[Program, Clusters], naming: Naming, before: Ended | None, time_limit_s: float
) -> Relaxed | None:
    """Solve a program with periods added up from where it ended when it was smaller, if it was."""
    program, smaller = of[0], coarse(*of)
    _, first = np.unique(smaller.column_of, return_index=True)
    named = Named(smaller.proto, naming(first), smaller.family_of(program))
    ways = _ways(len(first))
    if before is not None and (basis := _basis(before, named)) is not None:
        ways = (_Way(GLOP, PRIMAL_SIMPLEX, basis), *ways)
    result = _solved(smaller.copy, ways, time_limit_s)
    found = _read(result.plan and smaller.lifted(program, result.plan), program, result)
    if found is None or result.plan is None or result.plan.basis is None:
        return found
    return replace(found, ended=ended(named, result.plan.basis))


def _basis(before: Ended, named: Named) -> solution_pb2.BasisProto | None:
    """Give where to go on from, unless so much is new that to begin anew is sooner done."""
    count = len(named.names)
    if count > _MANY_COLUMNS and count - len(before.names) > _MUCH_NEW * count:
        return None
    return carried(before, named)


def _solved(
    fresh: Callable[[], model_pb2.ModelProto], ways: Sequence["_Way"], limit_s: float
) -> LinearResult:
    """Solve a program in one way after the other, until one says how it ends.

    One that grew has the plan that it had, so none that says there is none is believed of it.
    """
    result = LinearResult()
    for way in ways:
        linear = LinearProgram(fresh(), way.solver, presolves=way.basis is None)
        is_last = way is ways[-1]
        result = linear.solve(limit_s, way.algorithm, may_stall=is_last, basis=way.basis)
        is_without_plan = result.is_infeasible and way.basis is None
        if result.plan is not None or is_without_plan or result.is_out_of_time:
            break
    return result


def _read(plan: LinearPlan | None, program: Program, result: LinearResult) -> Relaxed | None:
    if result.is_infeasible:
        return None
    return _nothing_known(program) if plan is None else _relaxed_of(program, plan)


@dataclass(frozen=True, slots=True)
class _Way:
    """A solver, its algorithm, and where it begins."""

    solver: int
    algorithm: parameters_pb2.LPAlgorithmProto.ValueType
    basis: solution_pb2.BasisProto | None = None


_AS_IT_IS = _Way(GLOP, DUAL_SIMPLEX), _Way(HIGHS, DUAL_SIMPLEX)
_BY_CLUSTER = _Way(GLOP, PRIMAL_SIMPLEX), _Way(HIGHS, DUAL_SIMPLEX)


def _ways(columns: int) -> tuple[_Way, ...]:
    """Give the solvers in the order in which they are tried, the soonest done first."""
    return _BY_CLUSTER if columns < _MANY_COLUMNS else _BY_CLUSTER[::-1]


def _nothing_known(program: Program) -> Relaxed:
    kinds, options = np.zeros(len(program.sets.kinds)), np.zeros(len(program.sets.run_options))
    rows = np.zeros(sum(len(family.keys) for family in program.families))
    values = np.zeros(program.columns.size)
    return Relaxed(0.0, kinds, kinds, options, options, rows, values, values)


def _relaxed_of(program: Program, plan: LinearPlan) -> Relaxed:
    """Read what a relaxed plan says of kinds and run options."""
    reduced = np.maximum(plan.reduced_usd, 0.0)
    columns = program.columns
    return Relaxed(
        bound_usd=plan.usd,
        kind_value=_kind_values(program, plan.values),
        kind_penalty_usd=_kind_penalties(program, reduced),
        option_value=columns.option_used.of(plan.values),
        option_penalty_usd=_option_penalties(program, reduced),
        row_usd=plan.row_usd,
        reduced_usd=reduced,
        values=plan.values,
    )


def _kind_values(program: Program, values: Floats) -> Floats:
    """Give how much of a kind is used, at the most in any window."""
    columns = program.columns
    burst = columns.burst_used.of(values).max(axis=1, initial=0.0)
    return np.asarray(columns.kind_used.of(values) + burst)


def _kind_penalties(program: Program, reduced: Floats) -> Floats:
    """Add up what a used kind forces: its own column and, under one kind, all its replicas.

    A kind that serves in some windows alone forces the column of one of these at least.
    """
    sets, columns = program.sets, program.columns
    penalty = columns.kind_used.of(reduced).copy()
    if not sets.has_one_kind:
        burst = columns.burst_used.of(reduced).min(axis=1, initial=np.inf)
        return np.asarray(np.minimum(penalty, burst))
    replicas = columns.replicas.of(reduced)
    cheapest = np.full((len(sets.kinds), replicas.shape[1]), np.inf)
    for number, group in enumerate(sets.groups):
        cheapest[group.kind] = np.minimum(cheapest[group.kind], replicas[number])
    for number, kind in enumerate(sets.kinds):
        penalty[number] += cheapest[number, : kind.blocks].sum()
    return penalty


def _option_penalties(program: Program, reduced: Floats) -> Floats:
    """Add up what a used option forces: its own column and its cheapest slots."""
    columns = program.columns
    penalty = columns.option_used.of(reduced).copy()
    gang_up = columns.gang_up.of(reduced)
    for number, option in enumerate(program.sets.run_options):
        slots = np.sort(gang_up[number, list(option.window)])
        penalty[number] += slots[: option.slots_needed].sum()
    return penalty
