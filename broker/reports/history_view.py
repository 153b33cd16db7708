"""What is shown of an offer's price over time: a small chart, and a table of its steps."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from broker.reports import words
from broker.reports.formats import Column, Plain, Report, plain
from broker.reports.layout import Fit

_PARTS = " ▁▂▃▄▅▆▇█"
_EIGHTHS = 8
_HEIGHT = 6
_MOST_COLUMNS = 100
_HELD = "░"
_PERCENT = 100


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """What an offer cost from one instant to another; `to_at` is None while it does.

    Prices of a GPU and the effective price spread an upfront part over the term. `change_fraction`
    is against the step before, None for the first. `held` says why it was not planned with.
    """

    from_at: datetime
    to_at: datetime | None
    usd_per_hour: Decimal
    upfront_usd: Decimal | None
    effective_usd_per_hour: Decimal
    usd_per_gpu_hour: Decimal
    change_fraction: float | None
    evidence: str
    held: str
    held_detail: str
    source: str


def history_report(
    key: str, rows: tuple[HistoryRow, ...], *, start: datetime, end: datetime
) -> Report[HistoryRow]:
    """Show the steps of a price between two instants, the oldest first."""
    prices = [row.effective_usd_per_hour for row in rows if not row.held]
    facts: dict[str, Plain] = {
        "offer": key,
        "from": plain(start),
        "to": plain(end),
        "lowest_usd_per_hour": plain(min(prices, default=None)),
        "highest_usd_per_hour": plain(max(prices, default=None)),
    }
    return Report(
        schema="gpubroker.history/1",
        name="steps",
        row_type=HistoryRow,
        rows=rows,
        columns=(
            Column("from", lambda row: f"{row.from_at:%Y-%m-%d %H:%M}"),
            Column("to", lambda row: f"{row.to_at:%Y-%m-%d %H:%M}" if row.to_at else "now"),
            Column("$/h", lambda row: words.usd(row.effective_usd_per_hour), "right"),
            Column("$/GPU-h", lambda row: words.usd(row.usd_per_gpu_hour), "right"),
            Column("change", _change, "right"),
            Column("evidence", lambda row: row.evidence, spare=1),
            Column("held back", lambda row: row.held_detail, fit=Fit.WRAP),
        ),
        facts=facts,
    )


def price_chart(
    rows: Sequence[HistoryRow], *, start: datetime, end: datetime, width: int
) -> tuple[str, ...]:
    """Draw the price of a GPU-hour over time, from 0 up, in lines of at most `width` characters.

    A column shows the highest price that stood in its time; ░ is a price that was held back, and an
    empty column a time without an offer.
    """
    top = max((row.usd_per_gpu_hour for row in rows), default=Decimal(0))
    if not top:
        return ()
    labels = [words.usd(top), *[""] * (_HEIGHT - 2), "0"]
    room = max(map(len, labels))
    count = max(1, min(_MOST_COLUMNS, width - room - 2))
    columns = [_column(some, top) for some in _in_columns(rows, start, end, count)]
    lines = [
        f"{label:>{room}} ┤{''.join(column[-1 - line] for column in columns)}".rstrip()
        for line, label in enumerate(labels)
    ]
    first, last = f"{start:%Y-%m-%d}", f"{end:%Y-%m-%d}"
    axis = f"{first}{last:>{max(0, count - len(first))}}"
    return ("$/GPU-h", *lines, f"{'':{room}}  {axis}")


def _change(row: HistoryRow) -> str:
    if row.change_fraction is None:
        return ""
    percent = row.change_fraction * _PERCENT
    return f"{percent:+.0f}%" if abs(percent) >= 1 or not percent else f"{percent:+.1g}%"


def _in_columns(
    rows: Sequence[HistoryRow], start: datetime, end: datetime, count: int
) -> Iterable[list[HistoryRow]]:
    """Give each column the rows that fall into its time."""
    step = max((end - start) / count, timedelta(microseconds=1))
    for number in range(count):
        left, right = start + number * step, start + (number + 1) * step
        yield [row for row in rows if row.from_at < right and (row.to_at or right) > left]


def _column(rows: Sequence[HistoryRow], top: Decimal) -> str:
    """Draw one column from the bottom up."""
    standing = [row.usd_per_gpu_hour for row in rows if not row.held]
    price = max(standing or [row.usd_per_gpu_hour for row in rows], default=None)
    if price is None:
        return " " * _HEIGHT
    eighths = max(1, round(price / top * _HEIGHT * _EIGHTHS))
    whole, part = divmod(eighths, _EIGHTHS)
    if not standing:
        return (_HELD * (whole + bool(part))).ljust(_HEIGHT)
    return (_PARTS[-1] * whole + (_PARTS[part] if part else "")).ljust(_HEIGHT)
