"""What the book says of a plan: its state, whose it is, who approved it, what was bought of it."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from sqlalchemy import Connection, select
from sqlmodel import col

from broker.domain.errors import ConfigurationError
from broker.domain.plan import Plan
from broker.domain.quantities import MICRO_USD
from broker.purchases.states import PlanState
from broker.purchases.tables import ExecutedLine, KeptPlan, PlanApproval, PlanName


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's word that a plan may be bought."""

    actor: str
    at: datetime
    note: str = ""


@dataclass(frozen=True, slots=True)
class Execution:
    """A line that was bought; `reference` is the provider's own id of it, where one was given."""

    line: str
    actor: str
    at: datetime
    reference: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """A kept plan without its content; approvals and executions are in the order of time.

    `workloads` are the names that it was kept under. `is_adopted` says whether a draft was chosen
    to be acted on.
    """

    hash: str
    state: PlanState
    is_adopted: bool
    workloads: tuple[str, ...]
    total_usd: Decimal
    kept_at: datetime
    approvals: tuple[Approval, ...] = ()
    executed: tuple[Execution, ...] = ()

    @property
    def short(self) -> str:
        """Give as much of the hash as people read."""
        return self.hash[:12]


def find_record(connection: Connection, digest: str) -> PlanRecord | None:
    """Read what the book says of a plan, None where it is not kept."""
    query = select(
        col(KeptPlan.state),
        col(KeptPlan.turn),
        col(KeptPlan.total_micro_usd),
        col(KeptPlan.kept_at),
    ).where(col(KeptPlan.hash) == digest)
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    state, turn, micro, kept_at = row
    return PlanRecord(
        hash=digest,
        state=PlanState(state),
        is_adopted=turn is not None,
        workloads=_names(connection, digest),
        total_usd=micro * MICRO_USD,
        kept_at=kept_at,
        approvals=_approvals(connection, digest),
        executed=_executed(connection, digest),
    )


def get_record(connection: Connection, digest: str) -> PlanRecord:
    """Read what the book says of a plan.

    Raises:
        ConfigurationError: it is not kept.
    """
    found = find_record(connection, digest)
    if found is None:
        raise ConfigurationError(
            f"no plan {digest[:12]!r} is kept in this database",
            hint="approve the plan file first: gpubroker approve PLAN --by NAME",
        )
    return found


def read_payload(connection: Connection, digest: str) -> Plan:
    """Read the content of a kept plan.

    Raises:
        ConfigurationError: it is not kept.
    """
    get_record(connection, digest)
    query = select(col(KeptPlan.payload)).where(col(KeptPlan.hash) == digest)
    return Plan.model_validate_json(connection.execute(query).scalar_one())


def _names(connection: Connection, digest: str) -> tuple[str, ...]:
    query = select(col(PlanName.workloads_name)).where(col(PlanName.plan_hash) == digest)
    return tuple(connection.execute(query.order_by(col(PlanName.workloads_name))).scalars())


def _approvals(connection: Connection, digest: str) -> tuple[Approval, ...]:
    query = (
        select(col(PlanApproval.actor), col(PlanApproval.at), col(PlanApproval.note))
        .where(col(PlanApproval.plan_hash) == digest)
        .order_by(col(PlanApproval.at), col(PlanApproval.person))
    )
    return tuple(Approval(actor, at, note) for actor, at, note in connection.execute(query))


def _executed(connection: Connection, digest: str) -> tuple[Execution, ...]:
    table = ExecutedLine.metadata.tables[str(ExecutedLine.__tablename__)]
    query = select(table).where(table.c.plan_hash == digest).order_by(table.c.at, table.c.line)
    return tuple(
        Execution(row.line, row.actor, row.at, row.reference, row.note)
        for row in connection.execute(query)
    )
