"""Figures as a person reads them in a narrow table; the exact ones are in JSON, CSV and YAML."""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

_HOURS_PER_DAY = 24
_DAYS_IN_HOURS = 48
_WEEKS_IN_DAYS = 60
_MONTHS_PER_YEAR = 12
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


def price_kind(kind: str, term_months: int | None, payment: str | None) -> str:
    """Show how a price is bought: on-demand, spot, 1y no up."""
    if term_months is None:
        return _KINDS.get(kind, kind)
    years, months = divmod(term_months, _MONTHS_PER_YEAR)
    term = f"{years}y" if years and not months else f"{term_months}mo"
    return f"{term} {_PAYMENTS.get(payment or '', payment or '')}".strip()


def counts(by_reason: Mapping[str, int]) -> str:
    """Show how many there are of each reason: 3 price jumped, 1 duplicate key."""
    return ", ".join(f"{rows} {reason.replace('_', ' ')}" for reason, rows in by_reason.items())


def number(value: float | None) -> str:
    """Show a number without a needless point; a dash is unknown."""
    return "–" if value is None else f"{value:g}"
