"""How alerts say amounts, times and commands, and how they tell a new state from a small move."""

import shlex
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from broker.alerts.night import Night

_WHOLE_DOLLARS = 100
_TWO_DAYS = timedelta(days=2)
_HOUR = timedelta(hours=1)
_LONGEST = 300


def dollars(usd: Decimal) -> str:
    """Write an amount as people say it: $1,234, and cents below a hundred dollars."""
    return f"${usd:,.0f}" if abs(usd) >= _WHOLE_DOLLARS else f"${usd:,.2f}"


def span(length: timedelta) -> str:
    """Write a length of time: 5 h, 3 days."""
    if length < _TWO_DAYS:
        return f"{length / _HOUR:.0f} h" if length >= _HOUR else f"{length.total_seconds():.0f} s"
    return f"{length / timedelta(days=1):.0f} days"


def instant(at: datetime) -> str:
    """Write an instant, in UTC: 2026-12-01 06:00 UTC."""
    return f"{at:%Y-%m-%d %H:%M} UTC"


def counted(count: int | Decimal, thing: str) -> str:
    """Write a count of things: 1 node, 2 nodes, 2.5 days."""
    number = f"{count:,}" if isinstance(count, int) else f"{count:,.4g}"
    return f"{number} {thing}" if count == 1 else f"{number} {thing}s"


def one_line(text: str) -> str:
    """Put what others wrote on one line of at most 300 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def command(*words: str) -> str:
    """Write a command line of gpubroker that a shell takes as it is meant."""
    return shlex.join(("gpubroker", *words))


def doubling(usd: Decimal) -> str:
    """Name the power of two below an amount: a state that changes when it doubles or halves."""
    power = Decimal(1)
    while power * 2 <= usd:
        power *= 2
    return f"{power} USD" if usd >= 1 else "below 1 USD"


def highest(value: float, limits: Sequence[float]) -> float | None:
    """Give the highest of the rising limits that a value reaches, None below the first."""
    return max((limit for limit in limits if value >= limit), default=None)


def adopt(night: Night) -> str:
    """Write the command that makes tonight's plan the one in force."""
    return command("approve", night.made_name or "PLAN", "--by", "NAME")


def replan(night: Night, *what_ifs: str) -> str:
    """Write the command that plans the workloads anew, with some things changed."""
    changed = (word for one in what_ifs for word in ("--what-if", one))
    return command("plan", night.workloads, *changed)
