"""Replace what one provider offers: the writes of a refresh, inside a caller's transaction."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection, select, update
from sqlmodel import col

from broker.catalog.gates import Quarantined, Screened
from broker.catalog.history import StandingRow, held_rows, standing_rows
from broker.catalog.releases import end_releases
from broker.catalog.rows import ObservationRow, held_row, observation_row, offer_from
from broker.catalog.tables import HeldReading, Observation
from broker.domain.missing import Missing
from broker.domain.offer import Offer
from broker.store.bulk import insert_rows

_AT_ONCE = 500
"""Rows that one statement names; each is a parameter, of which databases allow a few thousand."""


@dataclass(frozen=True, slots=True)
class Changes:
    """How many offers a refresh added, altered and ended."""

    new: int
    changed: int
    vanished: int


@dataclass(frozen=True, slots=True)
class Untouched:
    """What stays as it is, as its part could not be read: keys, rows held back, offers."""

    keys: frozenset[str] = frozenset()
    held_ids: frozenset[int] = frozenset()
    offers: tuple[Offer, ...] = ()

    @property
    def count(self) -> int:
        """Count the rows, held or not."""
        return len(self.offers) + len(self.held_ids)


@dataclass(frozen=True, slots=True)
class Replacement:
    """What shall stand of a provider instead of its last offers.

    `untouched` stays beside it. `anew` are keys whose offers get a new row though they may say the
    same, so that the row has their age.
    """

    screened: Screened
    untouched: Untouched = field(default_factory=Untouched)
    anew: frozenset[str] = frozenset()


def untouched(
    connection: Connection, provider: str, missing: Iterable[Missing], *, listed: frozenset[str]
) -> Untouched:
    """Find what stands or is held of missing parts; a key that was `listed` all the same is not."""
    parts = tuple(missing)
    if not parts:
        return Untouched()

    def stays(offer: Offer) -> bool:
        return offer.key not in listed and any(part.covers(offer) for part in parts)

    standing = [one for _, one in _open_offers(connection, Observation, provider) if stays(one)]
    held = [id_ for id_, one in _open_offers(connection, HeldReading, provider) if stays(one)]
    return Untouched(frozenset(one.key for one in standing), frozenset(held), tuple(standing))


def replace_offers(
    connection: Connection, provider: str, new: Replacement, *, at: datetime
) -> Changes:
    """Let the screened offers stand from `at` on, instead of the provider's last ones.

    An offer that says the same as before keeps its row. One that is held back does not stand, not
    even at its last price: the provider no longer asks that.
    """
    screened = new.screened
    standing = {
        key: row
        for key, row in standing_rows(connection, provider).items()
        if key not in new.untouched.keys
    }
    rows = {
        offer.key: observation_row(offer, at=at, confirmed=screened.confirmed.get(offer.key, ""))
        for offer in screened.offers
    }
    same = {
        key
        for key, row in rows.items()
        if key in standing and standing[key].digest == row["digest"]
    }
    kept = same - new.anew
    _end(connection, Observation, [row.id for key, row in standing.items() if key not in kept], at)
    added = [row for key, row in rows.items() if key not in kept]
    if added:
        insert_rows(connection, Observation, added)
    _replace_held(connection, provider, new, at=at)
    end_releases(connection, provider, screened, at=at)
    return _count(rows, standing, same=same, held=screened.quarantined)


def standing_offers(connection: Connection, provider: str) -> tuple[Offer, ...]:
    """Read a provider's standing offers as their rows have them."""
    return tuple(offer for _, offer in _open_offers(connection, Observation, provider))


def stand_instead(connection: Connection, held: Mapping[int, Quarantined], *, at: datetime) -> None:
    """Let held readings stand from `at` on: a person released them."""
    _end(connection, HeldReading, held, at)
    rows = [observation_row(one.offer, at=at, confirmed=one.reason) for one in held.values()]
    insert_rows(connection, Observation, rows)


def _count(
    rows: Mapping[str, ObservationRow],
    standing: Mapping[str, StandingRow],
    *,
    same: Iterable[str],
    held: Iterable[Quarantined],
) -> Changes:
    listed = rows.keys() | {one.offer.key for one in held}
    return Changes(
        new=len(rows.keys() - standing.keys()),
        changed=len((rows.keys() & standing.keys()) - set(same)),
        vanished=len(standing.keys() - listed),
    )


def _replace_held(connection: Connection, provider: str, new: Replacement, *, at: datetime) -> None:
    before = held_rows(connection, provider)
    rows = [held_row(one, at=at) for one in new.screened.quarantined]
    now = {(row["offer_key"], row["reason"], row["digest"]): row for row in rows}
    kept = {held for held in before if held in now and held[0] not in new.anew}
    stays = new.untouched.held_ids
    gone = [id_ for held, id_ in before.items() if held not in kept and id_ not in stays]
    _end(connection, HeldReading, gone, at)
    added = [row for held, row in now.items() if held not in kept]
    if added:
        insert_rows(connection, HeldReading, added)


def _open_offers(
    connection: Connection, table: type[Observation] | type[HeldReading], provider: str
) -> Iterable[tuple[int, Offer]]:
    query = select(col(table.id), col(table.payload)).where(
        col(table.provider) == provider, col(table.valid_to).is_(None)
    )
    return ((id_ or 0, offer_from(payload)) for id_, payload in connection.execute(query))


def _end(
    connection: Connection,
    table: type[Observation] | type[HeldReading],
    ids: Iterable[int],
    at: datetime,
) -> None:
    ended = list(ids)
    for start in range(0, len(ended), _AT_ONCE):
        some = ended[start : start + _AT_ONCE]
        connection.execute(update(table).where(col(table.id).in_(some)).values(valid_to=at))
