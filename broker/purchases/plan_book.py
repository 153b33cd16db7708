"""The book of plans: which plans were made for a workloads file, and which of them is in force.

A plan is known by the hash of its content, so one that is kept twice is there once. The name of a
workloads file is its stem: `team` of `plans/team.yaml`.
"""

from datetime import datetime

from sqlalchemy import Connection, Engine, func, insert, select, update
from sqlmodel import col

from broker.domain.errors import ConfigurationError
from broker.domain.plan import Plan
from broker.domain.quantities import MICRO_USD
from broker.purchases.audit import Action, Deed, Entry, log_deed, read_log
from broker.purchases.checking import problems
from broker.purchases.deciding import Answer, Word, approve, execute
from broker.purchases.identity import plan_hash
from broker.purchases.records import (
    Execution,
    PlanRecord,
    find_record,
    get_record,
    read_payload,
)
from broker.purchases.states import PlanState
from broker.purchases.tables import ExecutedLine, KeptPlan, PlanName
from broker.store.database import reading, writing

PROGRAM = "gpubroker"
"""Who keeps and adopts plans by itself, in the audit log."""


class PlanBook:
    """The plans of one database.

    Every method raises ConfigurationError where the database cannot be used.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def keep(
        self, plan: Plan, workloads_name: str, now: datetime, *, by: str = PROGRAM
    ) -> PlanRecord:
        """Keep a plan as a draft; one that is kept already stays as it is."""
        digest = plan_hash(plan)
        with writing(self._engine) as connection:
            if find_record(connection, digest) is None:
                connection.execute(insert(KeptPlan).values(**_row(plan, digest, now)))
                deed = Deed(by, Action.KEPT, digest, detail=workloads_name)
                log_deed(connection, deed, at=now)
            _name(connection, digest, workloads_name)
            return get_record(connection, digest)

    def adopt(self, digest: str, now: datetime, *, by: str = PROGRAM) -> PlanRecord:
        """Let a draft be the plan in force as long as nobody has approved another.

        Raises:
            ConfigurationError: no such plan is kept.
        """
        with writing(self._engine) as connection:
            get_record(connection, digest)
            number = log_deed(connection, Deed(by, Action.ADOPTED, digest), at=now)
            query = update(KeptPlan).where(col(KeptPlan.hash) == digest)
            connection.execute(query.values(turn=number))
            return get_record(connection, digest)

    def approve(self, digest: str, word: Word) -> tuple[Answer, PlanRecord]:
        """Let a person approve a kept plan.

        Raises:
            ConfigurationError: nobody is named, or the plan cannot be approved.
        """
        with writing(self._engine) as connection:
            answer = approve(connection, read_payload(connection, digest), digest, word)
            return answer, get_record(connection, digest)

    def execute(
        self, digest: str, line: str, word: Word, *, reference: str = ""
    ) -> tuple[Answer, Execution, PlanRecord]:
        """Note that a line of an approved plan was bought.

        Raises:
            ConfigurationError: nobody is named, or the line cannot be bought by this plan.
        """
        with writing(self._engine) as connection:
            plan = read_payload(connection, digest)
            answer, done = execute(
                connection, plan, digest, line=line, reference=reference, word=word
            )
            return answer, done, get_record(connection, digest)

    def record(self, digest: str) -> PlanRecord | None:
        """Tell what the book says of a plan, None where it is not kept."""
        with reading(self._engine) as connection:
            return find_record(connection, digest)

    def records(self) -> tuple[PlanRecord, ...]:
        """List every plan, the one kept last first."""
        with reading(self._engine) as connection:
            newest = func.max(col(PlanName.id)).desc()
            query = select(col(PlanName.plan_hash)).group_by(col(PlanName.plan_hash))
            digests = tuple(connection.execute(query.order_by(newest)).scalars())
            return tuple(get_record(connection, digest) for digest in digests)

    def names_of(self, workloads_sha256: str) -> tuple[str, ...]:
        """Name the workloads files whose content had a hash."""
        query = (
            select(col(PlanName.workloads_name))
            .join(KeptPlan, col(KeptPlan.hash) == col(PlanName.plan_hash))
            .where(col(KeptPlan.workloads_sha256) == workloads_sha256)
            .distinct()
        )
        with reading(self._engine) as connection:
            return tuple(sorted(connection.execute(query).scalars()))

    def executed(self, workloads_name: str) -> tuple[str, ...]:
        """Name the plans of a workloads file of which a line was executed, by hash."""
        query = (
            select(col(ExecutedLine.plan_hash))
            .join(PlanName, col(PlanName.plan_hash) == col(ExecutedLine.plan_hash))
            .where(col(PlanName.workloads_name) == workloads_name)
            .distinct()
        )
        with reading(self._engine) as connection:
            return tuple(sorted(connection.execute(query).scalars()))

    def plan(self, start: str) -> Plan:
        """Give the plan whose hash begins so.

        Raises:
            ConfigurationError: there is none, or there are several.
        """
        with reading(self._engine) as connection:
            query = select(col(KeptPlan.hash)).where(
                col(KeptPlan.hash).startswith(start, autoescape=True)
            )
            found = tuple(connection.execute(query).scalars())
            if len(found) != 1:
                raise ConfigurationError(
                    f"{len(found) or 'no'} kept plan{'s' * (len(found) != 1)} begin with {start!r}",
                    hint="gpubroker audit lists the hashes; a file needs its path",
                )
            return read_payload(connection, found[0])

    def audit(self) -> tuple[tuple[Entry, ...], tuple[str, ...]]:
        """List what was done, the oldest first, and what about it does not hold."""
        with reading(self._engine) as connection:
            log = read_log(connection)
            return log, problems(connection, log)

    def in_force(self, workloads_name: str) -> Plan | None:
        """Give the plan that people act on; None before the first.

        It is the one approved last, else the one executed last, else the draft adopted last.
        """
        with reading(self._engine) as connection:
            found = _in_force(connection, workloads_name)
            return None if found is None else Plan.model_validate_json(found)


def _in_force(connection: Connection, workloads_name: str) -> str | None:
    query = (
        select(col(KeptPlan.payload))
        .join(PlanName, col(PlanName.plan_hash) == col(KeptPlan.hash))
        .where(col(PlanName.workloads_name) == workloads_name)
    )
    newest = (col(KeptPlan.turn).desc(), col(PlanName.id).desc())
    for state in (PlanState.APPROVED, PlanState.EXECUTED, PlanState.DRAFT):
        chosen = query.where(col(KeptPlan.state) == state, col(KeptPlan.turn).is_not(None))
        payload = connection.execute(chosen.order_by(*newest).limit(1)).scalar()
        if payload is not None:
            return payload
    return None


def _row(plan: Plan, digest: str, now: datetime) -> dict[str, object]:
    return {
        "hash": digest,
        "state": PlanState.DRAFT,
        "status": plan.status,
        "total_micro_usd": int(plan.total_usd / MICRO_USD),
        "snapshot": plan.catalog.snapshot,
        "workloads_sha256": plan.workloads_sha256,
        "kept_at": now,
        "payload": plan.model_dump_json(by_alias=True),
    }


def _name(connection: Connection, digest: str, workloads_name: str) -> None:
    names = get_record(connection, digest).workloads
    if workloads_name not in names:
        connection.execute(insert(PlanName).values(workloads_name=workloads_name, plan_hash=digest))
