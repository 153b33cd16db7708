"""Replace what one provider offers: the writes of a refresh, inside a caller's transaction."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, bindparam, insert, update
from sqlmodel import col

from broker.catalog.gates import Quarantined, Screened
from broker.catalog.history import held_rows, standing_rows
from broker.catalog.rows import ObservationRow, held_row, observation_row
from broker.catalog.tables import HeldReading, Observation


@dataclass(frozen=True, slots=True)
class Changes:
    """How many offers a refresh added, altered and ended."""

    new: int
    changed: int
    vanished: int


def replace_offers(
    connection: Connection, provider: str, screened: Screened, *, at: datetime
) -> Changes:
    """Let the screened offers stand from `at` on, instead of the provider's last ones.

    An offer that says the same as before keeps its row. One that is held back does not stand, not
    even at its last price: the provider no longer asks that.
    """
    standing = standing_rows(connection, provider)
    rows = {
        offer.key: observation_row(offer, at=at, confirmed=screened.confirmed.get(offer.key, ""))
        for offer in screened.offers
    }
    kept = {
        key
        for key, row in rows.items()
        if key in standing and standing[key].digest == row["digest"]
    }
    ended = [row.id for key, row in standing.items() if key not in kept]
    _end(connection, Observation, ended, at)
    added = [row for key, row in rows.items() if key not in kept]
    if added:
        connection.execute(insert(Observation), added)
    _replace_held(connection, provider, screened.quarantined, at=at)
    return _count(added, standing, rows, screened.quarantined)


def _count(
    added: Iterable[ObservationRow],
    standing: Mapping[str, object],
    rows: Mapping[str, object],
    held: Iterable[Quarantined],
) -> Changes:
    listed = rows.keys() | {one.offer.key for one in held}
    old = [row["offer_key"] in standing for row in added]
    return Changes(
        new=old.count(False),
        changed=old.count(True),
        vanished=len(standing.keys() - listed),
    )


def _replace_held(
    connection: Connection,
    provider: str,
    quarantined: Iterable[Quarantined],
    *,
    at: datetime,
) -> None:
    before = held_rows(connection, provider)
    rows = [held_row(one, at=at) for one in quarantined]
    now = {(row["offer_key"], row["reason"], row["digest"]): row for row in rows}
    _end(connection, HeldReading, [row for held, row in before.items() if held not in now], at)
    added = [row for held, row in now.items() if held not in before]
    if added:
        connection.execute(insert(HeldReading), added)


def _end(
    connection: Connection,
    table: type[Observation] | type[HeldReading],
    ids: Iterable[int],
    at: datetime,
) -> None:
    ended = [{"row": id_, "at": at} for id_ in ids]
    if ended:
        query = update(table).where(col(table.id) == bindparam("row"))
        connection.execute(query.values(valid_to=bindparam("at")), ended)
