"""The reader of price sheets: from a path to offers, and to what became of every other row.

table.py     file to rows of text
rows.py      text to typed rows; what a person must correct is an error here
offers.py    typed rows to offers; what is no offer is a rejection with its reason
duplicates.py  one offer a key
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from broker.domain.errors import ConfigurationError
from broker.domain.offer import Offer, Rejection
from broker.specs.load import Specs
from providers.sheet.cells import Row
from providers.sheet.duplicates import Found, without_dear_spot, without_duplicates
from providers.sheet.offers import OfferBuilder
from providers.sheet.rows import SheetRow, read_row
from providers.sheet.table import read_table, table_in


@dataclass(frozen=True, slots=True)
class SheetReading:
    """What a sheet holds. `as_of` is its date: what was asked for, else its newest dated row.

    A row may state two prices, so it may yield an offer and a rejection. `rows_used` counts the
    rows that became at least one offer of `offers`.
    """

    offers: tuple[Offer, ...]
    rejections: tuple[Rejection, ...]
    rows: int
    rows_used: int
    as_of: datetime


def read_sheet(path: Path, specs: Specs, *, as_of: datetime | None = None) -> SheetReading:
    """Read a price sheet in CSV or YAML.

    Rows without a date take the sheet's, which is `as_of`, else that of its newest dated row.

    Raises:
        ConfigurationError: the file or one of its cells cannot be read; the message names file,
            row, column and value, the hint what to do.
    """
    return _reading(path, read_table(path), specs, as_of=as_of)


def read_sheet_text(text: str, path: Path, specs: Specs) -> SheetReading:
    """Read a price sheet whose text is at hand; `path` names it and tells its form.

    Raises:
        ConfigurationError: the sheet or one of its cells cannot be read.
    """
    return _reading(path, table_in(text, path), specs, as_of=None)


def _reading(
    path: Path, table: Sequence[Row], specs: Specs, *, as_of: datetime | None
) -> SheetReading:
    rows = tuple(read_row(row) for row in table)
    sheet_at = as_of or _newest(path, rows)
    builder = OfferBuilder(specs, sheet_at)
    found: list[Found] = []
    rejections: list[Rejection] = []
    for number, row in enumerate(rows):
        for result in builder.offers_in(row):
            if isinstance(result, Rejection):
                rejections.append(result)
            else:
                found.append(Found(number, result))
    unique, duplicates = without_duplicates(found)
    kept, dear = without_dear_spot(unique)
    return SheetReading(
        offers=tuple(one.offer for one in kept),
        rejections=(*rejections, *duplicates, *dear),
        rows=len(rows),
        rows_used=len({one.row for one in kept}),
        as_of=sheet_at,
    )


def _newest(path: Path, rows: Sequence[SheetRow]) -> datetime:
    dates = [row.observed_at for row in rows if row.observed_at]
    if not dates:
        raise ConfigurationError(
            f"{path}: no row has a date, so the age of its prices is not known",
            hint="fill the column observed_on, or give the sheet's date with --as-of",
        )
    return max(dates)
