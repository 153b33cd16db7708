from decimal import Decimal
from fractions import Fraction

import pytest

from broker.reports import words


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("55.04", "55.04"),
        ("1234.5", "1,234.50"),
        ("0.1", "0.10"),
        ("0.04321", "0.0432"),
        ("0", "0.00"),
        (None, "–"),
    ],
)
def test_small_prices_have_more_digits(amount: str | None, text: str) -> None:
    assert words.usd(Decimal(amount) if amount else None) == text


@pytest.mark.parametrize(
    ("hours", "text"),
    [(0.2, "0h"), (47.4, "47h"), (48, "2d"), (24 * 59, "59d"), (24 * 365, "12mo"), (None, "–")],
)
def test_ages_are_in_the_unit_that_fits(hours: float | None, text: str) -> None:
    assert words.age(hours) == text


@pytest.mark.parametrize(
    ("kind", "months", "payment", "text"),
    [
        ("on_demand", None, None, "on-demand"),
        ("spot", None, None, "spot"),
        ("reserved", 12, "no_upfront", "1y no up"),
        ("reserved", 6, "all_upfront", "6mo all up"),
        ("reserved", 36, "partial_upfront", "3y part up"),
        ("reserved", 1, "monthly", "1mo monthly"),
    ],
)
def test_a_commitment_is_told_by_term_and_payment(
    kind: str, months: int | None, payment: str | None, text: str
) -> None:
    assert words.price_kind(kind, months, payment) == text


def test_a_slice_is_a_fraction() -> None:
    assert words.gpus(Fraction(1, 6), "A10") == "1/6×A10"


def test_counts_read_as_words() -> None:
    assert words.counts({"price_jumped": 3, "no_price": 1}) == "3 price jumped, 1 no price"
