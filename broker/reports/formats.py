"""How rows are written: a table for people; JSON, CSV and YAML for machines.

Money is written as the exact decimal number that it is: an amount in whole micro-dollars has at
most fifteen digits below a billion dollars, and a float prints those digits unchanged.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

import yaml
from rich import box
from rich.table import Table
from rich.text import Text

from broker.reports.layout import GAP, Fit, column_widths, shorten

WIDE = 120
"""Characters of a terminal from which on wide columns are shown."""


class FlatRow(Protocol):
    """A dataclass of plain fields, and of rows, whose fields take their place."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


RowT = TypeVar("RowT", bound=FlatRow)
Plain = str | int | float | bool | Mapping[str, int] | None
"""What JSON, CSV and YAML can hold."""


class Format(StrEnum):
    """How data is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    YAML = "yaml"


@dataclass(frozen=True)  # with slots, Python 3.11 cannot make Column[Row](...)
class Column(Generic[RowT]):
    """A column of the table for people; a `wide` one is left out of a narrow terminal."""

    heading: str
    text: Callable[[RowT], str]
    align: Literal["left", "right"] = "left"
    fit: Fit = Fit.WHOLE
    wide: bool = False


@dataclass(frozen=True)  # with slots, Python 3.11 cannot make Report[Row](...)
class Report(Generic[RowT]):
    """Rows to be shown.

    The fields of `row_type` are the columns of CSV and the keys of JSON and YAML, where the rows
    are a list called `name` beside `schema` and `facts`.
    """

    schema: str
    name: str
    row_type: type[RowT]
    rows: tuple[RowT, ...]
    columns: tuple[Column[RowT], ...]
    facts: Mapping[str, Plain]


def as_text(report: Report[RowT], form: Format) -> str:
    """Write a report for a machine.

    Raises:
        ValueError: the form is the table, which is laid out by `as_table`.
    """
    if form is Format.JSON:
        return json.dumps(_document(report), indent=2, ensure_ascii=False) + "\n"
    if form is Format.YAML:
        return yaml.safe_dump(_document(report), sort_keys=False, allow_unicode=True)
    if form is Format.CSV:
        return _csv(report)
    raise ValueError(f"{form!r} is no form for machines")


def as_table(report: Report[RowT], width: int) -> Table:
    """Lay the rows out for a terminal of `width` characters."""
    shown = [column for column in report.columns if width >= WIDE or not column.wide]
    texts = [[column.text(row) for row in report.rows] for column in shown]
    widths = column_widths(
        [[column.heading, *cells] for column, cells in zip(shown, texts, strict=True)],
        [column.fit for column in shown],
        width,
    )
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        width=sum(widths) + GAP * (len(widths) - 1),
    )
    for column, room in zip(shown, widths, strict=True):
        wraps = column.fit is Fit.WRAP
        table.add_column(
            column.heading, justify=column.align, no_wrap=not wraps, min_width=room, max_width=room
        )
    for cells in zip(*texts, strict=True):
        table.add_row(*_fitted(cells, shown, widths))
    return table


def plain(value: object) -> Plain:
    """Turn a field into what every machine format can hold.

    Raises:
        TypeError: there is no such form for the value.
    """
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return str(value)  # a StrEnum would print as a member in YAML
        case Decimal():
            return float(value)
        case Fraction():
            return int(value) if value.denominator == 1 else float(value)
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case Mapping():
            return {str(key): int(count) for key, count in value.items()}
        case _:
            raise TypeError(f"{value!r} is no plain field")


def _fitted(
    cells: Iterable[str], columns: Iterable[Column[RowT]], widths: Iterable[int]
) -> Iterator[Text]:
    for cell, column, room in zip(cells, columns, widths, strict=True):
        yield Text(shorten(cell, room) if column.fit is Fit.SHORTEN else cell)


def _document(report: Report[RowT]) -> dict[str, object]:
    rows = [{name: plain(value) for name, value in _fields(row)} for row in report.rows]
    return {"schema": report.schema, **report.facts, report.name: rows}


def _csv(report: Report[RowT]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_names(report.row_type))
    writer.writerows([_cell(value) for _, value in _fields(row)] for row in report.rows)
    return out.getvalue()


def _cell(value: object) -> Plain:
    """Give the text of a cell; counts by reason are `reason=count` pairs."""
    flat = plain(value)
    if isinstance(flat, Mapping):
        return " ".join(f"{key}={count}" for key, count in flat.items())
    return flat


def _fields(row: FlatRow) -> Iterator[tuple[str, object]]:
    for field in fields(row):
        value = getattr(row, field.name)
        if is_dataclass(value) and not isinstance(value, type):
            yield from _fields(value)
        else:
            yield field.name, value


def _names(row_type: type[FlatRow]) -> list[str]:
    names: list[str] = []
    for field in fields(row_type):
        if isinstance(field.type, type) and is_dataclass(field.type):
            names += _names(field.type)
        else:
            names.append(field.name)
    return names
