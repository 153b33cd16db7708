"""What the catalog remembers of a provider: queries that run inside a caller's transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, select
from sqlmodel import col

from broker.catalog.gates import DoubtedCount, HeldPrice, History, LastPrice, Reason
from broker.catalog.releases import released_terms
from broker.catalog.rows import usd
from broker.catalog.runs import READ, RunStatus
from broker.catalog.tables import HeldReading, Observation, RefreshRun, Release

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class StandingRow:
    """An observation without end: its row and what it says."""

    id: int
    digest: str


def newest_instant(connection: Connection) -> datetime | None:
    """Give the instant of the last run of any provider, or of the last release after it."""
    newest = (
        connection.execute(select(func.max(col(RefreshRun.finished_at)))).scalar(),
        connection.execute(select(func.max(col(Release.valid_from)))).scalar(),
    )
    return max((at for at in newest if at is not None), default=None)


def next_instant(connection: Connection, now: datetime) -> datetime:
    """Give the catalog's next instant: now, or just after the last one if the clock went back."""
    newest = newest_instant(connection)
    return now if newest is None or now > newest else newest + _TICK


def standing_rows(connection: Connection, provider: str) -> Mapping[str, StandingRow]:
    """List a provider's standing offers by key."""
    query = select(
        col(Observation.offer_key),
        col(Observation.id),
        col(Observation.digest),
    ).where(col(Observation.provider) == provider, col(Observation.valid_to).is_(None))
    return {key: StandingRow(id_ or 0, digest) for key, id_, digest in connection.execute(query)}


def held_rows(connection: Connection, provider: str) -> Mapping[tuple[str, str, str], int]:
    """List a provider's held readings: (key, reason, digest) to row."""
    query = select(
        col(HeldReading.offer_key),
        col(HeldReading.reason),
        col(HeldReading.digest),
        col(HeldReading.id),
    ).where(col(HeldReading.provider) == provider, col(HeldReading.valid_to).is_(None))
    return {(key, why, digest): id_ or 0 for key, why, digest, id_ in connection.execute(query)}


def observed_between(
    connection: Connection, provider: str
) -> tuple[datetime | None, datetime | None]:
    """Give the instants of the oldest and the newest reply that a provider's offers stand on."""
    query = (
        select(col(RefreshRun.oldest_observed_at), col(RefreshRun.newest_observed_at))
        .where(col(RefreshRun.provider) == provider)
        .order_by(col(RefreshRun.finished_at).desc())
        .limit(1)
    )
    row = connection.execute(query).one_or_none()
    return (None, None) if row is None else (row[0], row[1])


def read_history(connection: Connection, provider: str) -> History:
    """Gather what the trust gates ask about a provider."""
    received, doubted = _counts(connection, provider)
    return History(
        prices=_last_prices(connection, provider),
        held=_held_prices(connection, provider),
        received=received,
        doubted=doubted,
        released=released_terms(connection, provider),
    )


def _counts(connection: Connection, provider: str) -> tuple[int | None, DoubtedCount | None]:
    """Find how many rows the last accepted live refresh brought, and a doubted one after it.

    Rows of parts that a run could not read count as brought: it kept them.
    """
    brought = col(RefreshRun.received) + col(RefreshRun.kept)
    query = (
        select(col(RefreshRun.status), brought, col(RefreshRun.finished_at))
        .where(
            col(RefreshRun.provider) == provider,
            col(RefreshRun.live),
            col(RefreshRun.status).in_((*READ, RunStatus.TOO_FEW)),
        )
        .order_by(col(RefreshRun.finished_at).desc())
    )
    doubted = None
    for status, received, at in connection.execute(query):
        if status in READ:
            return received, doubted
        doubted = doubted or DoubtedCount(received, at)
    return None, doubted


def _last_prices(connection: Connection, provider: str) -> Mapping[str, LastPrice]:
    newest = (
        select(func.max(col(Observation.id)))
        .where(col(Observation.provider) == provider)
        .group_by(col(Observation.offer_key))
    )
    query = select(
        col(Observation.offer_key),
        col(Observation.effective_micro_usd_per_hour),
        col(Observation.confirmed),
    ).where(col(Observation.id).in_(newest))
    return {
        key: LastPrice(usd(micro), confirmed) for key, micro, confirmed in connection.execute(query)
    }


def _held_prices(connection: Connection, provider: str) -> Mapping[str, HeldPrice]:
    query = select(
        col(HeldReading.offer_key),
        col(HeldReading.effective_micro_usd_per_hour),
        col(HeldReading.observed_at),
    ).where(
        col(HeldReading.provider) == provider,
        col(HeldReading.valid_to).is_(None),
        col(HeldReading.reason) != Reason.DUPLICATE_KEY,
    )
    return {key: HeldPrice(usd(micro), seen) for key, micro, seen in connection.execute(query)}
