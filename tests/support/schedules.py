"""Schedules for tests: a clock that is set by hand, settings over a place, jobs."""

from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from broker.domain.plan import SolveSettings
from broker.scheduler.records import Job, JobKind
from broker.scheduler.rules import Every, LocalTime
from broker.settings import Settings
from broker.store.place import Place

SOLVE = SolveSettings(gap_fraction=0.05, time_limit_s=10.0, seed=0)
START = datetime(2026, 11, 1, 12, tzinfo=UTC)


class Watch:
    """A clock that stands still until it is set."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **by: float) -> None:
        self.now += timedelta(**by)


def settings_over(place: Place, folder: Path) -> Settings:
    """Make settings of a store and a folder; a file lies in a folder of its own."""
    if isinstance(place, Path):
        return Settings(data_dir=place.parent)
    return Settings(data_dir=folder, database=place)


def hourly(name: str = "hourly", *, anchor: datetime = START) -> Job:
    return Job(name, JobKind.REPRICE, "", Every(timedelta(hours=1), anchor))


def at_night(name: str = "night", zone: str = "UTC") -> Job:
    rule = LocalTime(time(2, 30), ZoneInfo(zone))
    return Job(name, JobKind.NIGHTLY, "", rule, solve=SOLVE)
