"""The model of a part, in which hours that ask for the same of a machine are one.

Given which replicas are where and what is committed, the nodes of each hour are decided by
themselves. Hours whose rows are the same but for their own nodes, at the same prices, have the same
best answer, so one column stands for all of them, at the sum of their costs. Where one demand is
alone on a machine, there are as many different hours as sizes of its fleet.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from ortools.math_opt import model_pb2

from solver.milp.parts import Arrays, Part, labels
from solver.milp.rows import added_up, places, positions
from solver.milp.sets import Floats
from solver.milp.variables import Ints

_DIGITS = 12


@dataclass(frozen=True, slots=True)
class PartModel:
    """A model, and which of its columns each column of the part is."""

    proto: model_pb2.ModelProto
    column_of: Ints

    def values(self, found: Floats) -> Floats:
        """Give the values of the part's columns."""
        return np.asarray(found[self.column_of])

    def hint(self, values: Floats) -> Floats:
        """Give values of the part's columns to those of the model."""
        hint = np.zeros(len(self.proto.variables.ids))
        hint[self.column_of] = values
        return hint

    def usd(self, found: Floats) -> float:
        """Give what values of the model cost."""
        own = self.proto.objective.linear_coefficients
        return float(np.array(own.values) @ found[np.array(own.ids, dtype=np.int64)])


@dataclass(frozen=True, slots=True)
class _Own:
    """A part's entries by row and column of the part, and facts of those rows and columns."""

    row: Ints
    column: Ints
    value: Floats
    row_bounds: Floats
    column_bounds: Floats
    usd: Floats


def part_model(arrays: Arrays, part: Part) -> PartModel:
    """Write the model of a part."""
    own = _own(arrays, part)
    is_cut = arrays.is_cut[part.rows]
    stands_for = _alike(own, arrays.is_hourly[part.columns], is_cut)
    kept, column_of = np.unique(stands_for, return_inverse=True)
    is_new = stands_for == np.arange(len(stands_for))
    is_kept = np.ones(len(part.rows), dtype=bool)
    is_kept[own.row[~is_new[own.column]]] = False
    is_kept |= is_cut
    row_at = np.cumsum(is_kept) - 1
    entry = is_kept[own.row]
    position = positions(row_at[own.row[entry]], column_of[own.column[entry]])
    position, value = added_up(position, own.value[entry])
    row, column = places(position)
    usd = np.bincount(column_of, own.usd, minlength=len(kept))
    proto = model_pb2.ModelProto()
    proto.variables.ids.extend(range(len(kept)))
    proto.variables.lower_bounds.extend(own.column_bounds[0, kept].tolist())
    proto.variables.upper_bounds.extend(own.column_bounds[1, kept].tolist())
    proto.variables.integers.extend(arrays.is_whole[part.columns[kept]].tolist())
    proto.objective.linear_coefficients.ids.extend(np.flatnonzero(usd).tolist())
    proto.objective.linear_coefficients.values.extend(usd[usd != 0].tolist())
    proto.linear_constraints.ids.extend(range(int(is_kept.sum())))
    proto.linear_constraints.lower_bounds.extend(own.row_bounds[0, is_kept].tolist())
    proto.linear_constraints.upper_bounds.extend(own.row_bounds[1, is_kept].tolist())
    proto.linear_constraint_matrix.row_ids.extend(row.tolist())
    proto.linear_constraint_matrix.column_ids.extend(column.tolist())
    proto.linear_constraint_matrix.coefficients.extend(value.tolist())
    return PartModel(proto, column_of)


def _own(arrays: Arrays, part: Part) -> _Own:
    row_at = np.full(len(arrays.least), -1)
    row_at[part.rows] = np.arange(len(part.rows))
    column_at = np.full(len(arrays.upper), -1)
    column_at[part.columns] = np.arange(len(part.columns))
    entry = (row_at[arrays.row] >= 0) & (column_at[arrays.column] >= 0)
    return _Own(
        row_at[arrays.row[entry]],
        column_at[arrays.column[entry]],
        arrays.value[entry],
        np.stack([arrays.least[part.rows], arrays.most[part.rows]]),
        np.stack([arrays.lower[part.columns], part.upper]),
        arrays.usd[part.columns],
    )


def _alike(own: _Own, is_hourly: npt.NDArray[np.bool_], is_cut: npt.NDArray[np.bool_]) -> Ints:
    """Give the column that each column is the same as: itself, or that of an earlier hour."""
    stands_for = np.arange(len(is_hourly))
    of_hours = is_hourly[own.column] & ~is_cut[own.row]
    if not of_hours.any():
        return stands_for
    label = labels(own.row[of_hours], own.column[of_hours], len(is_cut), len(is_hourly))
    hour_of_row = np.full(len(is_cut), -1)
    hour_of_row[own.row[of_hours]] = label[own.column[of_hours]]
    first: dict[bytes, Ints] = {}
    for columns, sign in _signed(own, np.where(is_hourly, label, -1), hour_of_row):
        stands_for[columns] = first.setdefault(sign, columns)
    return stands_for


def _signed(own: _Own, of_column: Ints, of_row: Ints) -> Iterator[tuple[Ints, bytes]]:
    """Give the columns of each hour, and what tells it from others."""
    columns, rows = _by_hour(of_column), _by_hour(of_row)
    entries = _by_hour(of_row[own.row])
    hours = np.unique(of_column[columns])
    ends = np.r_[hours, hours[-1] + 1]
    starts = [
        np.asarray(np.searchsorted(of, ends), dtype=np.int64)
        for of in (of_column[columns], of_row[rows], of_row[own.row[entries]])
    ]
    rank = _ranks(columns, starts[0], len(of_column))
    row_rank = _ranks(rows, starts[1], len(of_row))
    named = np.where(rank[own.column] >= 0, -1 - rank[own.column], own.column)[entries]
    within, value = row_rank[own.row[entries]], own.value[entries]
    for number in range(len(hours)):
        column, row, entry = (slice(of[number], of[number + 1]) for of in starts)
        usd = own.usd[columns[column]]
        facts = (
            named[entry],
            within[entry],
            value[entry],
            own.row_bounds[:, rows[row]],
            own.column_bounds[:, columns[column]],
            np.round(usd / (usd.max() or 1.0), _DIGITS),
        )
        yield columns[column], b"|".join(fact.tobytes() for fact in facts)


def _by_hour(of: Ints) -> Ints:
    """Sort the positions of what has an hour by it."""
    own = np.flatnonzero(of >= 0)
    return own[np.argsort(of[own], kind="stable")]


def _ranks(positions_: Ints, starts: Ints, count: int) -> Ints:
    """Number what is in each stretch from 0 on; -1 for what is in none."""
    rank = np.full(count, -1)
    rank[positions_] = np.arange(len(positions_)) - np.repeat(starts[:-1], np.diff(starts))
    return rank
