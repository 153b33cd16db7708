"""The cheapest plan over scenarios that uses an offer: in one of them at least.

Each scenario's program has the rows of a search for its own use (`forced`). What they count is
added up over the scenarios here. Nodes that are committed are so in all of them; a savings plan
covers a node's hours of one period in all of them together, as it may over several periods.
"""

import time
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from broker.domain.case import Case
from broker.domain.robust import Robust
from solver.milp.first_plan import is_plan
from solver.milp.program import Program
from solver.milp.rows import Entries, Key, Rows, entries, rows_of, some_of
from solver.milp.scenarios.joint import Build, Joint, Prune, Scenario, build_joint
from solver.milp.scenarios.program import joint_families, to_joint_proto
from solver.milp.scenarios.search import JointSolution, polished
from solver.milp.sets import Floats, has_hopeless_workload
from solver.milp.solve import Limits, Outcome, solve_model

_SOLVE_SHARE = 0.85
"""The rest of the time is for each scenario's own program."""
_SHORTEST_S = 1.0
_WHOLE = 1 - 1e-6
_ROUNDING = 1e-7
"""What is asked of a scenario by itself is less than the solver found by so much."""


@dataclass(frozen=True, slots=True)
class Use:
    """How use is asked for: a way to prune, and programs with rows of a family that count it.

    Of that family the rows with the keys `counted` ask for a use; others say what is one.
    """

    prune: Prune
    build: Build
    family: str
    counted: frozenset[Key]


def used_somewhere(case: Case, robust: Robust, limits: Limits, use: Use) -> JointSolution:
    """Plan a case over all scenarios so that an offer is used in one of them at least."""
    ends_at = time.monotonic() + limits.time_limit_s
    joint = build_joint(case, robust, prune=use.prune, build=use.build)
    asked = use_in_any(joint, use)
    if not asked.keys or any(has_hopeless_workload(one.program.sets) for one in joint.scenarios):
        return JointSolution(joint, Outcome.INFEASIBLE, (), 0.0)
    free = tuple(_asking(one, use, -np.inf) for one in joint.scenarios)
    families = [*joint_families(replace(joint, scenarios=free)), asked]
    model = to_joint_proto(joint, families).SerializeToString()
    part = replace(limits, time_limit_s=limits.time_limit_s * _SOLVE_SHARE)
    solution = solve_model(model, part)
    if not is_plan(solution):
        return JointSolution(joint, solution.outcome, (), solution.bound_usd)
    kept = _with_use_of(joint, use, solution.values)
    left = replace(limits, time_limit_s=max(ends_at - time.monotonic(), _SHORTEST_S))
    better = polished(replace(joint, scenarios=kept), solution.values, left, time.monotonic)
    values = solution.values if better is None else better
    own = tuple(one.of(values) for one in joint.scenarios)
    return JointSolution(joint, Outcome.FEASIBLE, own, solution.bound_usd)


def use_in_any(joint: Joint, use: Use) -> Rows:
    """Ask for a use in one scenario at least: what each counted row counts, over all of them."""
    counted = [(one, _counted(one.program, use)) for one in joint.scenarios]
    keys = list(dict.fromkeys(key for _, rows in counted for key in rows.keys))
    parts: list[Entries] = []
    for scenario, rows in counted:
        number = np.array([keys.index(key) for key in rows.keys], dtype=np.int64)
        column = rows.entries.column + scenario.start
        parts.append(entries(number[rows.entries.row], column, rows.entries.coefficient))
    return rows_of(f"{use.family}_in_any", keys, parts, lower=1.0)


def _counted(program: Program, use: Use) -> Rows:
    for rows in program.families:
        if rows.family == use.family:
            return some_of(rows, np.flatnonzero(_is_counted(rows, use)))
    return rows_of(use.family, [], [])


def _is_counted(rows: Rows, use: Use) -> npt.NDArray[np.bool_]:
    return np.array([key in use.counted for key in rows.keys], dtype=bool)


def _asking(scenario: Scenario, use: Use, least: float) -> Scenario:
    """Ask a scenario for so much of what is counted; what counts as a use stays said."""
    families = tuple(
        replace(rows, lower=np.where(_is_counted(rows, use), least, rows.lower))
        if rows.family == use.family
        else rows
        for rows in scenario.program.families
    )
    return replace(scenario, program=replace(scenario.program, families=families))


def _with_use_of(joint: Joint, use: Use, values: Floats) -> tuple[Scenario, ...]:
    """Ask for the use that a solution has: in the first scenario that has all that is asked.

    What shows a need of nodes shows work on them in the same scenario. Only what a savings plan
    covers may be in parts of a node in several: there each keeps its own.
    """
    counts = [_counts(one, use, values) for one in joint.scenarios]
    whole = [number for number, one in enumerate(counts) if one.size and (one > _WHOLE).all()]
    least: list[float] = [float(one.min(initial=1.0)) - _ROUNDING for one in counts]
    if whole:
        least = [1.0 if number == whole[0] else -np.inf for number in range(len(counts))]
    pairs = zip(joint.scenarios, least, strict=True)
    return tuple(_asking(one, use, asked) for one, asked in pairs)


def _counts(scenario: Scenario, use: Use, values: Floats) -> Floats:
    rows, own = _counted(scenario.program, use), scenario.of(values)
    amounts = rows.entries.coefficient * own[rows.entries.column]
    return np.bincount(rows.entries.row, amounts, minlength=len(rows.keys)).astype(float)
