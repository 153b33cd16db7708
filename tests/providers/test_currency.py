"""Prices in euros: in dollars at the reference rate of the day, with the quote kept."""

from datetime import date
from decimal import Decimal

from providers.kit.currency import Rates, in_usd


def test_euros_are_converted_at_the_rate_of_the_day_and_the_quote_is_kept() -> None:
    quote = Rates().quote(Decimal("2.80"), "EUR", date(2026, 9, 25))
    assert quote is not None
    assert (quote.amount, quote.currency) == (Decimal("2.80"), "EUR")
    assert quote.usd_per_unit == Decimal("1.1403")  # reference rate of the European Central Bank
    assert in_usd(quote) == Decimal("3.192840")  # 2.80 × 1.1403


def test_a_day_without_a_rate_has_that_of_the_last_one_before() -> None:
    rates = Rates()
    sunday = rates.quote(Decimal(1), "EUR", date(2026, 9, 27))
    assert sunday is not None
    assert sunday.converted_on == date(2026, 9, 25)
    assert rates.quote(Decimal(1), "EUR", date(2026, 9, 27)) == sunday


def test_dollars_stay_as_they_are() -> None:
    quote = Rates().quote(Decimal("1.80"), "USD", date(2026, 9, 25))
    assert quote is not None
    assert in_usd(quote) == Decimal("1.80")


def test_an_unknown_currency_has_no_quote() -> None:
    assert Rates().quote(Decimal(1), "XTS", date(2026, 9, 25)) is None
