"""The chart of a price: what stood highest in each column, from 0 up."""

from datetime import timedelta
from decimal import Decimal

from price_lists import NOON, after

from broker.reports.history_view import HistoryRow, price_chart


def step(usd: str, start: float, end: float | None, held: str = "") -> HistoryRow:
    """Make a step between two instants, in hours after noon."""
    price = Decimal(usd)
    return HistoryRow(
        from_at=after(start),
        to_at=None if end is None else after(end),
        usd_per_hour=price,
        upfront_usd=None,
        effective_usd_per_hour=price,
        usd_per_gpu_hour=price,
        change_fraction=None,
        evidence="live",
        held=held,
        held_detail="",
        source="",
    )


def chart(*rows: HistoryRow, hours: float, columns: int) -> list[str]:
    """Draw so many columns; the label of the top price has four characters."""
    lines = price_chart(rows, start=NOON, end=after(hours), width=columns + 6)
    return [line.partition("┤")[2] for line in lines if "┤" in line]


def test_a_price_is_drawn_from_0_up_to_the_highest() -> None:
    lines = chart(step("4.00", 0, 2), step("2.00", 2, None), hours=4, columns=4)
    assert lines == ["██", "██", "██", "████", "████", "████"]


def test_a_part_of_a_line_is_drawn_in_eighths() -> None:
    # 47 of the 48 eighths that six lines have
    lines = chart(step("4.80", 0, 1), step("4.70", 1, None), hours=2, columns=2)
    assert lines[0].startswith("█▇")


def test_a_time_without_an_offer_stays_empty() -> None:
    lines = chart(step("4.00", 0, 1), step("4.00", 3, None), hours=4, columns=4)
    assert set(lines) == {"█  █"}


def test_a_price_that_was_held_back_is_drawn_in_another_way() -> None:
    lines = chart(step("4.00", 0, 1), step("2.00", 1, None, "price_jumped"), hours=2, columns=2)
    assert lines == ["█", "█", "█", "█░", "█░", "█░"]


def test_a_short_rise_is_not_lost_in_a_wide_column() -> None:
    lines = chart(
        step("1.00", 0, 50), step("4.00", 50, 51), step("1.00", 51, None), hours=100, columns=4
    )
    assert lines[0] == "  █"


def test_the_axis_names_the_dates_and_fits_its_width() -> None:
    rows = (step("4.00", 0, None),)
    lines = price_chart(rows, start=NOON, end=NOON + timedelta(days=30), width=60)
    assert lines[-1].split() == ["2026-11-01", "2026-12-01"]
    assert max(map(len, lines)) <= 60
    assert lines[1].startswith("4.00 ┤")


def test_no_price_has_no_chart() -> None:
    assert price_chart((), start=NOON, end=after(1), width=80) == ()
    assert price_chart((step("0", 0, None),), start=NOON, end=after(1), width=80) == ()


def test_one_instant_is_one_column() -> None:
    lines = price_chart((step("4.00", 0, None),), start=NOON, end=NOON, width=20)
    assert all("█" in line for line in lines[1:-1])
