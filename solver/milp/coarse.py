"""A smaller relaxed program: hours that are alike are added up, which never raises its optimum.

Rows of one family that differ in their period alone are added up over the periods of a cluster;
columns that then have the same coefficients are one, at the least of their costs. Any plan of the
program is one of the smaller. So a bound of it is one of the program, and is soon found.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from ortools.math_opt import model_pb2

from solver.milp.clusters import Clusters
from solver.milp.constraints.firm_capacity import BY_CLUSTER
from solver.milp.linear import LinearPlan, LinearProgram
from solver.milp.program import Program, to_proto
from solver.milp.rows import Entries, Key, Rows, added_up, places, positions
from solver.milp.sets import Floats
from solver.milp.variables import Ints

_BY_PERIOD = frozenset(
    {
        "firm_capacity",
        "spot_capacity",
        "shared_stock",
        "run_link",
        "run_piece",
        "whole_nodes",
        "moved_nodes",
    }
)
"""Families whose keys end in a period."""
_LEFT_OUT = "run_start"
"""What links each period to the next is left out: it would keep all columns of runs apart."""
_SMALLEST = 1e-12
_AT_A_TIME = 1_000_000

_Numbers = TypeVar("_Numbers", Ints, Floats)


@dataclass(frozen=True, slots=True)
class Coarse:
    """The smaller program: `column_of` each column of the large one, and how many are one.

    `row_of` each row of the large one is the row that it is part of, -1 where it is left out.
    `clusters` says which periods were added up; None where all are as they were.
    """

    proto: model_pb2.ModelProto
    column_of: Ints
    members: Floats
    row_of: Ints
    clusters: Clusters | None = None

    @property
    def rows(self) -> int:
        """Count the rows."""
        return len(self.proto.linear_constraints.ids)

    def relaxed(self) -> LinearProgram:
        """Make a linear program of it, which may then grow."""
        return LinearProgram(self.copy(), presolves=False)

    def copy(self) -> model_pb2.ModelProto:
        """Copy the message: whoever solves it changes it."""
        proto = model_pb2.ModelProto()
        proto.CopyFrom(self.proto)
        return proto

    def spread(self, values: Floats) -> Floats:
        """Share values out evenly over the columns of the large program."""
        return np.asarray((values / self.members)[self.column_of])

    def family_of(self, program: Program) -> Ints:
        """Give the number of each row's family in the large program."""
        found = np.zeros(self.rows, dtype=np.int64)
        for number, own in enumerate(_split(self.row_of, program)):
            found[own[own >= 0]] = number
        return found

    def lifted(self, program: Program, plan: LinearPlan) -> LinearPlan:
        """Read a plan of it as one of the large program: its duals keep all that duals must.

        Each row is worth what the row is that it is part of; one left out is worth nothing. The
        values are a mean over what was added up, so may break a row.
        """
        worth = np.append(plan.row_usd, 0.0)[self.row_of]
        paid = np.zeros(program.columns.size)
        for rows, own in zip(program.families, _split(worth, program), strict=True):
            usd = rows.entries.coefficient * own[rows.entries.row]
            paid += np.bincount(rows.entries.column, usd, minlength=len(paid))
        return LinearPlan(plan.usd, self.spread(plan.values), program.cost - paid, worth)

    def added(self, rows: Rows) -> tuple[Rows, Ints]:
        """Add rows with lower bounds up as the program's were; give the new row of each, too.

        Of the coefficients of columns that are one, the largest counts: no plan breaks that.
        """
        row_of = np.arange(len(rows.keys))
        if self.clusters is not None and rows.family in _BY_PERIOD:
            names = [_summed_key(key, self.clusters) for key in rows.keys]
            number = {name: at for at, name in enumerate(dict.fromkeys(names))}
            row_of = np.array([number[name] for name in names], dtype=np.int64)
        keys = tuple((int(one),) for one in np.unique(row_of))
        lower = np.bincount(row_of, rows.lower, minlength=len(keys)).astype(float)
        own = rows.entries
        position, value = _summed(positions(own.column, row_of[own.row]), own.coefficient)
        column, row = places(position)
        row, column, value = self._largest(row, self.column_of[column], value)
        upper = np.full(len(keys), np.inf)
        return Rows(rows.family, keys, Entries(row, column, value), lower, upper), row_of

    def _largest(self, row: Ints, column: Ints, value: Floats) -> tuple[Ints, Ints, Floats]:
        order = np.lexsort((column, row))
        row, column, value = row[order], column[order], value[order]
        first = _first_of(row, column)
        most = np.maximum.reduceat(value, first)
        is_part = np.diff(np.r_[first, len(value)]) < self.members[column[first]]
        return row[first], column[first], np.where(is_part, np.maximum(most, 0.0), most)


def _first_of(row: Ints, column: Ints) -> Ints:
    """Give where each position of sorted entries begins."""
    return np.flatnonzero(np.r_[True, (np.diff(row) != 0) | (np.diff(column) != 0)])


def _summed(position: Ints, value: Floats) -> tuple[Ints, Floats]:
    """Add up entries of one position; what is nothing goes."""
    position, value = added_up(position, value)
    kept = np.abs(value) > _SMALLEST
    return position[kept], value[kept]


def _split(by_row: _Numbers, program: Program) -> list[_Numbers]:
    """Split what is by row into families."""
    ends = np.cumsum([len(one.keys) for one in program.families])
    return np.split(by_row, ends[:-1])


def _added_up(program: Program, row_of: Ints) -> tuple[Ints, Ints, Floats]:
    """Add the entries up a part at a time: there are many more of them than sums."""
    where, sums = list[Ints](), list[Floats]()
    for rows, new in zip(program.families, _split(row_of, program), strict=True):
        own = rows.entries
        for start in range(0, len(own.row), _AT_A_TIME):
            part = slice(start, start + _AT_A_TIME)
            row = new[own.row[part]]
            kept = row >= 0
            if kept.any():
                column, value = own.column[part][kept], own.coefficient[part][kept]
                position, value = _summed(positions(column, row[kept]), value)
                where.append(position)
                sums.append(value)
    position, value = np.concatenate(where), np.concatenate(sums)
    where.clear()
    sums.clear()
    position, value = _summed(position, value)
    column, row = places(position)
    return row, column, value


def as_it_is(program: Program) -> Coarse:
    """Add nothing up."""
    columns = program.columns.size
    rows = sum(len(family.keys) for family in program.families)
    return Coarse(to_proto(program), np.arange(columns), np.ones(columns), np.arange(rows))


def coarse(program: Program, clusters: Clusters) -> Coarse:
    """Add up the periods of each cluster of a program; those of some rows may be so already."""
    row_of, lower, upper = _rows(program, clusters)
    row, column, value = _added_up(program, row_of)
    blocks = program.columns.blocks()
    most = np.concatenate([one.upper.ravel() for one in blocks])
    column_of = _alike(row, column, value, len(most))
    count = int(column_of.max(initial=-1)) + 1
    usd = np.full(count, np.inf)
    np.minimum.at(usd, column_of, program.cost)
    members = np.bincount(column_of, minlength=count).astype(float)
    proto = model_pb2.ModelProto()
    proto.variables.ids.extend(range(count))
    proto.variables.lower_bounds.extend([0.0] * count)
    proto.variables.upper_bounds.extend(np.bincount(column_of, most, minlength=count).tolist())
    proto.variables.integers.extend([False] * count)
    used = np.flatnonzero(usd)
    proto.objective.linear_coefficients.ids.extend(used.tolist())
    proto.objective.linear_coefficients.values.extend(usd[used].tolist())
    proto.linear_constraints.ids.extend(range(len(lower)))
    proto.linear_constraints.lower_bounds.extend(lower.tolist())
    proto.linear_constraints.upper_bounds.extend(upper.tolist())
    _, first = np.unique(column_of, return_index=True)
    kept = np.isin(column, first)
    row, column, value = row[kept], column_of[column[kept]], value[kept]
    order = np.lexsort((column, row))
    proto.linear_constraint_matrix.row_ids.extend(row[order].tolist())
    proto.linear_constraint_matrix.column_ids.extend(column[order].tolist())
    proto.linear_constraint_matrix.coefficients.extend(value[order].tolist())
    return Coarse(proto, column_of, members, row_of, clusters)


def _rows(program: Program, clusters: Clusters) -> tuple[Ints, Floats, Floats]:
    """Give the new row of each row, -1 for those left out, and the bounds of the new ones."""
    number: dict[tuple[object, ...], int] = {}
    row_of: list[int] = []
    summed = frozenset() if program.sets.clusters is None else BY_CLUSTER
    for family in program.families:
        name = family.family
        for at, key in enumerate(family.keys):
            if name == _LEFT_OUT:
                row_of.append(-1)
                continue
            new: tuple[object, ...] = (name, at)
            if name in summed:
                new = (name, *key, "cluster")
            elif name in _BY_PERIOD:
                new = (name, *_summed_key(key, clusters), "cluster")
            row_of.append(number.setdefault(new, len(number)))
    rows = np.array(row_of, dtype=np.int64)
    kept = rows >= 0
    bounds = []
    for which in ("lower", "upper"):
        own = np.concatenate([getattr(one, which) for one in program.families])[kept]
        bounds.append(np.bincount(rows[kept], own, minlength=len(number)).astype(float))
    return rows, bounds[0], bounds[1]


def _summed_key(key: Key, clusters: Clusters) -> Key:
    """Name the cluster in place of the period."""
    return (*key[:-1], int(clusters.of[int(str(key[-1]))]))


def _alike(row: Ints, column: Ints, value: Floats, columns: int) -> Ints:
    """Give columns with the same coefficients the same number; entries are sorted by column."""
    starts = np.searchsorted(column, np.arange(columns + 1))
    number: dict[tuple[bytes, bytes], int] = {}
    found = np.zeros(columns, dtype=np.int64)
    for one in range(columns):
        own = slice(starts[one], starts[one + 1])
        found[one] = number.setdefault((row[own].tobytes(), value[own].tobytes()), len(number))
    return found
