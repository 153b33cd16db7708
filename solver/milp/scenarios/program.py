"""The joint program as a model: what binds the scenarios together, and what they cost."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from ortools.math_opt import model_pb2

from solver.milp.program import add_rows
from solver.milp.rows import Rows
from solver.milp.scenarios.joint import Joint
from solver.milp.scenarios.mean_cost import mean_cost
from solver.milp.scenarios.same_decisions import same_decisions
from solver.milp.scenarios.same_kinds import same_kinds
from solver.milp.scenarios.tail_cost import tail_cost
from solver.milp.scenarios.tail_excess import tail_excess
from solver.milp.sets import Floats

JOINT_CONSTRAINTS = (same_decisions, same_kinds, tail_excess)
JOINT_TERMS = (mean_cost, tail_cost)


def joint_cost(joint: Joint) -> Floats:
    """Give the dollars of one unit of each column of the joint program."""
    cost = np.zeros(joint.size)
    for term in JOINT_TERMS:
        one = term(joint)
        np.add.at(cost, one.column, one.usd)
    return cost


def joint_families(joint: Joint) -> list[Rows]:
    """List all rows: those of each scenario, and those that bind them together."""
    own = [
        replace(
            rows,
            entries=replace(rows.entries, column=rows.entries.column + scenario.start),
        )
        for scenario in joint.scenarios
        for rows in scenario.program.families
    ]
    return own + [family(joint) for family in JOINT_CONSTRAINTS]


def to_joint_proto(joint: Joint, families: Sequence[Rows] | None = None) -> model_pb2.ModelProto:
    """Write the joint program as a MathOpt model, with all of its families or some."""
    proto = model_pb2.ModelProto()
    variables = proto.variables
    variables.ids.extend(range(joint.size))
    for block in joint.blocks():
        variables.lower_bounds.extend(block.lower.ravel().tolist())
        variables.upper_bounds.extend(block.upper.ravel().tolist())
        variables.integers.extend([block.integer] * block.size)
    cost = joint_cost(joint)
    used = np.flatnonzero(cost)
    proto.objective.linear_coefficients.ids.extend(used.tolist())
    proto.objective.linear_coefficients.values.extend(cost[used].tolist())
    add_rows(proto, joint_families(joint) if families is None else families)
    return proto
