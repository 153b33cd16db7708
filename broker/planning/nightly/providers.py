"""How the providers stand after a refresh, and how they stood a day earlier.

A provider that was never read is not told of: nobody has a key for it, and no plan depends on it.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta

from sqlalchemy import Connection, Engine, func, or_, select
from sqlmodel import col

from broker.alerts.night import ProviderState
from broker.catalog.outcomes import last_outcomes
from broker.catalog.runs import READ, RunOutcome, RunStatus
from broker.catalog.tables import HeldReading, Observation, RefreshRun
from broker.store.database import reading

_DAY = timedelta(days=1)


def provider_states(engine: Engine, now: datetime) -> tuple[ProviderState, ...]:
    """Tell how each provider stands that was read at least once.

    Raises:
        ConfigurationError: the database cannot be used.
    """
    with reading(engine) as connection:
        before = _counts_at(connection, now - _DAY)
        last_read = _last_read(connection)
        return tuple(
            ProviderState(
                name=one.provider,
                offers=_listed(one),
                before=before[one.provider],
                newest_observed_at=one.newest_observed_at,
                failing_since=_failing_since(connection, one, last_read[one.provider]),
                error=one.error,
            )
            for one in last_outcomes(connection)
            if one.provider in last_read
        )


def _listed(one: RunOutcome) -> int:
    """Count what a provider lists, held back or not; where it could not be read, what stands."""
    return one.offers if one.status is RunStatus.FAILED else one.received + one.kept


def _counts_at(connection: Connection, at: datetime) -> Counter[str]:
    """Count what each provider listed at an instant, held back or not."""
    found = Counter[str]()
    for table in (Observation, HeldReading):
        ends = col(table.valid_to)
        query = (
            select(col(table.provider), func.count())
            .where(col(table.valid_from) <= at, or_(ends.is_(None), ends > at))
            .group_by(col(table.provider))
        )
        found.update({row[0]: row[1] for row in connection.execute(query)})
    return found


def _last_read(connection: Connection) -> Mapping[str, datetime]:
    query = (
        select(col(RefreshRun.provider), func.max(col(RefreshRun.finished_at)))
        .where(col(RefreshRun.status).in_((*READ, RunStatus.TOO_FEW)))
        .group_by(col(RefreshRun.provider))
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def _failing_since(connection: Connection, one: RunOutcome, last_read: datetime) -> datetime | None:
    if one.status is not RunStatus.FAILED:
        return None
    query = select(func.min(col(RefreshRun.finished_at))).where(
        col(RefreshRun.provider) == one.provider,
        col(RefreshRun.status) == RunStatus.FAILED,
        col(RefreshRun.finished_at) > last_read,
    )
    return connection.execute(query).scalar()
