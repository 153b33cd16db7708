"""Rows of the program: one constraint family as arrays."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import overload

import numpy as np

from solver.milp.sets import Floats
from solver.milp.variables import Ints

Key = tuple[object, ...]
_BITS = 32


@dataclass(frozen=True, slots=True)
class Entries:
    """Coefficients of a family: row number inside the family, column number, value."""

    row: Ints
    column: Ints
    coefficient: Floats


@dataclass(frozen=True, slots=True)
class Rows:
    """A family: `lower ≤ Σ coefficient · column ≤ upper`, one key a row."""

    family: str
    keys: Sequence[Key]
    entries: Entries
    lower: Floats
    upper: Floats


def entries(row: Ints | int, column: Ints, coefficient: Floats | float) -> Entries:
    """Broadcast positions and coefficients to flat arrays of one length."""
    rows, columns, values = np.broadcast_arrays(row, column, coefficient)
    return Entries(
        np.asarray(rows, dtype=np.int64).ravel(),
        np.asarray(columns, dtype=np.int64).ravel(),
        np.asarray(values, dtype=float).ravel(),
    )


def rows_of(
    family: str,
    keys: Sequence[Key],
    parts: Sequence[Entries],
    *,
    lower: Floats | float = -np.inf,
    upper: Floats | float = np.inf,
) -> Rows:
    """Join the parts of a family; bounds are one number or one a row."""
    count = len(keys)
    empty = np.zeros(0, dtype=np.int64)
    joined = Entries(
        np.concatenate([part.row for part in parts]) if parts else empty,
        np.concatenate([part.column for part in parts]) if parts else empty,
        np.concatenate([part.coefficient for part in parts]) if parts else np.zeros(0),
    )
    return Rows(
        family=family,
        keys=keys if isinstance(keys, Grid) else tuple(keys),
        entries=joined,
        lower=np.broadcast_to(np.asarray(lower, dtype=float), (count,)).copy(),
        upper=np.broadcast_to(np.asarray(upper, dtype=float), (count,)).copy(),
    )


def some_of(rows: Rows, which: Ints) -> Rows:
    """Keep some rows of a family, by position."""
    position = np.full(len(rows.keys), -1, dtype=np.int64)
    position[which] = np.arange(len(which))
    row = position[rows.entries.row]
    kept = row >= 0
    own = Entries(row[kept], rows.entries.column[kept], rows.entries.coefficient[kept])
    keys = tuple(rows.keys[one] for one in which.tolist())
    return Rows(rows.family, keys, own, rows.lower[which], rows.upper[which])


class Grid(Sequence[Key]):
    """All positions of a product of sets, the last running fastest; each is made when asked for.

    Kept as they are, millions of them take more memory than the rows.
    """

    def __init__(self, sizes: tuple[int, ...]) -> None:
        """Take the sizes of the sets."""
        self._sizes = sizes

    def __len__(self) -> int:
        """Count the positions."""
        return math.prod(self._sizes)

    @overload
    def __getitem__(self, at: int) -> Key: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Key, ...]: ...
    def __getitem__(self, at: int | slice) -> Key | tuple[Key, ...]:
        """Give one position, or some."""
        if isinstance(at, slice):
            return tuple(self)[at]
        return tuple(int(part) for part in np.unravel_index(range(len(self))[at], self._sizes))

    def __iter__(self) -> Iterator[Key]:
        """Give all in order."""
        return product(*(range(size) for size in self._sizes))


def grid(*sizes: int) -> Grid:
    """List all positions of a product of sets, the last running fastest."""
    return Grid(sizes)


def merged(families: Sequence[Rows]) -> tuple[Ints, Ints, Floats]:
    """Join the entries of all families, sorted by row and column, equal positions added up."""
    starts = np.cumsum([0, *(len(family.keys) for family in families)])
    row = np.concatenate(
        [one.entries.row + start for one, start in zip(families, starts[:-1], strict=True)]
    )
    column = np.concatenate([one.entries.column for one in families])
    value = np.concatenate([one.entries.coefficient for one in families])
    position, value = added_up(positions(row, column), value)
    return *places(position), value


def positions(major: Ints, minor: Ints) -> Ints:
    """Write two positions as one number, which sorts like them in a third of the memory."""
    return (major << _BITS) | minor


def places(position: Ints) -> tuple[Ints, Ints]:
    """Read the two positions again."""
    return position >> _BITS, position & ((1 << _BITS) - 1)


def added_up(position: Ints, value: Floats) -> tuple[Ints, Floats]:
    """Sort by position, and add up the values of each."""
    if not len(position):
        return position, value
    order = np.argsort(position, kind="stable")
    position, value = position[order], value[order]
    del order
    first = np.flatnonzero(np.r_[True, position[1:] != position[:-1]])
    return position[first], np.add.reduceat(value, first)
