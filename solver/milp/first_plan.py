"""A good plan soon: by search, or where that finds none, by the program, two ways at once.

The search knows no rule that several machines share. Where it has no plan that keeps them all, one
way solves the program as it is. The other chooses while nodes may be bought in parts: which kinds
serve, which options do the runs and when is most of a plan's cost where fleets are large; what is
left is to place the choice in whole nodes.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from ortools.math_opt import model_pb2

from broker.domain.plan import SMALLEST_GAP
from broker.domain.policy import Sharing
from solver.milp.beside import Beside
from solver.milp.drafted import holds, values_of
from solver.milp.local_search import search
from solver.milp.pairs import ways_by_demand
from solver.milp.program import Program, to_proto
from solver.milp.sets import Floats
from solver.milp.solve import Limits, Outcome, Solution, solve_model
from solver.milp.variables import Block, Columns

Monotonic = Callable[[], float]
_CHOICE_SHARE = 0.4
_CHOICE_GAP = 0.25
_SHORTEST_S = 1.0
_LARGEST_GAP = 0.99


def first_plan(
    program: Program, limits: Limits, bound_usd: float, clock: Monotonic = time.monotonic
) -> Solution:
    """Give a good plan of a program with one kind a demand; a searched one has the bound 0.

    One that is within the gap of `bound_usd` is good enough.
    """
    found = _searched(program, limits, enough_usd(bound_usd, limits), clock)
    if found is not None:
        return Solution(Outcome.FEASIBLE, found, 0.0)
    return _solved(program, limits, clock)


def enough_usd(bound_usd: float, limits: Limits) -> float:
    """Give what a plan may cost to be within the gap of a bound."""
    return bound_usd / (1 - min(max(limits.gap_fraction, SMALLEST_GAP), _LARGEST_GAP))


def _solved(program: Program, limits: Limits, clock: Monotonic) -> Solution:
    """Solve the program as it is, and beside that choose and place; give the cheaper plan."""
    model = to_proto(program).SerializeToString()
    staged = Beside(lambda: choose_and_place(program, limits, clock))
    whole = solve_model(model, limits)
    if whole.outcome in (Outcome.OPTIMAL, Outcome.INFEASIBLE):
        return whole
    other = staged.result()
    if other is None or not is_plan(other):
        return whole
    if is_plan(whole) and program.cost @ whole.values <= program.cost @ other.values:
        return whole
    return replace(other, outcome=Outcome.FEASIBLE, bound_usd=whole.bound_usd)


def _searched(program: Program, limits: Limits, most_usd: float, clock: Monotonic) -> Floats | None:
    """Search for a plan; None where the one that is found does not keep all rules."""
    sets = program.sets
    if sets.case.workloads.policy.sharing is Sharing.SPLIT:
        return None
    found = search(
        sets,
        ways_by_demand(sets),
        seed=limits.seed,
        ends_at=clock() + limits.time_limit_s,
        enough_usd=most_usd,
        clock=clock,
    )
    if found is None:
        return None
    values = values_of(program, found)
    return values if holds(program, values) else None


def choose_and_place(
    program: Program, limits: Limits, clock: Monotonic = time.monotonic
) -> Solution:
    """Choose while nodes are continuous, then place the choice; the bound is of no use."""
    ends_at = clock() + limits.time_limit_s
    columns = program.columns
    choices = _choices(columns)
    proto = to_proto(program)
    _let_be_parts(proto, columns, choices)
    chosen = solve_model(
        proto.SerializeToString(),
        replace(
            limits,
            time_limit_s=limits.time_limit_s * _CHOICE_SHARE,
            gap_fraction=limits.gap_fraction * _CHOICE_GAP,
        ),
    )
    if not is_plan(chosen):
        return chosen
    return solve_model(
        _fixed(program, choices, chosen.values).SerializeToString(),
        replace(
            limits,
            time_limit_s=max(ends_at - clock(), _SHORTEST_S),
            gap_fraction=limits.gap_fraction / 2,
        ),
    )


def is_plan(solution: Solution) -> bool:
    """Say whether a solution has values."""
    return solution.outcome in (Outcome.OPTIMAL, Outcome.FEASIBLE)


def _choices(columns: Columns) -> tuple[Block, ...]:
    return (columns.kind_used, columns.option_used, columns.gang_up, columns.gang_start)


def _let_be_parts(proto: model_pb2.ModelProto, columns: Columns, whole: Iterable[Block]) -> None:
    """Let all columns be continuous but those of `whole`, commitments and levels."""
    integers = np.zeros(columns.size, dtype=bool)
    for block in (*whole, columns.committed_nodes, columns.level_used):
        integers[block.start : block.start + block.size] = block.integer
    proto.variables.integers[:] = integers.tolist()


def _fixed(program: Program, blocks: Iterable[Block], values: Floats) -> model_pb2.ModelProto:
    proto = to_proto(program)
    lower = np.array(proto.variables.lower_bounds)
    upper = np.array(proto.variables.upper_bounds)
    for block in blocks:
        part = slice(block.start, block.start + block.size)
        lower[part] = upper[part] = np.round(values[part])
    proto.variables.lower_bounds[:] = lower.tolist()
    proto.variables.upper_bounds[:] = upper.tolist()
    return proto
