"""A program as lines of text, for golden tests and for eyes."""

from collections.abc import Iterator

import numpy as np

from solver.milp.program import Program
from solver.milp.rows import Rows


def lines(program: Program, family: str) -> list[str]:
    """Write the rows of one family as text, one a line: name, terms, bounds."""
    rows = next(one for one in program.families if one.family == family)
    names = column_names(program)
    return [_line(rows, number, names) for number in range(len(rows.keys))]


def term_lines(program: Program, term: str) -> list[str]:
    """Write one term of the objective as text, one column a line: dollars and name."""
    cost = next(one for one in program.terms if one.term == term)
    names = column_names(program)
    pairs = zip(cost.column.tolist(), cost.usd.tolist(), strict=True)
    return [f"{term}: {usd:+.6g} {names[column]}" for column, usd in pairs]


def column_names(program: Program) -> list[str]:
    """Name every column by its block and position."""
    return [
        f"{block.name}[{','.join(str(part) for part in key)}]"
        for block in program.columns.blocks()
        for key in np.ndindex(*block.upper.shape)
    ]


def _line(rows: Rows, number: int, names: list[str]) -> str:
    terms = " ".join(_terms(rows, number, names)) or "0"
    low, high = rows.lower[number], rows.upper[number]
    left = f"{low:.6g} <= " if np.isfinite(low) else ""
    right = f" <= {high:.6g}" if np.isfinite(high) else ""
    key = ",".join(str(part) for part in rows.keys[number])
    return f"{rows.family}[{key}]: {left}{terms}{right}"


def _terms(rows: Rows, number: int, names: list[str]) -> Iterator[str]:
    for place in np.flatnonzero(rows.entries.row == number):
        value = rows.entries.coefficient[place]
        yield f"{value:+.6g} {names[rows.entries.column[place]]}"
