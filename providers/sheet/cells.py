"""Cells of a sheet: text of the file to typed values, and errors that say where and what next."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from difflib import get_close_matches
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from broker.domain.errors import ConfigurationError
from broker.domain.quantities import parse_instant
from providers.sheet.columns import Column

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_COUNT = re.compile(r"\d+(\.\d+)?(/[1-9]\d*)?", re.ASCII)
_MONTH = re.compile(r"\d{4}-\d{2}", re.ASCII)
_COMMIT = re.compile(r"(?!\d{8}$)[0-9a-f]{7,64}", re.ASCII)  # 20261201 is a date
_MOST = Decimal(1_000_000_000)
_MOST_GPUS = 10_000
_FINEST_SLICE = 64
_TRUE = frozenset({"true", "yes", "1"})
_FALSE = frozenset({"false", "no", "0"})

_Choice = TypeVar("_Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Row:
    """One row as text, by the meaning of its columns; `where` is how a person finds it."""

    path: Path
    where: str
    columns: Mapping[str, Column]
    cells: Mapping[str, str]

    def text(self, name: str) -> str:
        """Read a cell as text; a column that the sheet lacks reads as empty."""
        return self.cells.get(name, "")

    def currency(self, name: str) -> str | None:
        """Give the currency that the column's name carries."""
        column = self.columns.get(name)
        return column.currency if column else None

    def error(self, name: str, problem: str, *, hint: str) -> ConfigurationError:
        """Say what is wrong with a cell: file, row, column and value stand before the problem."""
        column = self.columns.get(name)
        header = column.header if column else name
        return ConfigurationError(
            f"{self.path}, {self.where}, column {header}: {self.text(name)!r} {problem}", hint=hint
        )


def required(row: Row, name: str) -> str:
    """Read a text that must be there."""
    text = row.text(name)
    if not text:
        raise row.error(name, "is empty", hint=f"every row needs its {name}")
    return text


def amount(row: Row, name: str) -> Decimal | None:
    """Read money: None for an empty cell, 0 where the cell says that there is none (0, NaN).

    Raises:
        ConfigurationError: the cell is no number, below zero, or beyond any price.
    """
    text = row.text(name)
    if not text:
        return None
    if text.lower() == "nan":
        return Decimal(0)
    if not _NUMBER.fullmatch(text):
        raise row.error(
            name,
            "is no number",
            hint="write digits with a point and nothing else, such as 2.49; "
            "leave the cell empty where there is no price",
        )
    value = Decimal(text)
    if value < 0:
        raise row.error(name, "is below zero", hint="correct the price or leave the cell empty")
    if value > _MOST:
        raise row.error(name, "is beyond any price", hint="prices are per hour; check the unit")
    return value


def number(row: Row, name: str) -> float | None:
    """Read a quantity of 0 or more; an empty cell is None.

    Raises:
        ConfigurationError: the cell is no finite number, or below zero.
    """
    text = row.text(name)
    if not text:
        return None
    if not _NUMBER.fullmatch(text) or not 0 <= float(text) < math.inf:
        raise row.error(
            name,
            "is no quantity",
            hint="write a number of 0 or more without its unit, or leave the cell empty",
        )
    return float(text)


def coordinate(row: Row, name: str, limit: float) -> float | None:
    """Read degrees from -limit to limit; an empty cell is None."""
    text = row.text(name)
    if not text:
        return None
    if not _NUMBER.fullmatch(text) or abs(float(text)) > limit:
        raise row.error(name, "is no coordinate", hint=f"write degrees from -{limit} to {limit}")
    return float(text)


def whole(row: Row, name: str) -> int | None:
    """Read a whole number of 1 or more; an empty cell is None."""
    text = row.text(name)
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise row.error(name, "is no whole number", hint="write 1 or more, or leave it empty")
    return int(text)


def gpu_count(row: Row, name: str) -> Fraction | None:
    """Read GPUs of a node: 8, 0.25 or 1/6; None for an empty cell and for 0, which says nothing."""
    text = row.text(name)
    if not text:
        return None
    readable = _COUNT.fullmatch(text) and not ("." in text and "/" in text)
    if not readable or Fraction(text) > _MOST_GPUS:
        raise row.error(name, "is no count", hint="write 8, 0.25 or 1/6, or leave it empty")
    value = Fraction(text)
    if value.denominator > _FINEST_SLICE:  # 0.167 is a sixth
        value = value.limit_denominator(_FINEST_SLICE)
    if value > 1 and value.denominator > 1:
        raise row.error(name, "is no count", hint="a node has whole GPUs, or a part of one: 8, 1/6")
    return value or None


def instant(row: Row, name: str) -> datetime | None:
    """Read a date or a month (its first moment, UTC) or an instant; an empty cell is None."""
    text = row.text(name)
    if not text:
        return None
    try:
        found = parse_instant(f"{text}-01" if _MONTH.fullmatch(text) else text)
    except (ValueError, OverflowError) as cause:
        raise row.error(name, "is no date", hint="write 2026-12-01 or an instant") from cause
    return found if isinstance(found, datetime) else None


def dated(row: Row) -> datetime | None:
    """Read when a row was true: observed_on, or commit_or_date where that is a date.

    A commit names a state of a file and no day, so such a row is undated.
    """
    text = row.text("commit_or_date")
    if row.text("observed_on") or not text:
        return instant(row, "observed_on")
    return None if _COMMIT.fullmatch(text) else instant(row, "commit_or_date")


def choice(row: Row, name: str, kind: type[_Choice]) -> _Choice | None:
    """Read one of a closed set of words; case, blanks and hyphens do not matter."""
    text = row.text(name)
    if not text:
        return None
    word = re.sub(r"[\s-]+", "_", text.lower())
    words = [str(one) for one in kind]
    if word not in words:
        near = get_close_matches(word, words, n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise row.error(name, "is not known", hint=f"{meant}known: {', '.join(words)}")
    return kind(word)


def flag(row: Row, name: str) -> bool | None:
    """Read true or false (yes, no, 1, 0); an empty cell is None."""
    text = row.text(name).lower()
    if not text:
        return None
    if text not in _TRUE | _FALSE:
        raise row.error(name, "is neither true nor false", hint="write true, false or nothing")
    return text in _TRUE


def words(row: Row, name: str) -> tuple[str, ...]:
    """Read a list, parted by semicolons or commas, in lower case."""
    parts = re.split(r"[;,]", row.text(name).lower())
    return tuple(part.strip() for part in parts if part.strip())
