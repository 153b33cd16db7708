"""Where a relaxed program ended, carried over to one that has grown, so that it goes on from there.

Columns are known again by their names. A row of the grown program is known again by its family and
by its coefficients in columns that were there before; any other is new. What is new begins at
nothing, a row by its own slack: so the basis of before is part of one of the grown program, and the
plan of before, which is a plan of it too, is where the primal simplex begins. Where that does not
come out even, as rows or columns went, nothing is carried over.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from ortools.math_opt import model_pb2, solution_pb2

from solver.milp.column_names import NAMELESS
from solver.milp.variables import Ints

_Bits = npt.NDArray[np.uint64]

_AT_LOWER = solution_pb2.BASIS_STATUS_AT_LOWER_BOUND
_BASIC = solution_pb2.BASIS_STATUS_BASIC
_DIGITS = 9
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIXERS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))


@dataclass(frozen=True, slots=True)
class Named:
    """A program, with the name of each column, and the number of each row's family."""

    proto: model_pb2.ModelProto
    names: Ints
    family_of: Ints


@dataclass(frozen=True, slots=True)
class Ended:
    """The columns by name, ascending, and the rows by mark, ascending, with the basis' statuses."""

    names: Ints
    column_status: Ints
    marks: Ints
    row_status: Ints


def ended(of: Named, basis: solution_pb2.BasisProto) -> Ended:
    """Keep where a program ended."""
    columns = _dense(basis.variable_status, len(of.names))
    rows = _dense(basis.constraint_status, len(of.family_of))
    marks = _marks(of, of.names != NAMELESS)
    by_name, by_mark = np.argsort(of.names), np.argsort(marks)
    return Ended(of.names[by_name], columns[by_name], marks[by_mark], rows[by_mark])


def carried(before: Ended, of: Named) -> solution_pb2.BasisProto | None:
    """Give the basis from which a grown program goes on; None where it is not one that grew."""
    column_of = _found(before.names, of.names)
    row_of = _found(before.marks, _marks(of, column_of >= 0))
    columns = np.where(column_of >= 0, before.column_status[column_of], _AT_LOWER)
    rows = np.where(row_of >= 0, before.row_status[row_of], _BASIC)
    if (columns == _BASIC).sum() + (rows == _BASIC).sum() != len(rows):
        return None
    basis = solution_pb2.BasisProto()
    for part, status in ((basis.variable_status, columns), (basis.constraint_status, rows)):
        part.ids.extend(range(len(status)))
        part.values.extend(status.tolist())
    return basis


def _dense(sparse: solution_pb2.SparseBasisStatusVector, count: int) -> Ints:
    status = np.full(count, _AT_LOWER, dtype=np.int64)
    status[np.array(sparse.ids, dtype=np.int64)] = sparse.values
    return status


def _found(ascending: Ints, wanted: Ints) -> Ints:
    """Give where each is among those that ascend, -1 where it is not; so -1 is nowhere."""
    if not len(ascending):
        return np.full(len(wanted), -1)
    at = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return np.where((ascending[at] == wanted) & (wanted != -1), at, -1)


def _marks(of: Named, known: npt.NDArray[np.bool_]) -> Ints:
    """Mark each row by its family and its coefficients in the columns that are known.

    Rows that are the same are told apart by their order. Numbers of 64 bits wrap around.
    """
    matrix = of.proto.linear_constraint_matrix
    row, column = (np.array(one, dtype=np.int64) for one in (matrix.row_ids, matrix.column_ids))
    kept = known[column]
    value = np.round(np.array(matrix.coefficients, dtype=float)[kept], _DIGITS) + 0.0
    mixed = _mixed(of.names[column[kept]].astype(np.uint64) ^ _mixed(value.view(np.uint64)))
    marks = _mixed(of.family_of.astype(np.uint64))
    np.add.at(marks, row[kept], mixed)
    return np.asarray(_mixed(marks + _order_among_equals(marks)).astype(np.int64))


def _order_among_equals(marks: _Bits) -> _Bits:
    order = np.argsort(marks, kind="stable")
    _, first, count = np.unique(marks[order], return_index=True, return_counts=True)
    number = np.empty(len(marks), dtype=np.uint64)
    number[order] = np.arange(len(marks)) - np.repeat(first, count)
    return number


def _mixed(bits: _Bits) -> _Bits:
    """Spread numbers of 64 bits out, each to another one (SplitMix64)."""
    bits = bits + _STEP
    for shift, mixer in _MIXERS:
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(mixer)
    return np.asarray(bits)
