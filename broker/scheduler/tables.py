"""The rows of the schedule: what runs when, every run of it, and who may run.

A run is written when it starts and once more when it ends. `token` is the one of the lease under
which it ran.
"""

from datetime import datetime

from sqlalchemy import BigInteger, Index, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from broker.store.instants import UtcInstant


class ScheduleRow(SQLModel, table=True):
    """One job of the schedule: `every_s` seconds apart, or at a local time.

    `time_limit_s` and `gap_fraction` are what a plan is solved with, empty for other jobs.
    `due_at` is the next instant at which it runs. `done`, `failed` and `interrupted` count all its
    runs, also those that are not kept any more.
    """

    __tablename__ = "schedule"

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True)
    kind: str
    subject: str = Field(sa_type=Text)
    recorded: bool
    time_limit_s: float | None = None
    gap_fraction: float | None = None
    every_s: int | None = None
    local_time: str | None = None
    weekday: int | None = None
    time_zone: str | None = None
    created_at: datetime = Field(sa_type=UtcInstant)
    due_at: datetime = Field(sa_type=UtcInstant)
    done: int = 0
    failed: int = 0
    interrupted: int = 0

    __table_args__ = ({"sqlite_autoincrement": True},)


class JobRunRow(SQLModel, table=True):
    """One run of a job; a run that was broken off is made again as the next attempt."""

    __tablename__ = "job_run"

    id: int | None = Field(default=None, primary_key=True)
    schedule_id: int
    due_at: datetime = Field(sa_type=UtcInstant)
    attempt: int
    token: int = Field(sa_type=BigInteger)
    state: str
    started_at: datetime = Field(sa_type=UtcInstant)
    finished_at: datetime | None = Field(default=None, sa_type=UtcInstant)
    detail: str = Field(default="", sa_type=Text)
    error: str = Field(default="", sa_type=Text)
    hint: str = Field(default="", sa_type=Text)
    micro_usd: int | None = Field(default=None, sa_type=BigInteger)
    gap_fraction: float | None = None

    __table_args__ = (
        UniqueConstraint("schedule_id", "due_at", "attempt"),
        Index("ix_job_run_state", "state"),
    )


class LeaseRow(SQLModel, table=True):
    """Who may run the jobs, from one heartbeat to the next; nobody, where `holder` is empty.

    `token` grows with each new holder, `beats` with each heartbeat of one.
    """

    __tablename__ = "lease"

    name: str = Field(primary_key=True)
    holder: str
    token: int = Field(sa_type=BigInteger)
    beats: int = Field(sa_type=BigInteger)
    taken_at: datetime = Field(sa_type=UtcInstant)
    renewed_at: datetime = Field(sa_type=UtcInstant)
    expires_at: datetime = Field(sa_type=UtcInstant)
