"""How rows are written: a table for people; JSON, CSV and YAML for machines.

Money is written as the exact decimal number that it is: an amount in whole micro-dollars has at
most fifteen digits below a billion dollars, and a float prints those digits unchanged.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from broker.domain.cells import inert
from broker.reports.layout import Align, Cells, Fit, table_lines
from broker.reports.steering import printable


class FlatRow(Protocol):
    """A dataclass of plain fields, and of rows, whose fields take their place."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


RowT = TypeVar("RowT", bound=FlatRow)
Plain = str | int | float | bool | Mapping[str, int] | tuple[str | int, ...] | None
"""What JSON, CSV and YAML can hold; a list of theirs is a tuple of ours."""


class Format(StrEnum):
    """How data is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    YAML = "yaml"


@dataclass(frozen=True)  # with slots, Python 3.11 cannot make Column[Row](...)
class Column(Generic[RowT]):
    """A column of the table for people; where room is short, the highest `spare` goes first."""

    heading: str
    text: Callable[[RowT], str]
    align: Align = "left"
    fit: Fit = Fit.WHOLE
    spare: int = 0


@dataclass(frozen=True)  # with slots, Python 3.11 cannot make Report[Row](...)
class Report(Generic[RowT]):
    """Rows to be shown.

    The fields of `row_type` are the columns of CSV and the keys of JSON and YAML, where the rows
    are a list called `name` beside `schema` and `facts`. `beside` are further lists by their name,
    which JSON and YAML have.
    """

    schema: str
    name: str
    row_type: type[RowT]
    rows: tuple[RowT, ...]
    columns: tuple[Column[RowT], ...]
    facts: Mapping[str, Plain]
    beside: Mapping[str, tuple[FlatRow, ...]] = field(default_factory=dict)


def as_text(report: Report[RowT], form: Format) -> str:
    """Write a report for a machine.

    Raises:
        ValueError: the form is the table, which is laid out by `as_table`.
    """
    if form is Format.JSON:
        return json.dumps(_document(report), indent=2, ensure_ascii=False) + "\n"
    if form is Format.YAML:
        return _yaml(_document(report))
    if form is Format.CSV:
        return _csv(report)
    raise ValueError(f"{form!r} is no form for machines")


def as_table(report: Report[RowT], width: int) -> str:
    """Lay the rows out for a terminal of `width` characters."""
    columns = [
        Cells(
            (column.heading, *(printable(column.text(row)) for row in report.rows)),
            align=column.align,
            fit=column.fit,
            spare=column.spare,
        )
        for column in report.columns
    ]
    return "".join(f"{line}\n" for line in table_lines(columns, width))


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
        case Decimal() | Fraction():
            return (
                int(value)
                if isinstance(value, Fraction) and value.denominator == 1
                else float(value)
            )
        case date():
            return _instant(value) if isinstance(value, datetime) else value.isoformat()
        case Mapping():
            return {str(key): int(count) for key, count in value.items()}
        case tuple():
            return tuple(one if isinstance(one, int) else str(one) for one in value)
        case _:
            raise TypeError(f"{value!r} is no plain field")


def _instant(value: datetime) -> str:
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _document(report: Report[RowT]) -> dict[str, object]:
    rows = {report.name: _documents(report.rows)}
    beside = {name: _documents(others) for name, others in report.beside.items()}
    return {"schema": report.schema, **report.facts, **rows, **beside}


def _documents(rows: Iterable[FlatRow]) -> list[dict[str, object]]:
    read = _Reader()
    return [{name: _written(value) for name, value in read(row)} for row in rows]


def _written(value: object) -> object:
    flat = plain(value)
    return list(flat) if isinstance(flat, tuple) else flat


def _yaml(document: dict[str, object]) -> str:
    import yaml  # noqa: PLC0415 - a table and the other formats do without

    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def _csv(report: Report[RowT]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_names(report.row_type))
    read = _Reader()
    writer.writerows([_cell(value) for _, value in read(row)] for row in report.rows)
    return out.getvalue()


def _cell(value: object) -> Plain:
    """Give the content of a cell; counts by reason are `reason=count` pairs, a list has bars.

    Text that a spreadsheet would take for a formula gets an apostrophe, as names come from outside.
    """
    flat = plain(value)
    if isinstance(flat, Mapping):
        flat = " ".join(f"{key}={count}" for key, count in flat.items())
    elif isinstance(flat, tuple):
        flat = "|".join(str(one) for one in flat)
    return inert(flat) if isinstance(flat, str) else flat


class _Reader:
    """Reads the fields of rows; it looks up once what the rows of a type are made of."""

    def __init__(self) -> None:
        self._names: dict[type[FlatRow], tuple[str, ...]] = {}

    def __call__(self, row: FlatRow) -> Iterator[tuple[str, object]]:
        """Yield the fields of a row by name, those of a row inside it in its place."""
        kind = type(row)
        names = self._names.get(kind)
        if names is None:
            names = self._names[kind] = tuple(one.name for one in fields(row))
        for name in names:
            value = getattr(row, name)
            if hasattr(type(value), "__dataclass_fields__"):
                yield from self(value)
            else:
                yield name, value


def _names(row_type: type[FlatRow]) -> list[str]:
    names: list[str] = []
    for one in fields(row_type):
        if isinstance(one.type, type) and is_dataclass(one.type):
            names += _names(one.type)
        else:
            names.append(one.name)
    return names
