"""The catalog: every offer ever observed, and which of them stand now or stood at an instant.

A refresh replaces what one provider offers in one transaction, or leaves it as it was. The
catalog's own time only moves forward, one microsecond at least from run to run, so what it said
at a past instant never changes.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import Connection, Engine, func, insert, or_, select
from sqlalchemy.sql import ColumnElement
from sqlmodel import col

from broker.catalog.database import open_database, reading, writing
from broker.catalog.gates import Gates, Quarantined, screen, too_few
from broker.catalog.history import newest_instant, observed_between, read_history
from broker.catalog.outcomes import held_counts, last_outcomes, record, standing_count
from broker.catalog.replacing import replace_offers
from broker.catalog.rows import offer_from, quarantined_from
from broker.catalog.runs import Reading, RunOutcome, RunStatus
from broker.catalog.snapshot import snapshot_hash
from broker.catalog.tables import HeldReading, Observation, RefreshRun, Snapshot
from broker.domain.errors import ProviderError
from broker.domain.offer import Offer

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class CatalogState:
    """What the catalog says at one of its instants; offers in the order of their keys."""

    at: datetime
    offers: tuple[Offer, ...]
    quarantined: tuple[Quarantined, ...]


class Catalog:
    """The catalog in one database.

    Every method raises ConfigurationError where the database cannot be used.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def replace(self, sent: Reading, gates: Gates, *, now: datetime) -> RunOutcome:
        """Let what a provider sent replace its last offers, if it may; all of it or nothing."""
        with writing(self._engine) as connection:
            at = _next_instant(connection, now)
            outcome = _replace(connection, sent, gates, at)
            record(connection, outcome)
        return outcome

    def keep(self, failed: Reading, error: ProviderError, *, now: datetime) -> RunOutcome:
        """Note that a provider failed; its last offers stand, with their true age."""
        with writing(self._engine) as connection:
            outcome = replace(
                _kept(connection, failed, RunStatus.FAILED, _next_instant(connection, now)),
                error=str(error),
                hint=error.hint,
            )
            record(connection, outcome)
        return outcome

    def state(self, as_of: datetime | None = None) -> CatalogState | None:
        """Read what stands, or stood at `as_of`; None before the first refresh."""
        with reading(self._engine) as connection:
            newest = newest_instant(connection)
            at = newest if newest is None or as_of is None else min(as_of, newest)
            if at is None:
                return None
            return CatalogState(at, _offers(connection, at), _quarantined(connection, at))

    def current_offers(self, as_of: datetime | None = None) -> list[Offer]:
        """List the offers that stand, or stood at `as_of`, in the order of their keys."""
        state = self.state(as_of)
        return list(state.offers) if state else []

    def snapshot(self, as_of: datetime | None = None) -> str:
        """Name the offers that stand by their hash, and remember it for `instant_of`."""
        state = self.state(as_of)
        name = snapshot_hash(state.offers if state else ())
        if state:
            self.remember(name, state.at)
        return name

    def remember(self, snapshot: str, at: datetime) -> None:
        """Note that the catalog had this hash at one of its instants."""
        if self.instant_of(snapshot) is None:
            with writing(self._engine) as connection:
                query = insert(Snapshot).prefix_with("OR IGNORE", dialect="sqlite")
                connection.execute(query.values(hash=snapshot, as_of=at))

    def instant_of(self, snapshot: str) -> datetime | None:
        """Find an instant at which the catalog had this hash, None where it is not known."""
        with reading(self._engine) as connection:
            query = select(col(Snapshot.as_of)).where(col(Snapshot.hash) == snapshot)
            return connection.execute(query).scalar()

    def last_runs(self) -> tuple[RunOutcome, ...]:
        """Tell how the last refresh of each provider went."""
        with reading(self._engine) as connection:
            return last_outcomes(connection)


def open_catalog(path: Path) -> Catalog:
    """Open the catalog in a database file, making it where there is none.

    Raises:
        ConfigurationError: the file cannot be opened, is no catalog, or is from a newer version.
    """
    return Catalog(open_database(path))


def _replace(connection: Connection, sent: Reading, gates: Gates, at: datetime) -> RunOutcome:
    stamps = [offer.provenance.observed_at for offer in sent.offers]
    _, newest = observed_between(connection, sent.provider)
    if not sent.live and stamps and newest is not None and max(stamps) < newest:
        kept = _kept(connection, sent, RunStatus.OLDER, at)
        why = f"recorded {max(stamps):%Y-%m-%d}, but the catalog has offers of {newest:%Y-%m-%d}"
        return replace(
            kept, error=why, hint="the newer offers are kept; refresh without --recorded"
        )
    history = read_history(connection, sent.provider)
    doubt = too_few(len(sent.offers), at, gates, history) if sent.live else None
    if doubt:
        kept = _kept(connection, sent, RunStatus.TOO_FEW, at)
        return replace(kept, error=doubt, hint="a second refresh with as few confirms it")
    screened = screen(sent.offers, gates, history)
    changes = replace_offers(connection, sent.provider, screened, at=at)
    return replace(
        _kept(connection, sent, RunStatus.REFRESHED, at),
        oldest_observed_at=min(stamps, default=None),
        newest_observed_at=max(stamps, default=None),
        new=changes.new,
        changed=changes.changed,
        vanished=changes.vanished,
    )


def _kept(connection: Connection, sent: Reading, status: RunStatus, at: datetime) -> RunOutcome:
    oldest, newest = observed_between(connection, sent.provider)
    return RunOutcome(
        provider=sent.provider,
        status=status,
        live=sent.live,
        started_at=sent.started_at,
        finished_at=at,
        oldest_observed_at=oldest,
        newest_observed_at=newest,
        received=len(sent.offers),
        offers=standing_count(connection, sent.provider),
        rejected=_counted(sent),
        quarantined=held_counts(connection, sent.provider),
    )


def _counted(sent: Reading) -> Mapping[str, int]:
    return dict(sorted(Counter(one.reason for one in sent.rejections).items()))


def _next_instant(connection: Connection, now: datetime) -> datetime:
    """Give the catalog's next instant: now, or just after the last one if the clock went back."""
    newest = newest_instant(connection)
    return now if newest is None or now > newest else newest + _TICK


def _offers(connection: Connection, at: datetime) -> tuple[Offer, ...]:
    seen = _seen_at(connection, at)
    query = (
        select(col(Observation.provider), col(Observation.payload))
        .where(*_stands(Observation, at))
        .order_by(col(Observation.offer_key))
    )
    return tuple(
        offer_from(payload, seen.get(provider)) for provider, payload in connection.execute(query)
    )


def _quarantined(connection: Connection, at: datetime) -> tuple[Quarantined, ...]:
    query = (
        select(col(HeldReading.payload), col(HeldReading.reason), col(HeldReading.detail))
        .where(*_stands(HeldReading, at))
        .order_by(col(HeldReading.offer_key), col(HeldReading.id))
    )
    return tuple(quarantined_from(*row) for row in connection.execute(query))


def _seen_at(connection: Connection, at: datetime) -> Mapping[str, datetime | None]:
    """Tell since when each provider's offers are surely seen: its oldest reply of the last run.

    An offer that did not change keeps its row, so its own stamp is that of its first observation.
    """
    last = (
        select(func.max(col(RefreshRun.id)))
        .where(col(RefreshRun.finished_at) <= at)
        .group_by(col(RefreshRun.provider))
    )
    query = select(col(RefreshRun.provider), col(RefreshRun.oldest_observed_at)).where(
        col(RefreshRun.id).in_(last)
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def _stands(
    table: type[Observation] | type[HeldReading], at: datetime
) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return (
        col(table.valid_from) <= at,
        or_(col(table.valid_to).is_(None), col(table.valid_to) > at),
    )
