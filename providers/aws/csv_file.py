"""The CSV files of AWS, some hundred megabytes each, read line by line.

Five lines about the file come first, then the header. Columns are found by name: their set grows.
A file that is cut short ends in an open quote or a short row.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import httpx

from providers.aws.wire import unreadable_file

_LINES_BEFORE_HEADER = 20

Positions = Mapping[str, int]
"""Where the column of each of our names stands in a row."""


def open_table(
    reply: httpx.Response, columns: Mapping[str, str]
) -> tuple[Positions, Iterator[list[str]]]:
    """Find `columns` (their names by ours) in the header; give the rows below, one at a time.

    Raises:
        ProviderError: there is no header, or it lacks a column; a row below it is cut short.
    """
    table = csv.reader(_lines(reply), strict=True)
    try:
        header = _header(table, reply)
    except csv.Error as cause:
        raise unreadable_file(reply, f"row {table.line_num}: {cause}") from cause
    missing = sorted(set(columns.values()) - set(header))
    if missing:
        raise unreadable_file(reply, f"column {missing[0]!r} is missing")
    positions = {name: header.index(column) for name, column in columns.items()}

    def rows() -> Iterator[list[str]]:
        try:
            for cells in table:
                if len(cells) != len(header):
                    fields = f"{len(cells)} fields of {len(header)}"
                    raise unreadable_file(reply, f"row {table.line_num} has {fields}")
                yield cells
        except csv.Error as cause:
            raise unreadable_file(reply, f"row {table.line_num}: {cause}") from cause

    return positions, rows()


def _lines(reply: httpx.Response) -> Iterator[str]:
    """Cut the body at line feeds only: a description may hold other line separators."""
    rest = b""
    try:
        for chunk in reply.iter_bytes():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line.decode() + "\n"
        if rest:
            yield rest.decode()
    except (httpx.HTTPError, UnicodeDecodeError) as cause:
        raise unreadable_file(reply, str(cause)) from cause


def _header(table: Iterator[list[str]], reply: httpx.Response) -> Sequence[str]:
    for cells in islice(table, _LINES_BEFORE_HEADER):
        if cells[:1] == ["SKU"]:
            return cells
    raise unreadable_file(reply, "there is no header that starts with SKU")
