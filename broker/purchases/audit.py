"""The audit log: who did what to which plan, each entry sealed with the hash of the one before.

Who changes, removes or inserts an entry has to write all later ones anew. What the log cannot show
by itself is that its end was cut off: `checking.py` holds it to the rows that it speaks of.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from sqlalchemy import Connection, insert, select
from sqlmodel import col

from broker.purchases.tables import AuditEntry

FIRST = "0" * 64
"""Stands for the entry before the first."""


class Action(StrEnum):
    """What is logged."""

    KEPT = "kept"
    ADOPTED = "adopted"
    CONFIRMED = "confirmed"
    APPROVED = "approved"
    EXECUTED_LINE = "executed_line"
    EXECUTED = "executed"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing that somebody does to a plan, or to a line of it."""

    actor: str
    action: str
    plan_hash: str
    line: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A deed as it stands in the log."""

    number: int
    at: datetime
    deed: Deed
    previous_sha256: str
    sha256: str


def log_deed(connection: Connection, deed: Deed, *, at: datetime) -> int:
    """Append a deed and give its number; the caller's transaction holds the write lock."""
    query = select(col(AuditEntry.number), col(AuditEntry.sha256))
    last = connection.execute(query.order_by(col(AuditEntry.number).desc()).limit(1)).one_or_none()
    number, previous = (1, FIRST) if last is None else (last[0] + 1, last[1])
    connection.execute(
        insert(AuditEntry).values(
            number=number,
            at=at,
            actor=deed.actor,
            action=deed.action,
            plan_hash=deed.plan_hash,
            line=deed.line,
            detail=deed.detail,
            previous_sha256=previous,
            sha256=seal(number, at, deed, previous),
        )
    )
    return int(number)


def seal(number: int, at: datetime, deed: Deed, previous: str) -> str:
    """Hash all that an entry says (SHA-256)."""
    said = [
        number,
        at.astimezone(UTC).isoformat(),
        deed.actor,
        deed.action,
        deed.plan_hash,
        deed.line,
        deed.detail,
        previous,
    ]
    text = json.dumps(said, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def read_log(connection: Connection) -> tuple[Entry, ...]:
    """List the entries, the oldest first."""
    table = AuditEntry.metadata.tables[str(AuditEntry.__tablename__)]
    return tuple(
        Entry(
            number=row.number,
            at=row.at,
            deed=Deed(row.actor, row.action, row.plan_hash, row.line, row.detail),
            previous_sha256=row.previous_sha256,
            sha256=row.sha256,
        )
        for row in connection.execute(select(table).order_by(table.c.number))
    )
