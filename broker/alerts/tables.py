"""The rows of alerts: what stands or stood, what each sink was told of it, what is to be sent.

An alert's row is one episode: from when it was first found until it was over. What a sink was told
is written in the transaction that marks the message as delivered.
"""

from datetime import datetime

from sqlalchemy import Column, ForeignKey, Index, Text
from sqlmodel import Field, SQLModel

from broker.store.instants import UtcInstant


class AlertRow(SQLModel, table=True):
    """One episode of an alert; `mended_at` is empty while it stands. The payload is its JSON."""

    __tablename__ = "alert"

    id: int | None = Field(default=None, primary_key=True)
    kind: str
    scope: str
    subject: str
    state: str
    payload: str = Field(sa_type=Text)
    opened_at: datetime = Field(sa_type=UtcInstant)
    changed_at: datetime = Field(sa_type=UtcInstant)
    mended_at: datetime | None = Field(default=None, sa_type=UtcInstant)

    __table_args__ = (Index("ix_alert_open", "mended_at"),)


class AlertTold(SQLModel, table=True):
    """The state of an alert that a sink was last told of."""

    __tablename__ = "alert_told"

    alert_id: int = Field(sa_column=Column(ForeignKey("alert.id"), primary_key=True))
    sink: str = Field(primary_key=True)
    state: str
    told_at: datetime = Field(sa_type=UtcInstant)


class AlertOutbox(SQLModel, table=True):
    """A message to one sink. It waits until it is delivered, or withdrawn as no longer true.

    `key` is its idempotency key. Who sends it claims it for a while, so that nobody else does.
    """

    __tablename__ = "alert_outbox"

    id: int | None = Field(default=None, primary_key=True)
    sink: str
    key: str = Field(unique=True)
    payload: str = Field(sa_type=Text)
    made_at: datetime = Field(sa_type=UtcInstant)
    attempts: int = 0
    error: str = Field(default="", sa_type=Text)
    claimed_by: str = ""
    claimed_at: datetime | None = Field(default=None, sa_type=UtcInstant)
    delivered_at: datetime | None = Field(default=None, sa_type=UtcInstant)
    withdrawn_at: datetime | None = Field(default=None, sa_type=UtcInstant)

    __table_args__ = (Index("ix_alert_outbox_waiting", "sink", "delivered_at"),)
