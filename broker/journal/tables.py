"""The rows of the journal: nights, and every attempt at each of their steps.

A step is written when it starts and once more when it ends, a night at its start, with each step,
and at its end. Inputs, outcomes and settings are JSON. Instants are naive UTC.
"""

from datetime import date, datetime

from sqlalchemy import Column, ForeignKey, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from broker.store.instants import UtcInstant


class NightlyRunRow(SQLModel, table=True):
    """One night of a workloads file; `number` counts the runs of its date.

    `workloads` is the name of the file, `path` where it was read. `claimed_by` is the process that
    works on it, and for how long that is to be believed of another machine's.
    """

    __tablename__ = "nightly_run"

    id: int | None = Field(default=None, primary_key=True)
    workloads: str
    path: str = Field(sa_type=Text)
    on_date: date
    number: int
    workloads_sha256: str
    catalog: str = Field(sa_type=Text)
    settings: str = Field(sa_type=Text)
    state: str
    started_at: datetime = Field(sa_type=UtcInstant)
    finished_at: datetime | None = Field(default=None, sa_type=UtcInstant)
    outcome: str = Field(default="", sa_type=Text)
    error: str = Field(default="", sa_type=Text)
    hint: str = Field(default="", sa_type=Text)
    claimed_by: str
    claimed_at: datetime = Field(sa_type=UtcInstant)
    claim_lasts_s: float

    __table_args__ = (UniqueConstraint("workloads", "on_date", "number", name="uq_nightly_run"),)


class NightlyStepRow(SQLModel, table=True):
    """One attempt at one step of a night."""

    __tablename__ = "nightly_step"

    id: int | None = Field(default=None, primary_key=True)
    run_id: int = Field(sa_column=Column(ForeignKey("nightly_run.id"), nullable=False))
    step: str
    attempt: int
    state: str
    started_at: datetime = Field(sa_type=UtcInstant)
    finished_at: datetime | None = Field(default=None, sa_type=UtcInstant)
    inputs: str = Field(sa_type=Text)
    outcome: str = Field(default="", sa_type=Text)
    error: str = Field(default="", sa_type=Text)

    __table_args__ = (UniqueConstraint("run_id", "step", "attempt", name="uq_nightly_step"),)
