"""A program whose answers are chosen falls into parts that share nothing: each is solved alone.

Where it is known which kind serves each demand and on which machine each run is, what is on one GPU
model mostly has no row in common with what is on another. A search over all of them together tries
the choices of one for each choice of the other; apart, they add up. Rows that cut off nothing whole
(`whole_nodes`, `clashes`) join no parts: they hold by themselves, so where one has columns of
several parts it is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from solver.milp.program import Program
from solver.milp.rows import Rows, merged
from solver.milp.sets import Floats
from solver.milp.variables import Ints

_Flags = npt.NDArray[np.bool_]
_IMPLIED = frozenset({"whole_nodes", "fewest_replicas"})
"""Families that whole numbers imply."""


@dataclass(frozen=True, slots=True)
class Arrays:
    """A program as arrays: its entries, the bounds of rows and of columns, and what those cost.

    `is_cut` says which rows are implied by the others and whole numbers, `is_hourly` which columns
    are nodes in one period.
    """

    row: Ints
    column: Ints
    value: Floats
    least: Floats
    most: Floats
    is_cut: _Flags
    lower: Floats
    upper: Floats
    is_whole: _Flags
    usd: Floats
    is_hourly: _Flags

    def beside(self, cuts: Sequence[Rows]) -> "Arrays":
        """Add cuts at the end."""
        if not cuts:
            return self
        row, column, value = merged(cuts)
        least, most = (np.concatenate([getattr(one, of) for one in cuts]) for of in _BOUNDS)
        return replace(
            self,
            row=np.r_[self.row, row + len(self.least)],
            column=np.r_[self.column, column],
            value=np.r_[self.value, value],
            least=np.r_[self.least, least],
            most=np.r_[self.most, most],
            is_cut=np.r_[self.is_cut, np.ones(len(least), dtype=bool)],
        )


_BOUNDS = ("lower", "upper")


def arrays_of(program: Program) -> Arrays:
    """Read a program."""
    row, column, value = merged(program.families)
    least, most = bounds_of_rows(program)
    lower, upper, is_whole = bounds_of_columns(program)
    return Arrays(
        row,
        column,
        value,
        least,
        most,
        implied_rows(program),
        lower,
        upper,
        is_whole,
        program.cost,
        hourly_columns(program),
    )


def bounds_of_rows(program: Program) -> tuple[Floats, Floats]:
    """Give what the rows of a program are at least, and at most."""
    least, most = (np.concatenate([getattr(one, of) for one in program.families]) for of in _BOUNDS)
    return least, most


def implied_rows(program: Program) -> _Flags:
    """Say which rows of a program are implied by the others and whole numbers."""
    return np.concatenate(
        [np.full(len(one.keys), one.family in _IMPLIED) for one in program.families]
    )


def bounds_of_columns(program: Program) -> tuple[Floats, Floats, _Flags]:
    """Give what the columns of a program are at least and at most, and which are whole numbers."""
    blocks = program.columns.blocks()
    lower, upper = (
        np.concatenate([getattr(one, of).ravel() for one in blocks]).astype(float) for of in _BOUNDS
    )
    return lower, upper, np.concatenate([np.full(one.size, one.integer) for one in blocks])


def hourly_columns(program: Program) -> _Flags:
    """Say which columns of a program are nodes in one period."""
    columns = program.columns
    is_hourly = np.zeros(columns.size, dtype=bool)
    for block in (columns.on_demand_nodes, columns.spot_nodes):
        is_hourly[block.start : block.start + block.size] = True
    return is_hourly


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a program: its columns and rows, by position, and what the columns are at most."""

    columns: Ints
    rows: Ints
    upper: Floats


def parts_of(arrays: Arrays, upper: Floats) -> list[Part] | None:
    """Split a program whose columns are at most `upper`; what costs nothing at zero is left out.

    None where a row cannot be kept.
    """
    upper = closed(arrays, upper)
    live = upper[arrays.column] > 0
    joins = live & ~arrays.is_cut[arrays.row]
    label = labels(arrays.row[joins], arrays.column[joins], len(arrays.least), len(upper))
    part_of_row = np.full(len(arrays.least), -1)
    part_of_row[arrays.row[joins]] = label[arrays.column[joins]]
    is_asking = (arrays.least > 0) | (arrays.most < 0)
    if (is_asking & ~arrays.is_cut & (part_of_row < 0)).any():
        return None
    _give_cuts(arrays, live, label, part_of_row)
    is_free = (arrays.lower <= 0) & (arrays.usd >= 0)
    asks = np.zeros(len(label), dtype=bool)
    asks[label[(upper > 0) & ~is_free]] = True
    asks[part_of_row[is_asking & (part_of_row >= 0)]] = True
    parts = []
    for one in np.flatnonzero(asks):
        columns = np.flatnonzero((label == one) & (upper > 0))
        parts.append(Part(columns, np.flatnonzero(part_of_row == one), upper[columns]))
    return parts


def labels(row: Ints, column: Ints, rows: int, columns: int) -> Ints:
    """Give columns that rows join the same number: the least position among them."""
    label = np.arange(columns)
    while True:
        least = np.full(rows, columns)
        np.minimum.at(least, row, label[column])
        before = label.copy()
        np.minimum.at(label, column, least[row])
        if np.array_equal(before, label):
            return label


def closed(arrays: Arrays, upper: Floats) -> Floats:
    """Let columns be nothing that a row leaves no room: all that is left adds up to nothing."""
    upper = upper.copy()
    while True:
        live = upper[arrays.column] > 0
        least = np.full(len(arrays.least), np.inf)
        np.minimum.at(least, arrays.row[live], arrays.value[live])
        is_full = (least > 0) & (arrays.most <= 0)
        shut = np.unique(arrays.column[live & is_full[arrays.row]])
        shut = shut[arrays.lower[shut] >= 0]
        if not len(shut):
            return upper
        upper[shut] = 0.0


def _give_cuts(arrays: Arrays, live: _Flags, label: Ints, part_of_row: Ints) -> None:
    """Give each cut to the part that all of its columns are in."""
    own = live & arrays.is_cut[arrays.row]
    row, part = arrays.row[own], label[arrays.column[own]]
    least = np.full(len(part_of_row), len(label))
    most = np.full(len(part_of_row), -1)
    np.minimum.at(least, row, part)
    np.maximum.at(most, row, part)
    part_of_row[:] = np.where(arrays.is_cut & (least == most), most, part_of_row)
