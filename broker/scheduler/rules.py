"""When a job runs: every so often, or at a local time of each day or of one day a week.

A rule gives its instants one after the other, and each of them once: a day on which the clock
skips or repeats the local time has one instant, too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TypeVar
from zoneinfo import ZoneInfo, available_timezones

from broker.domain.errors import ConfigurationError
from broker.domain.quantities import parse_duration
from broker.planning.nearest import unknown

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
SHORTEST = timedelta(minutes=1)
"""The shortest interval between two runs of one job."""

_ReadT = TypeVar("_ReadT")
_LONGEST = timedelta(days=366)
_DAYS_AHEAD = 16  # any weekday comes up in these, also where a zone skipped a day
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


@dataclass(frozen=True, slots=True)
class Every:
    """At `anchor`, and every `interval` after it."""

    interval: timedelta
    anchor: datetime

    def after(self, instant: datetime) -> datetime:
        """Give the first instant of the rule that comes after another one."""
        return self.anchor + ((instant - self.anchor) // self.interval + 1) * self.interval

    @property
    def told(self) -> str:
        """Say it in words: every 30 min."""
        seconds = round(self.interval.total_seconds())
        size, unit = next(one for one in _UNITS if seconds % one[0] == 0)
        return f"every {seconds // size} {unit}"


@dataclass(frozen=True, slots=True)
class LocalTime:
    """At a time on the clocks of a zone, each day, or on one `weekday` (0 is Monday).

    Where the clocks show it twice, it is the first time. Where they skip it, it is as long after
    midnight as on any other day: 02:30 is then what the clocks call 03:30.
    """

    at: time
    zone: ZoneInfo
    weekday: int | None = None

    def after(self, instant: datetime) -> datetime:
        """Give the first instant of the rule that comes after another one."""
        first = instant.astimezone(self.zone).date() - timedelta(days=1)
        days = (first + timedelta(days=ahead) for ahead in range(_DAYS_AHEAD))
        dues = (self._on(day) for day in days if self.weekday in (None, day.weekday()))
        return next(due for due in dues if due > instant)

    @property
    def told(self) -> str:
        """Say it in words: daily 02:30 Europe/Berlin, mon 08:00 UTC."""
        day = "daily" if self.weekday is None else WEEKDAYS[self.weekday]
        return f"{day} {self.at:%H:%M} {self.zone.key}"

    def _on(self, day: date) -> datetime:
        # With the default fold, a time that is skipped counts with the offset before the change.
        return datetime.combine(day, self.at, tzinfo=self.zone).astimezone(UTC)


Rule = Every | LocalTime


def interval_of(text: str) -> timedelta:
    """Read the length of an interval: 30 min, 6 h.

    Raises:
        ConfigurationError: it is none, or one that no job should have.
    """
    read = _read(text, parse_duration, "an interval such as 30 min or 6 h")
    if not isinstance(read, timedelta) or not SHORTEST <= read <= _LONGEST:
        raise ConfigurationError(
            f"a job cannot run every {text!r}", hint="give 1 min or more, and a year at most"
        )
    return timedelta(seconds=round(read.total_seconds()))


def local_time_of(text: str) -> time:
    """Read a time on the clock: 02:30.

    Raises:
        ConfigurationError: it is none.
    """
    read = _read(text, _clock_time, "a time such as 02:30")
    return read.replace(second=0, microsecond=0)


def zone_of(name: str) -> ZoneInfo:
    """Find a time zone by the name that the IANA database gives it.

    Raises:
        ConfigurationError: there is none.
    """
    known = available_timezones()
    if name not in known:
        raise unknown("time zone", name, known)
    return ZoneInfo(name)


def weekday_of(name: str) -> int:
    """Find a day of the week by its first letters: mon, Monday.

    Raises:
        ConfigurationError: there is none.
    """
    short = name.strip().lower()[:3]
    if short not in WEEKDAYS:
        raise unknown("day of the week", name, set(WEEKDAYS))
    return WEEKDAYS.index(short)


def _clock_time(text: str) -> time:
    if len(text) != len("00:00"):
        raise ValueError(text)
    return time.fromisoformat(text)


def _read(text: str, read: Callable[[str], _ReadT], what: str) -> _ReadT:
    try:
        return read(text.strip())
    except ValueError as cause:
        raise ConfigurationError(f"{text!r} is not {what}", hint=f"write {what}") from cause
