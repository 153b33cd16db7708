"""Instants in the database: naive UTC, as SQLite has no time zones."""

from datetime import UTC, datetime

from sqlalchemy import DateTime, Dialect
from sqlalchemy.types import TypeDecorator


class UtcInstant(TypeDecorator[datetime]):
    """An aware instant, kept as naive UTC: SQLite has no time zones."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Drop the zone on the way in, after moving to UTC."""
        del dialect
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Put UTC back on the way out."""
        del dialect
        return None if value is None else value.replace(tzinfo=UTC)
