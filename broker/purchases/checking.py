"""Whether the audit log is whole, and plans, approvals and bought lines are what it says."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pydantic import ValidationError
from sqlalchemy import Connection, select
from sqlmodel import col

from broker.domain.plan import Plan
from broker.purchases.audit import FIRST, Action, Entry, seal
from broker.purchases.identity import plan_hash
from broker.purchases.states import NEXT, PlanState
from broker.purchases.tables import ExecutedLine, KeptPlan, PlanApproval

_STATES = {
    Action.KEPT: PlanState.DRAFT,
    Action.APPROVED: PlanState.APPROVED,
    Action.EXECUTED: PlanState.EXECUTED,
    Action.SUPERSEDED: PlanState.SUPERSEDED,
}


@dataclass(slots=True)
class _Told:
    """What the log says of a plan."""

    states: list[PlanState] = field(default_factory=list)
    approvers: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def problems(connection: Connection, log: Sequence[Entry]) -> tuple[str, ...]:
    """List what does not hold, none where all is as it was written."""
    return (*_broken_seals(log), *_untrue_rows(connection, _told(log)))


def _broken_seals(log: Sequence[Entry]) -> Iterator[str]:
    previous = FIRST
    for position, entry in enumerate(log, start=1):
        if entry.number != position:
            yield f"entry {position} is missing: the next one is {entry.number}"
            return
        if entry.previous_sha256 != previous:
            yield f"entry {entry.number} does not follow the entry before it"
        if entry.sha256 != seal(entry.number, entry.at, entry.deed, entry.previous_sha256):
            yield f"entry {entry.number} was changed after it was written"
        previous = entry.sha256


def _told(log: Sequence[Entry]) -> dict[str, _Told]:
    told: dict[str, _Told] = {}
    for entry in log:
        deed = entry.deed
        of = told.setdefault(deed.plan_hash, _Told())
        if deed.action in _STATES:
            of.states.append(_STATES[Action(deed.action)])
        elif deed.action == Action.CONFIRMED:
            of.approvers.append(deed.actor)
        elif deed.action == Action.EXECUTED_LINE:
            of.lines.append(deed.line)
    return told


def _untrue_rows(connection: Connection, told: dict[str, _Told]) -> Iterator[str]:
    query = select(col(KeptPlan.hash), col(KeptPlan.state), col(KeptPlan.payload))
    kept = {digest: (state, text) for digest, state, text in connection.execute(query)}
    for digest in sorted(kept.keys() | told.keys()):
        name = f"plan {digest[:12]}"
        if digest not in kept:
            yield f"{name} is in the log, and is not kept"
            continue
        state, payload = kept[digest]
        of = told.get(digest, _Told())
        if not of.states or of.states[-1] != state:
            yield f"{name} is {state}, and the log says {of.states[-1] if of.states else 'nothing'}"
        if any(after not in NEXT[before] for before, after in pairwise(of.states)):
            yield f"{name} went from state to state in a way that is not allowed"
        if wrong := _wrong_content(payload, digest):
            yield f"{name} {wrong}"
        yield from _untold(connection, digest, of)


def _wrong_content(payload: str, digest: str) -> str:
    try:
        found = plan_hash(Plan.model_validate_json(payload))
    except ValidationError:
        return "is no longer a plan"
    return "" if found == digest else "does not say what it said when it was kept"


def _untold(connection: Connection, digest: str, of: _Told) -> Iterator[str]:
    people = select(col(PlanApproval.actor)).where(col(PlanApproval.plan_hash) == digest)
    bought = select(col(ExecutedLine.line)).where(col(ExecutedLine.plan_hash) == digest)
    for what, query, logged in (
        ("approvals", people, of.approvers),
        ("executed lines", bought, of.lines),
    ):
        if sorted(connection.execute(query).scalars()) != sorted(logged):
            yield f"the {what} of plan {digest[:12]} are not those of the log"
