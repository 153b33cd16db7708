"""A good plan soon: by search, or where that finds none, by the program, two ways at once.

The search knows no rule that several machines share. Where it has no plan that keeps them all, one
way solves the program as it is. The other chooses while nodes may be bought in parts: which kinds
serve, which options do the runs and when is most of a plan's cost where fleets are large; what is
left is to place the choice in whole nodes.
"""

import time
from collections.abc import Callable, Iterable, Iterator
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
from solver.milp.sets import Floats, Sets
from solver.milp.solve import Limits, Outcome, Solution, solve_model
from solver.milp.variables import Block, Columns

Monotonic = Callable[[], float]
_CHOICE_SHARE = 0.4
_CHOICE_GAP = 0.25
_SHORTEST_S = 1.0
_LARGEST_GAP = 0.99
_SEARCHES = 3
_MANY_GROUPS = 300
"""Where there is so much to choose from, one search may miss by some percent what another finds."""


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
    """Search with a few seeds; give the cheapest plan that keeps all rules."""
    seeds = range(limits.seed, limits.seed + (_SEARCHES if _is_wide(program.sets) else 1))
    ends_at = clock() + limits.time_limit_s
    plans = _plans(program, seeds, ends_at, enough_usd=most_usd, clock=clock)
    cost = program.cost
    return min(plans, key=lambda values: float(cost @ values), default=None)


def _is_wide(sets: Sets) -> bool:
    """Say whether there is much to choose from: many groups, or fleets in blocks of many sizes."""
    in_nodes = any(max(one.block_sizes, default=0) > 1 for one in sets.kinds)
    return in_nodes or len(sets.groups) > _MANY_GROUPS


def _plans(
    program: Program, seeds: Iterable[int], ends_at: float, *, enough_usd: float, clock: Monotonic
) -> Iterator[Floats]:
    """Search with one seed after the other, until a plan costs enough or the time is up.

    Only plans that keep all rules are given.
    """
    sets, cost = program.sets, program.cost
    if sets.case.workloads.policy.sharing is Sharing.SPLIT:
        return
    ways = ways_by_demand(sets)
    for seed in seeds:
        found = search(sets, ways, seed=seed, ends_at=ends_at, enough_usd=enough_usd, clock=clock)
        if found is None:
            return
        values = values_of(program, found)
        keeps_all = holds(program, values)
        if keeps_all:
            yield values
        is_enough = keeps_all and float(cost @ values) <= enough_usd
        if is_enough or clock() >= ends_at:
            return


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
