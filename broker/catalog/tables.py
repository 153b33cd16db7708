"""The rows of the catalog: runs, observations, what is held back or released, snapshots.

Observations and held readings are append-only: a row is written once, and only its `valid_to` is
set later, once; both its ends are instants of the catalog: a run's `finished_at`, or that of a
release. A release is append-only in the same way. Instants are stored as naive UTC,
money as whole micro-dollars. The payload is the JSON of the offer as it was first observed.
"""

from datetime import datetime

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Text
from sqlmodel import Field, SQLModel

from broker.store.instants import UtcInstant


class RefreshRun(SQLModel, table=True):
    """One provider's part of one refresh; `finished_at` is unique, as the catalog's history is.

    `live` if it asked over the network. `received` counts the offers that the provider sent, held
    or not; `offers` those that stand after it; `kept` those of the `missing` parts, which it could
    not read. The two observation instants bound what it read.
    """

    __tablename__ = "refresh_run"

    id: int | None = Field(default=None, primary_key=True)
    provider: str
    status: str
    live: bool
    started_at: datetime = Field(sa_type=UtcInstant)
    finished_at: datetime = Field(sa_type=UtcInstant, unique=True)
    oldest_observed_at: datetime | None = Field(default=None, sa_type=UtcInstant)
    newest_observed_at: datetime | None = Field(default=None, sa_type=UtcInstant)
    received: int = 0
    offers: int = 0
    new: int = 0
    changed: int = 0
    vanished: int = 0
    kept: int = 0
    missing: str = Field(default="", sa_type=Text)
    error: str = ""
    hint: str = ""

    __table_args__ = (Index("ix_refresh_run_provider", "provider", "finished_at"),)


class RejectionCount(SQLModel, table=True):
    """How many rows of a run were no offers, for one reason."""

    __tablename__ = "rejection_count"

    run_id: int = Field(
        sa_column=Column(ForeignKey("refresh_run.id"), primary_key=True, nullable=False)
    )
    reason: str = Field(primary_key=True)
    rows: int


class Observation(SQLModel, table=True):
    """An offer as it stood from one instant to another; `valid_to` is empty while it stands.

    `digest` identifies all that is said of the offer but when it was seen. `confirmed` names the
    trust gate that the offer failed before a second reading confirmed it.
    """

    __tablename__ = "observation"

    id: int | None = Field(default=None, primary_key=True)
    provider: str
    offer_key: str
    price_kind: str
    gpu: str
    micro_usd_per_hour: int = Field(sa_type=BigInteger)
    effective_micro_usd_per_hour: int = Field(sa_type=BigInteger)
    confirmed: str = ""
    digest: str
    observed_at: datetime = Field(sa_type=UtcInstant)
    valid_from: datetime = Field(sa_type=UtcInstant)
    valid_to: datetime | None = Field(default=None, sa_type=UtcInstant)
    payload: str = Field(sa_type=Text)

    __table_args__ = (
        Index("ix_observation_open", "provider", "valid_to"),
        Index("ix_observation_key", "provider", "offer_key"),
    )


class HeldReading(SQLModel, table=True):
    """An offer that failed a trust gate, from when until when it was held back."""

    __tablename__ = "quarantine"

    id: int | None = Field(default=None, primary_key=True)
    provider: str
    offer_key: str
    reason: str
    detail: str
    effective_micro_usd_per_hour: int = Field(sa_type=BigInteger)
    digest: str
    observed_at: datetime = Field(sa_type=UtcInstant)
    valid_from: datetime = Field(sa_type=UtcInstant)
    valid_to: datetime | None = Field(default=None, sa_type=UtcInstant)
    payload: str = Field(sa_type=Text)

    __table_args__ = (
        Index("ix_quarantine_open", "provider", "valid_to"),
        Index("ix_quarantine_key", "provider", "offer_key"),
    )


class Release(SQLModel, table=True):
    """What a person let through although a trust gate held it, until it says something else.

    `digest` identifies its terms: all that is said of the offer but where and when it was seen and
    how much of it there is. `valid_to` is empty while the release holds.
    """

    __tablename__ = "quarantine_release"

    id: int | None = Field(default=None, primary_key=True)
    provider: str
    offer_key: str
    reason: str
    detail: str
    digest: str
    released_by: str
    note: str = Field(default="", sa_type=Text)
    valid_from: datetime = Field(sa_type=UtcInstant)
    valid_to: datetime | None = Field(default=None, sa_type=UtcInstant)

    __table_args__ = (Index("ix_release_open", "provider", "valid_to"),)


class Snapshot(SQLModel, table=True):
    """A hash that a plan may name, and the instant at which the catalog had it."""

    __tablename__ = "snapshot"

    hash: str = Field(primary_key=True)
    as_of: datetime = Field(sa_type=UtcInstant)
