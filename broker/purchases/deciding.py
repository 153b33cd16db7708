"""What persons decide about a plan, inside a transaction that holds the write lock.

Approving a plan ends the plans before it for the same workloads; so at most one of them is approved
and not yet bought. Whatever is decided twice is told, and not done again.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Connection, func, insert, select, update
from sqlmodel import col

from broker.domain.errors import ConfigurationError
from broker.domain.offer import PriceKind
from broker.domain.plan import Plan, Status
from broker.purchases.audit import Action, Deed, log_deed
from broker.purchases.records import Execution, PlanRecord, get_record
from broker.purchases.states import NEXT, PlanState
from broker.purchases.tables import ExecutedLine, KeptPlan, PlanApproval, PlanName


@dataclass(frozen=True, slots=True)
class Word:
    """What a person says, when: `by` is the name as it is written, `note` why."""

    by: str
    at: datetime
    note: str = ""

    @property
    def person(self) -> str:
        """Write the name in the one way in which "Ana  Ruiz" and "ana ruiz" are the same."""
        return " ".join(unicodedata.normalize("NFKC", self.by).casefold().split())


class Answer(StrEnum):
    """What came of a decision."""

    DONE = "done"
    WAITS = "waits for another person"
    AGAIN = "was done before"


def approve(connection: Connection, plan: Plan, digest: str, word: Word) -> Answer:
    """Let a person approve a plan; it is approved when as many did as its policy asks for.

    Raises:
        ConfigurationError: nobody is named, or the plan cannot be approved.
    """
    record = get_record(connection, digest)
    _check_approvable(record, plan, word)
    people = select(col(PlanApproval.person)).where(col(PlanApproval.plan_hash) == digest)
    before = set(connection.execute(people).scalars())
    if word.person in before:
        is_done = record.state is not PlanState.DRAFT
        return Answer.AGAIN if is_done else Answer.WAITS
    values = {"plan_hash": digest, "person": word.person, "actor": word.by}
    connection.execute(insert(PlanApproval).values(**values, note=word.note, at=word.at))
    deed = Deed(word.by, Action.CONFIRMED, digest, detail=word.note)
    log_deed(connection, deed, at=word.at)
    if len(before) + 1 < plan.workloads.policy.approvals:
        return Answer.WAITS
    if record.state is PlanState.DRAFT:
        for other in _replaced(connection, record, (PlanState.DRAFT, PlanState.APPROVED)):
            _move(connection, other, PlanState.SUPERSEDED, word, detail=digest)
        _move(connection, record, PlanState.APPROVED, word)
    return Answer.DONE


def execute(
    connection: Connection, plan: Plan, digest: str, *, line: str, reference: str, word: Word
) -> tuple[Answer, Execution]:
    """Note that a line of a plan was bought; with its last line the plan is executed.

    Raises:
        ConfigurationError: nobody is named, the plan has no such line to buy, or is not approved.
    """
    record = get_record(connection, digest)
    for one in record.executed:
        if one.line == line:
            return Answer.AGAIN, one
    _check_executable(record, plan, line, word)
    done = Execution(line, word.by, word.at, reference, word.note)
    connection.execute(
        insert(ExecutedLine).values(
            plan_hash=digest,
            line=line,
            actor=word.by,
            reference=reference,
            note=word.note,
            at=word.at,
        )
    )
    told = " ".join(part for part in (reference, word.note) if part)
    log_deed(connection, Deed(word.by, Action.EXECUTED_LINE, digest, line, told), at=word.at)
    if to_buy(plan) <= {line, *(one.line for one in record.executed)}:
        for other in _replaced(connection, record, (PlanState.EXECUTED,)):
            _move(connection, other, PlanState.SUPERSEDED, word, detail=digest)
        _move(connection, record, PlanState.EXECUTED, word)
    return Answer.DONE, done


def to_buy(plan: Plan) -> frozenset[str]:
    """Name the lines that somebody has to buy: all but what is owned already."""
    return frozenset(one.id for one in plan.purchases if one.price_kind is not PriceKind.OWNED)


def _check_approvable(record: PlanRecord, plan: Plan, word: Word) -> None:
    _check_named(word)
    if plan.status is Status.INFEASIBLE:
        raise ConfigurationError(
            f"the plan {record.short} buys nothing: no purchase meets every rule",
            hint="see what to loosen: gpubroker explain PLAN --relax",
        )
    if record.state not in {PlanState.DRAFT, PlanState.APPROVED}:
        raise ConfigurationError(
            f"the plan {record.short} is {record.state} and cannot be approved",
            hint="make one from today's prices: gpubroker plan WORKLOADS --out plan.json",
        )


def _check_executable(record: PlanRecord, plan: Plan, line: str, word: Word) -> None:
    _check_named(word)
    if line not in to_buy(plan):
        raise ConfigurationError(
            f"the plan {record.short} has no line {line!r} to buy",
            hint=f"its lines are: {', '.join(sorted(to_buy(plan))) or 'none'}",
        )
    if record.state is PlanState.DRAFT:
        raise ConfigurationError(
            f"the plan {record.short} is not approved: {len(record.approvals)} of "
            f"{plan.workloads.policy.approvals} persons did",
            hint="approve it first: gpubroker approve PLAN --by NAME",
        )
    if record.state is PlanState.SUPERSEDED:
        raise ConfigurationError(
            f"the plan {record.short} is superseded: a newer one was approved",
            hint="buy by the newer plan; gpubroker audit lists both",
        )


def _check_named(word: Word) -> None:
    if not word.person:
        raise ConfigurationError(
            "a decision needs the name of who answers for it", hint="give it: --by NAME"
        )


def _move(
    connection: Connection, record: PlanRecord, to: PlanState, word: Word, *, detail: str = ""
) -> None:
    if to not in NEXT[record.state]:
        raise ConfigurationError(
            f"the plan {record.short} is {record.state} and cannot become {to}",
            hint="gpubroker audit tells what was done with it",
        )
    deed = Deed(word.by, Action(to.value), record.hash, detail=detail)
    number = log_deed(connection, deed, at=word.at)
    query = update(KeptPlan).where(col(KeptPlan.hash) == record.hash)
    connection.execute(query.values(state=to, turn=number))


def _replaced(
    connection: Connection, record: PlanRecord, states: Iterable[PlanState]
) -> tuple[PlanRecord, ...]:
    """List the plans that a decision ends: of the same workloads alone, drafts if kept before."""
    first = select(func.min(col(PlanName.id))).where(col(PlanName.plan_hash) == record.hash)
    kept = connection.execute(first).scalar_one() or 0
    of_same = (
        select(col(PlanName.plan_hash), col(KeptPlan.state), col(PlanName.id))
        .join(KeptPlan, col(KeptPlan.hash) == col(PlanName.plan_hash))
        .where(
            col(PlanName.workloads_name).in_(record.workloads),
            col(KeptPlan.state).in_(tuple(states)),
            col(PlanName.plan_hash) != record.hash,
        )
        .order_by(col(PlanName.id))
    )
    found = {
        digest: None
        for digest, state, number in connection.execute(of_same)
        if state != PlanState.DRAFT or (number or 0) < kept
    }
    others = [get_record(connection, digest) for digest in found]
    return tuple(one for one in others if set(one.workloads) <= set(record.workloads))
