"""What is held back now, and the hand of a person who lets it through."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select
from sqlmodel import col

from broker.catalog.gates import Quarantined, Reason
from broker.catalog.keys import find_key
from broker.catalog.releases import Released, write_release
from broker.catalog.replacing import stand_instead
from broker.catalog.rows import offer_from
from broker.catalog.seen import sightings
from broker.catalog.tables import HeldReading
from broker.domain.errors import ConfigurationError
from broker.store.ordering import code_points


@dataclass(frozen=True, slots=True)
class HeldOffer:
    """An offer that is held back, and since when; `row` is where it stands in the database."""

    held: Quarantined
    since: datetime
    row: int


def held_offers(connection: Connection, at: datetime) -> tuple[HeldOffer, ...]:
    """List what is held back, in the order of keys; `at` is the catalog's newest instant."""
    seen = sightings(connection, at)
    query = (
        select(
            col(HeldReading.id),
            col(HeldReading.payload),
            col(HeldReading.reason),
            col(HeldReading.detail),
            col(HeldReading.valid_from),
        )
        .where(col(HeldReading.valid_to).is_(None))
        .order_by(code_points(col(HeldReading.offer_key)), col(HeldReading.id))
    )
    return tuple(
        HeldOffer(
            Quarantined(seen.aged(offer_from(payload)), Reason(reason), detail), since, row or 0
        )
        for row, payload, reason, detail, since in connection.execute(query)
    )


def release(
    connection: Connection,
    keys: Iterable[str],
    *,
    by: str,
    note: str,
    newest: datetime | None,
    at: datetime,
) -> tuple[Released, ...]:
    """Let held offers stand from `at` on, until they say something else; all of them or none.

    Raises:
        ConfigurationError: one is not held back, or is a second row of an offer that stands.
    """
    held = {} if newest is None else _by_key(held_offers(connection, newest))
    chosen = {}
    for given in keys:
        key = find_key(given, held, what="quarantined offer")
        one = held[key]
        if one.held.reason is Reason.DUPLICATE_KEY:
            raise ConfigurationError(
                f"{key!r} is a second row of an offer, and {one.held.detail}",
                hint="only one of them can stand; the source has to be corrected",
            )
        chosen[key] = one
    stand_instead(connection, {one.row: one.held for one in chosen.values()}, at=at)
    return tuple(
        write_release(connection, one.held, by=by, note=note, at=at) for one in chosen.values()
    )


def _by_key(held: Iterable[HeldOffer]) -> dict[str, HeldOffer]:
    """Give one held offer of each key: not a second row, where there is another."""
    rows = sorted(held, key=lambda one: one.held.reason is not Reason.DUPLICATE_KEY)
    return {one.held.offer.key: one for one in rows}
