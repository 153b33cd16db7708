"""Releases in the database: who let a held offer through, which terms of it, when and why.

A release is written once. It ends, once, at the first reading in which the offer says something
else; then the gates judge it anew.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, insert, select, update
from sqlmodel import col

from broker.catalog.gates import Quarantined, Reason, Screened
from broker.catalog.snapshot import terms_digest
from broker.catalog.tables import Release
from broker.store.ordering import code_points


@dataclass(frozen=True, slots=True)
class Released:
    """A release; `until` is None while it holds, `digest` identifies the terms let through."""

    provider: str
    offer_key: str
    reason: str
    detail: str
    digest: str
    released_by: str
    note: str
    at: datetime
    until: datetime | None = None


def write_release(
    connection: Connection, held: Quarantined, *, by: str, note: str, at: datetime
) -> Released:
    """Note that a person lets a held offer through from `at` on."""
    release = Released(
        provider=held.offer.provider,
        offer_key=held.offer.key,
        reason=held.reason,
        detail=held.detail,
        digest=terms_digest(held.offer),
        released_by=by,
        note=note,
        at=at,
    )
    query = insert(Release).values(
        provider=release.provider,
        offer_key=release.offer_key,
        reason=release.reason,
        detail=release.detail,
        digest=release.digest,
        released_by=by,
        note=note,
        valid_from=at,
    )
    connection.execute(query)
    return release


def released_terms(connection: Connection, provider: str) -> Mapping[str, str]:
    """Give the terms that are let through, by the offer's key."""
    query = select(col(Release.offer_key), col(Release.digest)).where(
        col(Release.provider) == provider, col(Release.valid_to).is_(None)
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def end_releases(
    connection: Connection, provider: str, screened: Screened, *, at: datetime
) -> None:
    """End the releases of offers that say something else now; one that is not listed stays."""
    terms = released_terms(connection, provider)
    if not terms:
        return
    held = (one.offer for one in screened.quarantined if one.reason is not Reason.DUPLICATE_KEY)
    said = {offer.key: offer for offer in (*screened.offers, *held)}
    ended = [
        key for key, digest in terms.items() if key in said and terms_digest(said[key]) != digest
    ]
    if ended:
        query = update(Release).where(
            col(Release.provider) == provider,
            col(Release.offer_key).in_(ended),
            col(Release.valid_to).is_(None),
        )
        connection.execute(query.values(valid_to=at))


def read_releases(connection: Connection) -> tuple[Released, ...]:
    """List releases, the newest first."""
    table = Release.metadata.tables[str(Release.__tablename__)]
    query = select(table).order_by(table.c.valid_from.desc(), code_points(table.c.offer_key))
    return tuple(
        Released(
            provider=row.provider,
            offer_key=row.offer_key,
            reason=row.reason,
            detail=row.detail,
            digest=row.digest,
            released_by=row.released_by,
            note=row.note,
            at=row.valid_from,
            until=row.valid_to,
        )
        for row in connection.execute(query)
    )
