"""Exchange rates: bundled, dated, never invented."""

from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.specs.fx import usd_per_unit


def test_a_dollar_is_a_dollar() -> None:
    assert usd_per_unit("usd", date(2026, 9, 1)) == (Decimal(1), date(2026, 9, 1))


def test_the_euro_of_a_known_day_is_the_reference_rate() -> None:
    """15 July 2008: 1.5990 dollars, the highest fixing."""
    assert usd_per_unit("EUR", date(2008, 7, 15)) == (Decimal("1.5990"), date(2008, 7, 15))


def test_a_cross_rate_goes_through_the_euro() -> None:
    """15 July 2008: 1 EUR = 1.5990 USD = 0.79400 GBP."""
    found = usd_per_unit("GBP", date(2008, 7, 15))
    assert found is not None
    assert float(found[0]) == pytest.approx(1.5990 / 0.7941, rel=0.002)


def test_a_weekend_takes_the_friday_before() -> None:
    friday = date(2025, 3, 14)
    assert usd_per_unit("EUR", date(2025, 3, 16)) == usd_per_unit("EUR", friday)
    found = usd_per_unit("EUR", date(2025, 3, 16))
    assert found is not None
    assert found[1] == friday


def test_after_the_last_bundled_day_the_last_rate_is_given_with_its_date() -> None:
    found = usd_per_unit("EUR", date(2090, 1, 1))
    assert found is not None
    assert date(2026, 1, 1) <= found[1] < date(2090, 1, 1)


@pytest.mark.parametrize("currency", ["XXX", "", "BTC", "EURO"])
def test_an_unknown_currency_has_no_rate(currency: str) -> None:
    assert usd_per_unit(currency, date(2026, 9, 1)) is None


def test_a_currency_that_ended_has_no_rate_after_its_end() -> None:
    assert usd_per_unit("HRK", date(2022, 12, 30)) is not None
    assert usd_per_unit("HRK", date(2023, 6, 1)) is None


def test_before_the_first_rate_there_is_none() -> None:
    assert usd_per_unit("EUR", date(1998, 12, 31)) is None


@given(
    on=st.dates(date(2012, 1, 10), date(2026, 6, 30)),
    currency=st.sampled_from(["EUR", "GBP", "INR", "JPY", "CHF"]),
)
def test_a_rate_is_never_of_a_later_day_nor_of_long_before(on: date, currency: str) -> None:
    found = usd_per_unit(currency, on)
    assert found is not None
    rate, day = found
    assert rate > 0
    assert timedelta(0) <= on - day <= timedelta(days=6)
