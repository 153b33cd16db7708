"""The book of alerts in the database: what stands, what was told, what waits to be sent."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection, Select, and_, delete, insert, select, update
from sqlmodel import col

from broker.alerts.claims import is_held, own_claim
from broker.alerts.deciding import Episode, Waiting
from broker.alerts.news import Event, Message
from broker.alerts.tables import AlertOutbox, AlertRow, AlertTold
from broker.domain.alert import Alert


@dataclass(frozen=True, slots=True)
class Logged:
    """One episode of the past or the present, as a list or a digest shows it."""

    alert: Alert
    opened_at: datetime
    changed_at: datetime
    mended_at: datetime | None
    told: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Queued:
    """A message that waits, how often it was tried in vain, and what went wrong last."""

    sink: str
    message: Message
    attempts: int
    error: str


def standing(connection: Connection) -> tuple[Episode, ...]:
    """Read what stands, in the order in which it was found."""
    query = select(AlertRow).where(col(AlertRow.mended_at).is_(None)).order_by(col(AlertRow.id))
    rows = connection.execute(query).all()
    told = _told(connection, [row.id for row in rows])
    return tuple(
        Episode(
            alert=Alert.model_validate_json(row.payload),
            opened_at=row.opened_at,
            changed_at=row.changed_at,
            id=row.id,
            told=told.get(row.id, {}),
        )
        for row in rows
    )


def logged(connection: Connection, since: datetime | None = None) -> tuple[Logged, ...]:
    """Read what stands, and what was over after `since` (None for all of it), oldest first."""
    query = select(AlertRow).order_by(col(AlertRow.id))
    if since is not None:
        ended = col(AlertRow.mended_at)
        query = query.where(ended.is_(None) | (ended > since))
    rows = connection.execute(query).all()
    told = _told(connection, [row.id for row in rows])
    return tuple(
        Logged(
            alert=Alert.model_validate_json(row.payload),
            opened_at=row.opened_at,
            changed_at=row.changed_at,
            mended_at=row.mended_at,
            told=tuple(sorted(told.get(row.id, {}))),
        )
        for row in rows
    )


def keep_episodes(
    connection: Connection, now_standing: Sequence[Episode], mended: Sequence[Episode], at: datetime
) -> tuple[Episode, ...]:
    """Write what stands and what is over; give what stands with the ids of what is new."""
    for one in mended:
        connection.execute(update(AlertRow).where(col(AlertRow.id) == one.id).values(mended_at=at))
    return tuple(_kept(connection, one) for one in now_standing)


def waiting(connection: Connection, sink: str, now: datetime) -> tuple[Waiting, ...]:
    """Read what waits for a sink, oldest first."""
    return tuple(
        Waiting(
            id=row.id,
            message=Message.model_validate_json(row.payload),
            is_claimed=is_held(row.claimed_by, row.claimed_at, now),
        )
        for row in connection.execute(_open().where(col(AlertOutbox.sink) == sink))
    )


def queued(connection: Connection) -> tuple[Queued, ...]:
    """Read all that waits for any sink, oldest first."""
    return tuple(
        Queued(row.sink, Message.model_validate_json(row.payload), row.attempts, row.error)
        for row in connection.execute(_open())
    )


def put(connection: Connection, sink: str, message: Message) -> None:
    """Put a message into the outbox."""
    row = {"sink": sink, "key": message.key, "payload": message.model_dump_json()}
    blank = {"attempts": 0, "error": "", "claimed_by": ""}
    connection.execute(insert(AlertOutbox).values(**row, **blank, made_at=message.made_at))


def has(connection: Connection, key: str) -> bool:
    """Tell whether a message of this key was ever put into the outbox."""
    query = select(col(AlertOutbox.id)).where(col(AlertOutbox.key) == key)
    return connection.execute(query).first() is not None


def change(connection: Connection, changed: Iterable[Waiting], at: datetime) -> None:
    """Write messages that lost some of their news; one without any is withdrawn."""
    for one in changed:
        values: dict[str, object] = {"payload": one.message.model_dump_json()}
        if not one.message.news:
            values = {"withdrawn_at": at}
        connection.execute(
            update(AlertOutbox).where(col(AlertOutbox.id) == one.id).values(**values)
        )


def claim(connection: Connection, number: int, now: datetime) -> Message | None:
    """Take a message to send it; None if it is gone, or somebody else is sending it."""
    row = connection.execute(_open().where(col(AlertOutbox.id) == number)).first()
    if row is None or is_held(row.claimed_by, row.claimed_at, now):
        return None
    _set(connection, number, claimed_by=own_claim(), claimed_at=now)
    return Message.model_validate_json(row.payload)


def release(connection: Connection, number: int) -> None:
    """Let a message wait again."""
    _set(connection, number, claimed_by="", claimed_at=None)


def failed(connection: Connection, number: int, error: str) -> None:
    """Note that a message did not arrive; it waits again."""
    attempts = col(AlertOutbox.attempts) + 1
    values = {"attempts": attempts, "error": error}
    _set(connection, number, claimed_by="", claimed_at=None, **values)


def delivered(
    connection: Connection, number: int, sink: str, message: Message, *, at: datetime
) -> None:
    """Note that a message arrived, and what its sink knows by it."""
    _set(connection, number, claimed_by="", claimed_at=None, delivered_at=at, error="")
    for news in message.news:
        if news.event is Event.MENDED:
            continue
        mine = and_(col(AlertTold.alert_id) == news.episode, col(AlertTold.sink) == sink)
        connection.execute(delete(AlertTold).where(mine))
        row = {"alert_id": news.episode, "sink": sink, "state": news.alert.state, "told_at": at}
        connection.execute(insert(AlertTold).values(**row))


def _open() -> Select[AlertOutbox]:
    waits = and_(col(AlertOutbox.delivered_at).is_(None), col(AlertOutbox.withdrawn_at).is_(None))
    return select(AlertOutbox).where(waits).order_by(col(AlertOutbox.id))


def _set(connection: Connection, number: int, **values: object) -> None:
    query = update(AlertOutbox).where(col(AlertOutbox.id) == number)
    connection.execute(query.values(**values))


def _kept(connection: Connection, one: Episode) -> Episode:
    values = {
        "state": one.alert.state,
        "payload": one.alert.model_dump_json(),
        "changed_at": one.changed_at,
    }
    if one.id:
        connection.execute(update(AlertRow).where(col(AlertRow.id) == one.id).values(**values))
        return one
    alert = one.alert
    about = {"kind": alert.kind.value, "scope": alert.scope, "subject": alert.subject}
    query = insert(AlertRow).values(**about, **values, opened_at=one.opened_at)
    number = connection.execute(query.returning(col(AlertRow.id))).scalar_one()
    return replace(one, id=int(number or 0))


def _told(connection: Connection, ids: Sequence[int]) -> dict[int, dict[str, str]]:
    query = select(AlertTold).where(col(AlertTold.alert_id).in_(ids))
    found: dict[int, dict[str, str]] = {}
    for row in connection.execute(query):
        found.setdefault(row.alert_id, {})[row.sink] = row.state
    return found
