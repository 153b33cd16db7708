"""The program: all columns, families and terms of a case, joined into one model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from ortools.math_opt import model_pb2

from solver.milp.constraints import CONSTRAINTS
from solver.milp.objective import TERMS
from solver.milp.objective.terms import TermCost
from solver.milp.rows import Rows, merged
from solver.milp.sets import Floats, Sets
from solver.milp.variables import Columns, build_columns

_AT_A_TIME = 1_000_000
"""A list holds an object for each number, so it is made for a part of them at a time."""


@dataclass(frozen=True, slots=True)
class Program:
    """A built program: its sets, columns, families in order, and objective terms."""

    sets: Sets
    columns: Columns
    families: tuple[Rows, ...]
    terms: tuple[TermCost, ...]

    @property
    def entries(self) -> int:
        """Count the coefficients."""
        return sum(len(family.entries.row) for family in self.families)

    @property
    def cost(self) -> Floats:
        """Give the dollars of one unit of each column: the sum of the terms."""
        cost = np.zeros(self.columns.size)
        for term in self.terms:
            np.add.at(cost, term.column, term.usd)
        return cost


def build_program(sets: Sets) -> Program:
    """Build every family and term over the sets."""
    columns = build_columns(sets)
    return Program(
        sets=sets,
        columns=columns,
        families=tuple(family(sets, columns) for family in CONSTRAINTS),
        terms=tuple(term(sets, columns) for term in TERMS),
    )


def to_proto(program: Program) -> model_pb2.ModelProto:
    """Write the program as a MathOpt model; arrays go in whole, a million rows a second."""
    proto = model_pb2.ModelProto()
    blocks = program.columns.blocks()
    variables = proto.variables
    variables.ids.extend(range(program.columns.size))
    variables.lower_bounds.extend(np.concatenate([one.lower.ravel() for one in blocks]).tolist())
    variables.upper_bounds.extend(np.concatenate([one.upper.ravel() for one in blocks]).tolist())
    variables.integers.extend(
        np.concatenate([np.full(one.size, one.integer) for one in blocks]).tolist()
    )
    cost = program.cost
    used = np.flatnonzero(cost)
    proto.objective.linear_coefficients.ids.extend(used.tolist())
    proto.objective.linear_coefficients.values.extend(cost[used].tolist())
    add_rows(proto, program.families)
    return proto


def add_rows(proto: model_pb2.ModelProto, families: Sequence[Rows]) -> None:
    """Add the rows of families to a model, at the end."""
    first = len(proto.linear_constraints.ids)
    count = sum(len(family.keys) for family in families)
    proto.linear_constraints.ids.extend(range(first, first + count))
    for family in families:
        proto.linear_constraints.lower_bounds.extend(family.lower.tolist())
        proto.linear_constraints.upper_bounds.extend(family.upper.tolist())
    if not families:
        return
    row, column, value = merged(families)
    matrix = proto.linear_constraint_matrix
    for start in range(0, len(row), _AT_A_TIME):
        part = slice(start, start + _AT_A_TIME)
        matrix.row_ids.extend((row[part] + first).tolist())
        matrix.column_ids.extend(column[part].tolist())
        matrix.coefficients.extend(value[part].tolist())
