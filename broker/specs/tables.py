"""The CSV tables of this package: every row is text keyed by column, an empty cell is None."""

import csv
from collections.abc import Mapping
from importlib.resources import files

from broker.domain.errors import ConfigurationError

Row = Mapping[str, str | None]


def read_table(name: str) -> tuple[Row, ...]:
    """Read one table of the package, in the order of its rows.

    Raises:
        ConfigurationError: a row has more or fewer cells than the header.
    """
    text = files("broker.specs").joinpath(name).read_text(encoding="utf-8")
    header, *lines = csv.reader(text.splitlines())
    rows = []
    for number, cells in enumerate(lines, start=2):
        if len(cells) != len(header):
            raise ConfigurationError(
                f"{name} line {number} has {len(cells)} cells, the header has {len(header)}",
                hint="reinstall the package: its tables are damaged",
            )
        rows.append({key: cell or None for key, cell in zip(header, cells, strict=True)})
    return tuple(rows)


def text(row: Row, column: str) -> str:
    """Read a cell as text, an empty one as empty text."""
    return row[column] or ""


def number(row: Row, column: str) -> float | None:
    """Read a cell as a number, an empty one as None."""
    cell = row[column]
    return None if cell is None else float(cell)
