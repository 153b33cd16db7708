"""Reading a log of requests: one row each, streamed into packed columns.

Ten million rows take about a minute and some 600 MB, extrapolated from two million measured.
"""

import csv
import gzip
import hashlib
import io
import zlib
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from broker.domain.errors import ConfigurationError
from broker.domain.load_profile import LeftOut
from broker.planning.profiling.columns import ColumnNames, Columns, find_columns
from broker.planning.profiling.instants import InstantReader, names_its_zone

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_MOST_TOKENS = 100_000_000
_SHOWN = 60
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class RequestLog:
    """Requests in the order of their arrival: seconds since 1970 and tokens; what was left out."""

    times_s: Floats
    input_tokens: Ints
    output_tokens: Ints
    left_out: tuple[LeftOut, ...]
    names_zones: bool


@dataclass(slots=True)
class _Tally:
    """Counts what is left out, by reason, with the first row of each."""

    found: dict[str, tuple[int, str]] = field(default_factory=dict)

    def add(self, reason: str, line: int, value: str) -> None:
        count, example = self.found.get(reason, (0, ""))
        shown = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
        self.found[reason] = (count + 1, example or f"line {line}: {shown}")

    def left_out(self) -> tuple[LeftOut, ...]:
        return tuple(
            LeftOut(reason=reason, row_count=count, example=example)
            for reason, (count, example) in self.found.items()
        )


@dataclass(slots=True)
class _Found:
    """Gathers the requests of a log, packed."""

    times: "array[float]" = field(default_factory=lambda: array("d"))
    inputs: "array[int]" = field(default_factory=lambda: array("i"))
    outputs: "array[int]" = field(default_factory=lambda: array("i"))
    names_zones: bool = True

    def take(self, row: list[str], columns: Columns, reader: InstantReader) -> str:
        """Take one row, or say why it is no request."""
        try:
            moment = reader.seconds(row[columns.time])
            asked, answered = _tokens(row[columns.input]), _tokens(row[columns.output])
        except ValueError as error:
            return str(error)
        if asked == 0:
            return "no prompt"
        if not self.times:
            self.names_zones = names_its_zone(row[columns.time])
        self.times.append(moment)
        self.inputs.append(asked)
        self.outputs.append(answered)
        return ""


def read_requests(path: Path, names: ColumnNames, reader: InstantReader) -> RequestLog:
    """Read a CSV file, which may be compressed by gzip; its first line names the columns.

    A row that cannot be read is left out and counted.

    Raises:
        ConfigurationError: the file cannot be read, or no row of it is a request.
    """
    tally = _Tally()
    found = _Found()
    with _opened(path) as text:
        columns = find_columns(text.readline().removeprefix("\ufeff"), names, str(path))
        for line, row in _rows(text, columns, tally):
            problem = found.take(row, columns, reader)
            if problem:
                tally.add(problem, line, columns.delimiter.join(row))
    if not found.times:
        raise _nothing(path, tally.left_out())
    moments = np.frombuffer(found.times, dtype=np.float64)
    order = np.argsort(moments, kind="stable")
    return RequestLog(
        times_s=moments[order],
        input_tokens=np.frombuffer(found.inputs, dtype=np.int32)[order].astype(np.int64),
        output_tokens=np.frombuffer(found.outputs, dtype=np.int32)[order].astype(np.int64),
        left_out=tally.left_out(),
        names_zones=found.names_zones,
    )


def file_sha256(path: Path) -> str:
    """Hash a file.

    Raises:
        ConfigurationError: it cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as cause:
        raise _unreadable(path, cause) from cause
    return digest.hexdigest()


@contextmanager
def _opened(path: Path) -> Iterator[io.TextIOWrapper]:
    try:
        with path.open("rb") as probe:
            is_compressed = probe.read(2) == b"\x1f\x8b"
        with (
            gzip.open(path) if is_compressed else path.open("rb") as raw,
            io.TextIOWrapper(raw, encoding="utf-8", errors="replace", newline="") as text,
        ):
            yield text
    except (OSError, EOFError, zlib.error) as cause:
        raise _unreadable(path, cause) from cause


def _rows(
    text: io.TextIOWrapper, columns: Columns, tally: _Tally
) -> Iterator[tuple[int, list[str]]]:
    """List the rows with enough cells, each with the number of its last line."""
    rows = csv.reader(text, delimiter=columns.delimiter)
    needed = columns.count
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            tally.add("broken CSV", rows.line_num + 1, str(error))
            continue
        if row is None:
            return
        if len(row) >= needed:
            yield rows.line_num + 1, row
        elif row:
            tally.add("too few cells", rows.line_num + 1, columns.delimiter.join(row))


def _tokens(text: str) -> int:
    """Read a number of tokens.

    Raises:
        ValueError: it is none, in words for a person.
    """
    try:
        count = int(text)
    except ValueError:
        try:
            number = float(text)
        except ValueError as cause:
            raise ValueError("no number of tokens") from cause
        if not number.is_integer():
            raise ValueError("no number of tokens") from None
        count = int(number)
    if not 0 <= count <= _MOST_TOKENS:
        raise ValueError("no number of tokens")
    return count


def _unreadable(path: Path, cause: BaseException) -> ConfigurationError:
    said = getattr(cause, "strerror", None) or str(cause)
    return ConfigurationError(f"cannot read the log {str(path)!r}: {said}", hint="check the path")


def _nothing(path: Path, left_out: tuple[LeftOut, ...]) -> ConfigurationError:
    reasons = "; ".join(f"{one.row_count:,} × {one.reason} ({one.example})" for one in left_out)
    hint = "name the right columns with --time, --input and --output"
    if any("unknown start" in one.reason for one in left_out):
        hint = "say when the log began: --start 2026-06-01T00:00Z"
    return ConfigurationError(
        f"log {str(path)!r}: no row is a request{': ' if reasons else ''}{reasons}", hint=hint
    )
