"""How a log is read, checked before the work."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from broker.domain.errors import ConfigurationError
from broker.planning.profiling.classes import MOST_CLASSES
from broker.planning.profiling.columns import ColumnNames


@dataclass(frozen=True, slots=True)
class ProfileOptions:
    """The columns of a log, the zone of its instants, that of the curve, and the most classes.

    `start` is when the log began, for instants that are seconds since then.
    """

    columns: ColumnNames = field(default_factory=ColumnNames)
    log_timezone: str = "UTC"
    timezone: str = "UTC"
    start: datetime | None = None
    most_classes: int = MOST_CLASSES


def profile_options(
    columns: ColumnNames,
    *,
    log_timezone: str,
    timezone: str,
    start: datetime | None,
    most_classes: int,
) -> ProfileOptions:
    """Check what a person asks for.

    Raises:
        ConfigurationError: a time zone is none.
    """
    for option, zone in (("--log-timezone", log_timezone), ("--timezone", timezone)):
        try:
            ZoneInfo(zone)
        except (KeyError, ValueError, OSError) as cause:
            raise ConfigurationError(
                f"{option} {zone!r} is no time zone", hint="write one such as America/New_York"
            ) from cause
    began = start.replace(tzinfo=UTC) if start else None
    return ProfileOptions(columns, log_timezone, timezone, began, most_classes)
