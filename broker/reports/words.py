"""Figures as a person reads them in a narrow table; the exact ones are in JSON, CSV and YAML."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

_HOURS_PER_DAY = 24
_DAYS_IN_HOURS = 48
_WEEKS_IN_DAYS = 60
_MONTHS_PER_YEAR = 12
_FEW_DAYS = 2
_KINDS = {"on_demand": "on-demand", "capacity_block": "block", "savings_plan": "savings"}
_PAYMENTS = {
    "no_upfront": "no up",
    "partial_upfront": "part up",
    "all_upfront": "all up",
    "monthly": "monthly",
}


def usd(amount: Decimal | None) -> str:
    """Show cents, and more digits for prices below ten cents: 55.04, 0.0432."""
    if amount is None:
        return "–"
    return f"{amount:,.2f}" if amount >= Decimal("0.1") or not amount else f"{amount:.4f}"


def age(hours: float | None) -> str:
    """Show hours up to two days, then days, then months: 5h, 12d, 4mo."""
    if hours is None:
        return "–"
    if hours < _DAYS_IN_HOURS:
        return f"{hours:.0f}h"
    days = hours / _HOURS_PER_DAY
    return f"{days:.0f}d" if days < _WEEKS_IN_DAYS else f"{days / 30.4:.0f}mo"


def gpus(count: Fraction, gpu: str) -> str:
    """Show a node's GPUs: 8×H100-SXM, 1/6×A10."""
    return f"{count}×{gpu}"


def price_kind(kind: str, term_months: int | None, payment: str | None, scope: str = "") -> str:
    """Show how a price is bought: on-demand, spot, 1y no up, plan 3y all up compute."""
    if term_months is None:
        return _KINDS.get(kind, kind)
    years, months = divmod(term_months, _MONTHS_PER_YEAR)
    term = f"{years}y" if years and not months else f"{term_months}mo"
    what = {"savings_plan": "plan", "contract": "contract"}.get(kind, "")
    paid = _PAYMENTS.get(payment or "", payment or "")
    return " ".join(part for part in (what, term, paid, scope) if part)


def block(starts_at: datetime | None, lengths_h: Sequence[int]) -> str:
    """Show the window of a capacity block: block 1d–182d, block 24h 12-03 11:30."""
    if not lengths_h:
        return "block"
    least, most = span(lengths_h[0]), span(lengths_h[-1])
    length = least if least == most else f"{least}–{most}"
    start = f" {starts_at:%m-%d %H:%M}" if starts_at else ""
    return f"block {length}{start}"


def span(hours: float) -> str:
    """Show a length of time: 24h, 14d."""
    days, rest = divmod(hours, _HOURS_PER_DAY)
    return f"{hours:g}h" if rest or days < _FEW_DAYS else f"{days:g}d"


def counts(by_reason: Mapping[str, int]) -> str:
    """Show how many there are of each reason: 3 price jumped, 1 duplicate key."""
    return ", ".join(f"{rows} {reason.replace('_', ' ')}" for reason, rows in by_reason.items())


def number(value: float | None) -> str:
    """Show a number without a needless point; a dash is unknown."""
    return "–" if value is None else f"{value:g}"
