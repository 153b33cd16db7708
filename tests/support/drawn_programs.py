"""Small programs with one kind a demand, of all families, their cheapest plans and dearer ones."""

import math
import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from batch_cases import random_batch_case
from churn_cases import churn_case
from one_kind_sets import one_kind_sets
from pool_cases import pool_case
from random_cases import budget_case, month_case, savings_case, steady_case, zone_case
from solving import EXACT, objective_usd, solution_of
from target_cases import target_case

from broker.domain.case import Case
from solver.milp.build import build_sets
from solver.milp.program import Program, build_program, to_proto
from solver.milp.sets import has_hopeless_workload
from solver.milp.solve import Outcome, Solution, solve_model

USED = 0.5


def other_cases() -> Iterator[Case]:
    """Give cases with one kind a demand whose rows join workloads."""
    makers = (
        *(steady_case, savings_case, budget_case, target_case, zone_case),
        *(month_case, pool_case, churn_case, random_batch_case),
    )
    for seed in range(8):
        for of in (maker(seed) for maker in makers):
            policy = of.workloads.policy.model_copy(update={"max_groups": 1, "burst": None})
            yield replace(of, workloads=of.workloads.model_copy(update={"policy": policy}))


def drawn() -> list[tuple[Program, Solution]]:
    """Give programs and their cheapest plans."""
    every = [*one_kind_sets(), *map(build_sets, other_cases())]
    programs = [build_program(sets) for sets in every if not has_hopeless_workload(sets)]
    pairs = [(one, solution_of(one)) for one in programs]
    return [pair for pair in pairs if 0 < objective_usd(*pair) < math.inf]


def dearer(program: Program, solution: Solution) -> bytes:
    """Write a program whose cheapest plan has the kinds of a solution and one node more an hour."""
    proto = to_proto(program)
    columns, values = program.columns, np.round(solution.values)
    lower = np.array(proto.variables.lower_bounds)
    upper = np.array(proto.variables.upper_bounds)
    for block in (columns.kind_used, columns.option_used):
        own = slice(block.start, block.start + block.size)
        lower[own] = upper[own] = values[own]
    nodes = columns.on_demand_nodes
    own = slice(nodes.start, nodes.start + nodes.size)
    lower[own] = np.minimum(values[own] + (values[own] > USED), upper[own])
    proto.variables.lower_bounds[:] = lower.tolist()
    proto.variables.upper_bounds[:] = upper.tolist()
    return proto.SerializeToString()


def with_drawn_answers(program: Program, seed: int) -> Solution | None:
    """Give a plan whose kinds and places of runs are drawn, so that it is mostly a dear one."""
    draw = random.Random(seed)  # noqa: S311 - a test's draw, not a secret
    proto = to_proto(program)
    usd = program.cost.copy()
    for block in (program.columns.kind_used, program.columns.option_used):
        for column in range(block.start, block.start + block.size):
            usd[column] += draw.random() * program.cost.max()
    own = proto.objective.linear_coefficients
    own.Clear()
    own.ids.extend(np.flatnonzero(usd).tolist())
    own.values.extend(usd[usd != 0].tolist())
    found = solve_model(proto.SerializeToString(), EXACT)
    return found if found.outcome is Outcome.OPTIMAL else None
