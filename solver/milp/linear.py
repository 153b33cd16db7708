"""Linear programs by arrays: GLOP and HiGHS behind MathOpt, without an object for each number.

MathOpt's own results hold an object for each value, and reading them takes longer than solving; so
its messages are read here as they are.
"""

from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from ortools.math_opt import (
    callback_pb2,
    model_parameters_pb2,
    model_pb2,
    model_update_pb2,
    parameters_pb2,
    result_pb2,
    solution_pb2,
    sparse_containers_pb2,
)
from ortools.math_opt.core.python import solver as core
from pybind11_abseil.status import StatusNotOk  # type: ignore[import-untyped] # no stubs

from solver.milp.rows import Rows, merged
from solver.milp.sets import Floats
from solver.milp.variables import Ints

_SHORTEST_S = 0.1
_LONGEST_S = 1e6
_FEW_STEPS = 10_000
GLOP = parameters_pb2.SOLVER_TYPE_GLOP
HIGHS = parameters_pb2.SOLVER_TYPE_HIGHS
DUAL_SIMPLEX = parameters_pb2.LP_ALGORITHM_DUAL_SIMPLEX
PRIMAL_SIMPLEX = parameters_pb2.LP_ALGORITHM_PRIMAL_SIMPLEX


@dataclass(frozen=True, slots=True)
class LinearPlan:
    """A relaxed optimum: dollars, values and reduced costs by column, duals by row.

    `basis` is where the simplex ended.
    """

    usd: float
    values: Floats
    reduced_usd: Floats
    row_usd: Floats
    basis: solution_pb2.BasisProto | None = None


@dataclass(frozen=True, slots=True)
class LinearResult:
    """How a solve ended: with a plan, without one, or with nothing known."""

    plan: LinearPlan | None = None
    is_infeasible: bool = False
    is_out_of_time: bool = False


class LinearProgram:
    """A program without whole numbers; rows may be added and columns capped between solves."""

    def __init__(
        self, proto: model_pb2.ModelProto, solver: int = GLOP, *, presolves: bool = True
    ) -> None:
        """Relax a model; it is changed in place.

        What is solved again and again is not to be presolved each time: that drops where it was.
        """
        self._presolves = presolves
        count = len(proto.variables.ids)
        proto.variables.integers[:] = [False] * count
        self._columns = count
        self._rows = len(proto.linear_constraints.ids)
        initializer = parameters_pb2.SolverInitializerProto()
        self._solver = core.new(solver, proto, initializer)  # type: ignore[no-untyped-call] # pybind

    def add(self, rows: Rows) -> None:
        """Add the rows of a family, at the end."""
        update = model_update_pb2.ModelUpdateProto()
        new = update.new_linear_constraints
        new.ids.extend(range(self._rows, self._rows + len(rows.keys)))
        new.lower_bounds.extend(rows.lower.tolist())
        new.upper_bounds.extend(rows.upper.tolist())
        row, column, value = merged((rows,))
        matrix = update.linear_constraint_matrix_updates
        matrix.row_ids.extend((row + self._rows).tolist())
        matrix.column_ids.extend(column.tolist())
        matrix.coefficients.extend(value.tolist())
        self._rows += len(rows.keys)
        if not self._solver.update(update):
            raise RuntimeError("the linear solver took no more rows")

    def cap(self, columns: Ints, upper: Floats) -> None:
        """Set what some columns are at most."""
        update = model_update_pb2.ModelUpdateProto()
        order = np.argsort(columns)
        update.variable_updates.upper_bounds.ids.extend(columns[order].tolist())
        update.variable_updates.upper_bounds.values.extend(upper[order].tolist())
        if not self._solver.update(update):
            raise RuntimeError("the linear solver took no other bounds")

    def solve(
        self,
        limit_s: float,
        algorithm: parameters_pb2.LPAlgorithmProto.ValueType = DUAL_SIMPLEX,
        *,
        may_stall: bool = True,
        basis: solution_pb2.BasisProto | None = None,
    ) -> LinearResult:
        """Solve from a basis, or where it ended last; after new rows the dual simplex is best.

        A simplex that takes more steps than there are rows and columns mostly ends in nothing,
        after many more: one that may not stall gives up there.
        """
        parameters = parameters_pb2.SolveParametersProto(lp_algorithm=algorithm)
        if not self._presolves:
            parameters.presolve = parameters_pb2.EMPHASIS_OFF
        if not may_stall:
            parameters.iteration_limit = _most_steps(self._rows, self._columns)
        parameters.time_limit.FromTimedelta(
            timedelta(seconds=min(max(limit_s, _SHORTEST_S), _LONGEST_S))
        )
        try:
            result = self._solver.solve(
                parameters,
                model_parameters_pb2.ModelSolveParametersProto(initial_basis=basis),
                None,
                callback_pb2.CallbackRegistrationProto(),
                None,
                None,
            )
        except StatusNotOk:  # GLOP gave up on the numbers
            return LinearResult()
        return self._read(result)

    def _read(self, result: result_pb2.SolveResultProto) -> LinearResult:
        reason = result.termination.reason
        if reason == result_pb2.TERMINATION_REASON_INFEASIBLE:
            return LinearResult(is_infeasible=True)
        if reason != result_pb2.TERMINATION_REASON_OPTIMAL:
            limit = result.termination.limit
            return LinearResult(is_out_of_time=limit == result_pb2.LIMIT_TIME)
        primal = result.solutions[0].primal_solution
        dual = result.solutions[0].dual_solution
        return LinearResult(
            LinearPlan(
                usd=primal.objective_value,
                values=dense(primal.variable_values, self._columns),
                reduced_usd=dense(dual.reduced_costs, self._columns),
                row_usd=dense(dual.dual_values, self._rows),
                basis=result.solutions[0].basis,
            )
        )


def _most_steps(rows: int, columns: int) -> int:
    return max(rows + columns, _FEW_STEPS)


def dense(sparse: sparse_containers_pb2.SparseDoubleVectorProto, count: int) -> Floats:
    """Write a sparse message out: one number by identity, zero where it has none."""
    values = np.zeros(count)
    values[np.array(sparse.ids, dtype=np.int64)] = sparse.values
    return values
