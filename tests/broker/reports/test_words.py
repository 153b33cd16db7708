from datetime import UTC, datetime
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
    ("kind", "months", "payment", "scope", "text"),
    [
        ("on_demand", None, None, "", "on-demand"),
        ("spot", None, None, "", "spot"),
        ("reserved", 12, "no_upfront", "", "1y no up"),
        ("reserved", 6, "all_upfront", "", "6mo all up"),
        ("reserved", 36, "partial_upfront", "", "3y part up"),
        ("reserved", 1, "monthly", "", "1mo monthly"),
        ("savings_plan", 12, "no_upfront", "", "plan 1y no up"),
        ("savings_plan", 36, "all_upfront", "ec2:p5", "plan 3y all up ec2:p5"),
        ("contract", 12, None, "", "contract 1y"),
    ],
)
def test_a_commitment_is_told_by_term_payment_and_scope(  # noqa: PLR0917 - columns of the table
    kind: str, months: int | None, payment: str | None, scope: str, text: str
) -> None:
    assert words.price_kind(kind, months, payment, scope) == text


@pytest.mark.parametrize(
    ("starts_at", "lengths_h", "text"),
    [
        (None, (24,), "block 24h"),
        (None, (24, 48, 4368), "block 24h–182d"),
        (None, (168, 336), "block 7d–14d"),
        (datetime(2026, 12, 3, 11, 30, tzinfo=UTC), (336,), "block 14d 12-03 11:30"),
        (None, (), "block"),
    ],
)
def test_a_block_is_told_by_its_window(
    starts_at: datetime | None, lengths_h: tuple[int, ...], text: str
) -> None:
    assert words.block(starts_at, lengths_h) == text


def test_a_slice_is_a_fraction() -> None:
    assert words.gpus(Fraction(1, 6), "A10") == "1/6×A10"


def test_counts_read_as_words() -> None:
    assert words.counts({"price_jumped": 3, "no_price": 1}) == "3 price jumped, 1 no price"
