"""Solving: HiGHS through OR-Tools, in a child process that can be stopped at any time."""

import math
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Self

import numpy as np
from ortools.math_opt import model_pb2
from ortools.math_opt.python import mathopt

from solver.milp.program import Program, to_proto
from solver.milp.sets import Floats


class Outcome(StrEnum):
    """How a solve ended."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    NO_SOLUTION = "no_solution"


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop: at this relative gap, or after these seconds."""

    gap_fraction: float
    time_limit_s: float
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Solution:
    """Values by column, and the proven lower bound in dollars; no values where there is none."""

    outcome: Outcome
    values: Floats
    bound_usd: float


class SolverPool:
    """Child processes that solve programs; one program a process at a time."""

    def __init__(self, workers: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(max_workers=workers, mp_context=context)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def submit(
        self, program: Program, limits: Limits, hint: Floats | None = None
    ) -> Future[Solution]:
        """Start to solve a program; a hint gives values by column, NaN where it says nothing."""
        model = to_proto(program).SerializeToString()
        return self._pool.submit(solve_model, model, limits, hint)

    def relaxed_bound(self, program: Program) -> float:
        """Give the cost of the program without whole numbers: no plan is cheaper."""
        proto = to_proto(program)
        proto.variables.integers[:] = [False] * len(proto.variables.integers)
        return self._pool.submit(solve_relaxed, proto.SerializeToString()).result()

    def stop(self) -> None:
        """End all child processes, also in the middle of a solve."""
        for process in list((self._pool._processes or {}).values()):  # noqa: SLF001 - no public way
            process.terminate()
        self._pool.shutdown(wait=False, cancel_futures=True)


def solve_model(model: bytes, limits: Limits, hint: Floats | None = None) -> Solution:
    """Solve a serialized model to the gap or the time limit.

    HiGHS takes neither `threads` nor an interrupt through MathOpt, hence the child process.
    """
    proto = model_pb2.ModelProto.FromString(model)
    problem = mathopt.Model.from_model_proto(proto)
    variables = list(problem.variables())
    parameters = mathopt.SolveParameters(
        time_limit=timedelta(seconds=limits.time_limit_s),
        relative_gap_tolerance=limits.gap_fraction,
        random_seed=limits.seed,
    )
    hints = mathopt.ModelSolveParameters(solution_hints=_hints(variables, hint))
    result = mathopt.solve(problem, mathopt.SolverType.HIGHS, params=parameters, model_params=hints)
    outcome = _outcome(result)
    bound = result.dual_bound()
    if outcome in (Outcome.INFEASIBLE, Outcome.NO_SOLUTION):
        return Solution(outcome, np.zeros(0), max(0.0, bound) if np.isfinite(bound) else 0.0)
    found = result.variable_values()
    values = np.array([found[variable] for variable in variables])
    return Solution(outcome, values, max(0.0, bound))


def solve_relaxed(model: bytes) -> float:
    """Solve a serialized linear model; infinity where it has no solution."""
    problem = mathopt.Model.from_model_proto(model_pb2.ModelProto.FromString(model))
    result = mathopt.solve(problem, mathopt.SolverType.GLOP)
    if result.termination.reason is mathopt.TerminationReason.OPTIMAL:
        return result.objective_value()
    return math.inf


def _hints(
    variables: Sequence[mathopt.Variable], hint: Floats | None
) -> list[mathopt.SolutionHint]:
    if hint is None:
        return []
    known = {
        variable: float(value)
        for variable, value in zip(variables, hint, strict=True)
        if not np.isnan(value)
    }
    return [mathopt.SolutionHint(variable_values=known)]


def _outcome(result: mathopt.SolveResult) -> Outcome:
    reason = result.termination.reason
    if reason is mathopt.TerminationReason.OPTIMAL:
        return Outcome.OPTIMAL
    if result.has_primal_feasible_solution():
        return Outcome.FEASIBLE
    if reason in (
        mathopt.TerminationReason.INFEASIBLE,
        mathopt.TerminationReason.INFEASIBLE_OR_UNBOUNDED,
    ):
        return Outcome.INFEASIBLE
    return Outcome.NO_SOLUTION
