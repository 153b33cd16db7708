"""A table that fits its terminal: figures are never cut, names lose their middle.

A name too long for its column keeps its start and its end, as both tell instance types apart
(`Standard_N…_H100_v5`). JSON, CSV and YAML have every name in full.
"""

from collections.abc import Sequence
from enum import StrEnum

from rich.cells import cell_len

_LEAST = 6
GAP = 2
"""Characters between two columns."""


class Fit(StrEnum):
    """What a column does where room is short: stay whole, shorten its names, wrap its prose."""

    WHOLE = "whole"
    SHORTEN = "shorten"
    WRAP = "wrap"


def column_widths(
    texts: Sequence[Sequence[str]], fits: Sequence[Fit], width: int
) -> tuple[int, ...]:
    """Give each column its width in characters; `texts` are the cells by column, heading first.

    The widest column that may give way gives way first. Two characters stand between columns.
    """
    widths = [max(map(cell_len, column)) for column in texts]
    room = width - GAP * (len(widths) - 1)
    yielding = [index for index, fit in enumerate(fits) if fit is not Fit.WHOLE]
    while sum(widths) > room:
        widest = max(yielding, key=lambda index: widths[index], default=None)
        if widest is None or widths[widest] <= _LEAST:
            break  # in a terminal this narrow lines run over, but no figure is cut
        widths[widest] -= 1
    return tuple(widths)


def shorten(text: str, width: int) -> str:
    """Cut the middle out of a text that is wider than `width` characters."""
    if len(text) <= width:
        return text
    kept = width - 1
    tail = kept // 2
    return f"{text[: kept - tail]}…{text[len(text) - tail :]}"
