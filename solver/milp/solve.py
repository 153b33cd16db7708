"""Solving one program in this process: HiGHS through OR-Tools."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from ortools.math_opt import (
    callback_pb2,
    model_parameters_pb2,
    model_pb2,
    parameters_pb2,
    result_pb2,
    solution_pb2,
)
from ortools.math_opt.core.python import solver as core
from ortools.math_opt.solvers import highs_pb2

from solver.milp.beside import Beside
from solver.milp.highs_log import bounds_of, last_solution
from solver.milp.linear import dense
from solver.milp.sets import Floats
from solver.milp.start import NOWHERE, Start
from solver.milp.watch import Watch

_GRACE = 0.1
_GRACE_S = 2.0
_LOOK_S = 0.2
_PRINTED = 1e-9
"""A bound in the log is rounded to its digits, perhaps up: it counts for so much less."""


class Outcome(StrEnum):
    """How a solve ended."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    NO_SOLUTION = "no_solution"


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop: at this relative gap, or after these seconds; and where to begin.

    `most_nodes` ends one solve of HiGHS sooner, 0 never does.
    """

    gap_fraction: float
    time_limit_s: float
    seed: int = 0
    start: Start = NOWHERE
    most_nodes: int = 0


@dataclass(frozen=True, slots=True)
class Solution:
    """Values by column, and the proven lower bound in dollars; no values where there is none."""

    outcome: Outcome
    values: Floats
    bound_usd: float


def solve_model(
    model: bytes,
    limits: Limits,
    hint: Floats | None = None,
    watch: Watch | None = None,
    *,
    below_usd: float = math.inf,
) -> Solution:
    """Solve a serialized model to the gap or the time limit; NaN in a hint says nothing.

    Only plans below `below_usd` are looked for: where there is none the bound ends there, whatever
    the outcome and the values. The watch is then told of the bound alone.

    HiGHS takes neither `threads` nor an interrupt through MathOpt. Where it passes its limit by
    far, or the watch ends the search, it is left alone, and the best that it has told counts.
    MathOpt's messages go to it as they are: its Python models may not be read in two threads at
    once, even two of them.
    """
    watch = watch or Watch()
    wait_s = limits.time_limit_s * (1 + _GRACE) + _GRACE_S
    with TemporaryDirectory(prefix="gpubroker-", ignore_cleanup_errors=True) as folder:
        told = _Told(Path(folder) / "solutions", watch, below_usd)
        job = Beside(lambda: _solved(model, limits, hint, told))
        waited_s = 0.0
        while waited_s < wait_s and not watch.is_ended():
            step_s = min(_LOOK_S, wait_s - waited_s)
            solution = job.result(step_s)
            if solution is not None:
                return solution
            waited_s += step_s
        return told.so_far(model)


class _Told:
    """What the solver has told so far."""

    def __init__(self, path: Path, watch: Watch, below_usd: float) -> None:
        self.path = path
        self.watch = watch
        self.below_usd = below_usd
        self.bound_usd = 0.0

    def read(self, lines: Sequence[str]) -> None:
        for line in lines:
            found = bounds_of(line)
            if found is not None:
                self.bound_usd = max(self.bound_usd, found[0] * (1 - _PRINTED))
                best_usd = found[1] if self.below_usd == math.inf else math.inf
                self.watch.saw(best_usd=best_usd, bound_usd=found[0])

    def so_far(self, model: bytes) -> Solution:
        columns = len(model_pb2.ModelProto.FromString(model).variables.ids)
        values = last_solution(self.path, columns)
        if values is None:
            return Solution(Outcome.NO_SOLUTION, np.zeros(0), self.bound_usd)
        return Solution(Outcome.FEASIBLE, values, self.bound_usd)


def _solved(model: bytes, limits: Limits, hint: Floats | None, told: _Told) -> Solution:
    proto = model_pb2.ModelProto.FromString(model)
    result = core.solve(  # type: ignore[no-untyped-call] # pybind
        proto,
        parameters_pb2.SOLVER_TYPE_HIGHS,
        parameters_pb2.SolverInitializerProto(),
        _parameters(limits, told),
        _hinted(proto, hint),
        told.read,
        callback_pb2.CallbackRegistrationProto(),
        None,
        None,
    )
    outcome = _outcome(result)
    bound = result.termination.objective_bounds.dual_bound
    if outcome in (Outcome.INFEASIBLE, Outcome.NO_SOLUTION):
        return Solution(outcome, np.zeros(0), max(0.0, bound) if np.isfinite(bound) else 0.0)
    found = result.solutions[0].primal_solution.variable_values
    return Solution(outcome, dense(found, len(proto.variables.ids)), max(0.0, bound))


def _parameters(limits: Limits, told: _Told) -> parameters_pb2.SolveParametersProto:
    parameters = parameters_pb2.SolveParametersProto(
        relative_gap_tolerance=limits.gap_fraction,
        random_seed=limits.seed,
        highs=highs_pb2.HighsOptionsProto(
            # HiGHS does not look at the clock while it detects symmetry: half a minute.
            bool_options={
                "mip_detect_symmetry": False,
                "mip_improving_solution_save": True,
                "mip_improving_solution_report_sparse": True,
            },
            string_options={"mip_improving_solution_file": str(told.path)},
            double_options=_below(told.below_usd),
        ),
    )
    parameters.time_limit.FromTimedelta(timedelta(seconds=limits.time_limit_s))
    if limits.most_nodes:
        parameters.node_limit = limits.most_nodes
    return parameters


def _below(usd: float) -> dict[str, float]:
    return {} if usd == math.inf else {"objective_bound": usd}


def _hinted(
    proto: model_pb2.ModelProto, hint: Floats | None
) -> model_parameters_pb2.ModelSolveParametersProto:
    """Write a hint within the bounds: HiGHS fails where one is beyond them, be it by its tolerance.

    So a plan may be whose decisions, whole numbers, are the bounds of another program.
    """
    parameters = model_parameters_pb2.ModelSolveParametersProto()
    if hint is not None:
        known = np.flatnonzero(~np.isnan(hint))
        bounds = proto.variables.lower_bounds, proto.variables.upper_bounds
        within = np.clip(hint, *(np.array(one) for one in bounds))
        values = parameters.solution_hints.add().variable_values
        values.ids.extend(np.array(proto.variables.ids, dtype=np.int64)[known].tolist())
        values.values.extend(within[known].tolist())
    return parameters


def _outcome(result: result_pb2.SolveResultProto) -> Outcome:
    reason = result.termination.reason
    if reason == result_pb2.TERMINATION_REASON_OPTIMAL:
        return Outcome.OPTIMAL
    best = result.solutions[0].primal_solution if result.solutions else None
    if best is not None and best.feasibility_status == solution_pb2.SOLUTION_STATUS_FEASIBLE:
        return Outcome.FEASIBLE
    if reason in (
        result_pb2.TERMINATION_REASON_INFEASIBLE,
        result_pb2.TERMINATION_REASON_INFEASIBLE_OR_UNBOUNDED,
    ):
        return Outcome.INFEASIBLE
    return Outcome.NO_SOLUTION
