"""A table that fits its terminal: figures are never cut, and nothing that a person must copy.

A column that may be spared is left out where room is short. Names that stand side by side and do
not fit their columns get a line of their own, and the rest of the row stands beneath it:

    provider  type         region   GPUs       $/h
    aws       p5.48xlarge  us-east  8×H100   55.04
    azure     Standard_ND96isr_H100_v5  eastus
                                    8×H100   98.32

Prose wraps. JSON, CSV and YAML have every field.
"""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from typing import Literal

from rich.cells import cell_len

GAP = 2
"""Characters between two columns."""

_LEAST = 6
_PROSE = 24
_NAME = 26
_WORD = 16
Align = Literal["left", "right"]


class Fit(StrEnum):
    """What a column does where room is short.

    It stays whole, sends the rest of the row to the next line, loses the middle of its names, or
    wraps its prose.
    """

    WHOLE = "whole"
    BREAK = "break"
    SHORTEN = "shorten"
    WRAP = "wrap"


@dataclass(frozen=True, slots=True)
class Cells:
    """A column as texts, the heading first. The highest `spare` is left out first, 0 never."""

    texts: tuple[str, ...]
    align: Align = "left"
    fit: Fit = Fit.WHOLE
    spare: int = 0

    @property
    def widest(self) -> int:
        """Measure the widest text, in characters of the terminal."""
        return max(map(cell_len, self.texts))

    @property
    def least(self) -> int:
        """Measure the least width that it may have: a heading and a word of prose stay whole."""
        match self.fit:
            case Fit.BREAK:
                return max(_LEAST, cell_len(self.texts[0]))
            case Fit.WRAP:
                words = (word for text in self.texts for word in text.split())
                return max(_LEAST, min(_WORD, max(map(cell_len, words), default=0)))
            case _:
                return _LEAST


def table_lines(columns: Sequence[Cells], width: int) -> Iterator[str]:
    """Lay columns out in lines of at most `width` characters where that is possible at all."""
    shown = _shown(columns, width)
    widths = column_widths(shown, width)
    starts = tuple(sum(widths[:index]) + GAP * index for index in range(len(widths)))
    total = starts[-1] + widths[-1]
    grid = _Grid(tuple(shown), widths, starts, max(width, total))
    heading, *rows = zip(*(column.texts for column in shown), strict=True)
    yield from grid.lines(heading)
    yield "─" * total
    for cells in rows:
        yield from grid.lines(cells)


def column_widths(columns: Sequence[Cells], width: int) -> tuple[int, ...]:
    """Give each column its width in characters.

    The widest column that may give way gives way first, to the next shorter of its names: a
    narrower one would break as many rows.
    """
    widths = [column.widest for column in columns]
    room = width - GAP * (len(widths) - 1)
    yielding = [index for index, column in enumerate(columns) if column.fit is not Fit.WHOLE]
    while sum(widths) > room:
        able = [index for index in yielding if widths[index] > columns[index].least]
        if not able:
            break  # in a terminal this narrow lines run over, but no figure is cut
        widest = max(able, key=lambda index: widths[index])
        widths[widest] = _narrower(columns[widest], widths[widest])
    for index in yielding:  # what a long name left over goes to the prose
        if columns[index].fit is not Fit.BREAK:
            spare = max(0, room - sum(widths))
            widths[index] = min(columns[index].widest, widths[index] + spare)
    return tuple(widths)


def shorten(text: str, width: int) -> str:
    """Cut the middle out of a text that is wider than `width` characters."""
    if len(text) <= width:
        return text
    kept = width - 1
    tail = kept // 2
    return f"{text[: kept - tail]}…{text[len(text) - tail :]}"


def _shown(columns: Sequence[Cells], width: int) -> list[Cells]:
    """Leave out what may be spared until the rest has the room that it needs to be read well."""
    shown = list(columns)
    while sum(map(_needed, shown)) + GAP * (len(shown) - 1) > width:
        spared = max(shown, key=lambda column: column.spare)
        if not spared.spare:
            break
        shown.remove(spared)
    return shown


def _needed(column: Cells) -> int:
    match column.fit:
        case Fit.WHOLE:
            return column.widest
        case Fit.WRAP:
            return min(column.widest, _PROSE)
        case Fit.BREAK | Fit.SHORTEN:
            return min(column.widest, _NAME)


def _narrower(column: Cells, width: int) -> int:
    if column.fit is not Fit.BREAK:
        return width - 1
    shorter = (one for one in map(cell_len, column.texts) if one < width)
    return max(column.least, *shorter, column.least)


@dataclass(frozen=True, slots=True)
class _Grid:
    """Columns with their widths and where they start; lines may be as long as `room`."""

    columns: tuple[Cells, ...]
    widths: tuple[int, ...]
    starts: tuple[int, ...]
    room: int

    def lines(self, cells: Sequence[str]) -> Iterator[str]:
        """Put a row into its lines."""
        placed: list[list[tuple[int, str]]] = [[]]
        top, index = 0, 0
        while index < len(cells):
            names = self._names_from(index)
            if names and any(cell_len(cells[one]) > self.widths[one] for one in names):
                self._flow(cells, names, placed)
                placed.append([])
                top = len(placed) - 1
                index = names[-1] + 1
                continue
            for down, part in enumerate(
                _parts(cells[index], self.columns[index], self.widths[index])
            ):
                while len(placed) <= top + down:
                    placed.append([])
                placed[top + down].append((self._start(index, part), part))
            index += 1
        return (_placed(line) for line in placed if line)

    def _names_from(self, index: int) -> tuple[int, ...]:
        """List the columns of names from one on that stand side by side."""
        is_first = index == 0 or self.columns[index - 1].fit is not Fit.BREAK
        names = takewhile(
            lambda one: one[1].fit is Fit.BREAK, enumerate(self.columns[index:], index)
        )
        return tuple(one for one, _ in names) if is_first else ()

    def _flow(
        self, cells: Sequence[str], names: Sequence[int], placed: list[list[tuple[int, str]]]
    ) -> None:
        """Put names one after the other, in their columns where they can be."""
        end = self.starts[names[0]] - GAP
        for one in names:
            start = max(self.starts[one], end + GAP)
            if start + cell_len(cells[one]) > self.room and one != names[0]:
                placed.append([])
                start = self.starts[one]
            placed[-1].append((start, cells[one]))
            end = start + cell_len(cells[one])

    def _start(self, index: int, part: str) -> int:
        is_right = self.columns[index].align == "right"
        blank = max(0, self.widths[index] - cell_len(part)) if is_right else 0
        return self.starts[index] + blank


def _parts(cell: str, column: Cells, width: int) -> Sequence[str]:
    if column.fit is Fit.WRAP:
        return textwrap.wrap(cell, max(width, _LEAST), break_on_hyphens=False) or [""]
    return [shorten(cell, width) if column.fit is Fit.SHORTEN else cell]


def _placed(parts: Iterable[tuple[int, str]]) -> str:
    line = ""
    for start, part in parts:
        line += " " * (start - cell_len(line)) + part
    return line.rstrip()
