"""The rows of plans that people act on: plans, whose they are, approvals, executed lines, audit.

A plan's payload is written once; only its state and its turn change. The audit log is append-only:
each entry holds the hash of the one before it. Instants are naive UTC, money whole micro-dollars.
"""

from datetime import datetime

from sqlalchemy import BigInteger, Column, ForeignKey, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from broker.store.instants import UtcInstant


def _plan() -> "Column[str]":
    return Column(ForeignKey("kept_plan.hash"), primary_key=True, nullable=False)


class KeptPlan(SQLModel, table=True):
    """A plan and its state.

    `turn` is the number of the audit entry that last adopted it or changed its state.
    """

    __tablename__ = "kept_plan"

    hash: str = Field(primary_key=True)
    state: str
    turn: int | None = None
    status: str
    total_micro_usd: int = Field(sa_type=BigInteger)
    snapshot: str
    workloads_sha256: str
    kept_at: datetime = Field(sa_type=UtcInstant)
    payload: str = Field(sa_type=Text)


class PlanName(SQLModel, table=True):
    """Which workloads file a plan was made for; `id` orders the plans of a file."""

    __tablename__ = "plan_name"

    id: int | None = Field(default=None, primary_key=True)
    workloads_name: str
    plan_hash: str = Field(sa_column=Column(ForeignKey("kept_plan.hash"), nullable=False))

    __table_args__ = (UniqueConstraint("workloads_name", "plan_hash", name="uq_plan_name"),)


class PlanApproval(SQLModel, table=True):
    """Who approved a plan; `person` is the name in the one way in which equal names are equal."""

    __tablename__ = "plan_approval"

    plan_hash: str = Field(sa_column=_plan())
    person: str = Field(primary_key=True)
    actor: str
    note: str = Field(default="", sa_type=Text)
    at: datetime = Field(sa_type=UtcInstant)


class ExecutedLine(SQLModel, table=True):
    """A line of a plan that was bought; plan and line are the key, so it is bought once."""

    __tablename__ = "executed_line"

    plan_hash: str = Field(sa_column=_plan())
    line: str = Field(primary_key=True)
    actor: str
    reference: str = ""
    note: str = Field(default="", sa_type=Text)
    at: datetime = Field(sa_type=UtcInstant)


class AuditEntry(SQLModel, table=True):
    """One thing that somebody did; `sha256` is over all of it and over the entry before it."""

    __tablename__ = "audit_entry"

    number: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    at: datetime = Field(sa_type=UtcInstant)
    actor: str
    action: str
    plan_hash: str
    line: str = ""
    detail: str = Field(default="", sa_type=Text)
    previous_sha256: str
    sha256: str
