"""The one place that reads the time; everything else is told it."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def system_clock() -> datetime:
    """Tell the current instant, aware, UTC."""
    return datetime.now(UTC)  # noqa: TID251 - the one place that reads the time
