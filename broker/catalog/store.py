"""The catalog: every offer ever observed, and which of them stand now or stood at an instant.

A refresh replaces what one provider offers in one transaction, or leaves it as it was. The
catalog's own time only moves forward, one microsecond at least from run to run, so what it said
at a past instant never changes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection, Engine, insert, or_, select
from sqlalchemy.sql import ColumnElement
from sqlmodel import col

from broker.catalog.accepting import accept, accept_import, keep_all
from broker.catalog.collector import without_collector
from broker.catalog.gates import Gates, Quarantined, Reason
from broker.catalog.history import newest_instant, next_instant
from broker.catalog.outcomes import last_outcomes, record
from broker.catalog.price_history import PriceHistory, price_history
from broker.catalog.quarantine import HeldOffer, held_offers, release
from broker.catalog.releases import Released, read_releases
from broker.catalog.rows import offer_from
from broker.catalog.runs import Reading, RunOutcome, RunStatus
from broker.catalog.seen import sightings
from broker.catalog.snapshot import snapshot_hash
from broker.catalog.state import CatalogState, by_provider
from broker.catalog.tables import HeldReading, Observation, Snapshot
from broker.domain.errors import ProviderError
from broker.domain.offer import Offer
from broker.store.database import open_database, reading, writing
from broker.store.ordering import code_points
from broker.store.place import Place


class Catalog:
    """The catalog in one database.

    Every method raises ConfigurationError where the database cannot be used.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def replace(self, sent: Reading, gates: Gates, *, now: datetime) -> RunOutcome:
        """Let what a provider sent replace its last offers, if it may; all of it or nothing."""
        with writing(self._engine) as connection, without_collector():
            at = next_instant(connection, now)
            outcome = accept(connection, sent, gates, at=at)
            record(connection, outcome)
        return outcome

    def keep(self, failed: Reading, error: ProviderError, *, now: datetime) -> RunOutcome:
        """Note that a provider failed; its last offers stand, with their true age."""
        with writing(self._engine) as connection:
            outcome = replace(
                keep_all(connection, failed, RunStatus.FAILED, at=next_instant(connection, now)),
                error=str(error),
                hint=error.hint,
            )
            record(connection, outcome)
        return outcome

    def bring_in(self, given: CatalogState, *, now: datetime) -> tuple[RunOutcome, ...]:
        """Let another machine's catalog replace the offers of its providers; all of it or nothing.

        Each provider is a run of its own. What stands and is newer stays.
        """
        outcomes = []
        with writing(self._engine) as connection:
            for provider, part in by_provider(given):
                at = next_instant(connection, now)
                outcomes.append(accept_import(connection, provider, part, at=at))
                record(connection, outcomes[-1])
        return tuple(outcomes)

    def release(
        self, keys: Iterable[str], *, by: str, note: str, now: datetime
    ) -> tuple[Released, ...]:
        """Let held offers stand until they say something else; all of them or none.

        Raises:
            ConfigurationError: one is not held back, or a second row of its key stands.
        """
        with writing(self._engine) as connection:
            newest, at = newest_instant(connection), next_instant(connection, now)
            return release(connection, keys, by=by, note=note, newest=newest, at=at)

    def held(self) -> tuple[HeldOffer, ...]:
        """List what is held back now, in the order of keys."""
        with reading(self._engine) as connection:
            newest = newest_instant(connection)
            return held_offers(connection, newest) if newest else ()

    def releases(self) -> tuple[Released, ...]:
        """List what persons released, the newest first."""
        with reading(self._engine) as connection:
            return read_releases(connection)

    def price_history(self, key: str) -> PriceHistory | None:
        """Read what an offer cost over time; None before the first refresh.

        Raises:
            ConfigurationError: no offer of that key was ever seen; the hint has the nearest ones.
        """
        with reading(self._engine) as connection:
            newest = newest_instant(connection)
            return price_history(connection, key, at=newest) if newest else None

    def state(self, as_of: datetime | None = None) -> CatalogState | None:
        """Read what stands, or stood at `as_of`; None before the first refresh."""
        with reading(self._engine) as connection:
            newest = newest_instant(connection)
            at = newest if newest is None or as_of is None else min(as_of, newest)
            if at is None:
                return None
            seen = sightings(connection, at)
            return CatalogState(
                at,
                tuple(seen.aged(offer) for offer in _offers(connection, at)),
                tuple(
                    replace(held, offer=seen.aged(held.offer))
                    for held in _quarantined(connection, at)
                ),
            )

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
                if _instant_of(connection, snapshot) is None:  # nobody was first meanwhile
                    query = insert(Snapshot).values(hash=snapshot, as_of=at)
                    connection.execute(query)

    def instant_of(self, snapshot: str) -> datetime | None:
        """Find an instant at which the catalog had this hash, None where it is not known."""
        with reading(self._engine) as connection:
            return _instant_of(connection, snapshot)

    def last_runs(self) -> tuple[RunOutcome, ...]:
        """Tell how the last refresh of each provider went."""
        with reading(self._engine) as connection:
            return last_outcomes(connection)


def open_catalog(place: Place) -> Catalog:
    """Open the catalog in a database: a file, made where there is none, or PostgreSQL by a URL.

    Raises:
        ConfigurationError: it cannot be opened, is no catalog, or is from a newer version.
    """
    return Catalog(open_database(place))


def _instant_of(connection: Connection, snapshot: str) -> datetime | None:
    query = select(col(Snapshot.as_of)).where(col(Snapshot.hash) == snapshot)
    return connection.execute(query).scalar()


def _offers(connection: Connection, at: datetime) -> Iterator[Offer]:
    query = (
        select(col(Observation.payload))
        .where(*_stands(Observation, at))
        .order_by(code_points(col(Observation.offer_key)))
    )
    return (offer_from(payload) for (payload,) in connection.execute(query))


def _quarantined(connection: Connection, at: datetime) -> Iterator[Quarantined]:
    query = (
        select(col(HeldReading.payload), col(HeldReading.reason), col(HeldReading.detail))
        .where(*_stands(HeldReading, at))
        .order_by(code_points(col(HeldReading.offer_key)), col(HeldReading.id))
    )
    return (
        Quarantined(offer_from(payload), Reason(reason), detail)
        for payload, reason, detail in connection.execute(query)
    )


def _stands(
    table: type[Observation] | type[HeldReading], at: datetime
) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return (
        col(table.valid_from) <= at,
        or_(col(table.valid_to).is_(None), col(table.valid_to) > at),
    )
