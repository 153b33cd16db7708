"""The way from one plan to another: what to add, how long to wait, what to drain and remove.

New nodes come first; what they replace is drained when the slowest workload on both has had its
time to start, and removed after that. Nothing is done before the later horizon begins, and a
commitment not before its own start. From then on the new plan's times hold.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from broker.domain.offer import PriceKind
from broker.domain.plan import NodeStep, Plan, Purchase
from broker.domain.workload import Workloads
from broker.exports.lines import Line, lines
from broker.planning.differences.handover import handed_over
from broker.planning.differences.lines import Window
from broker.reports.diff_view import StepRow

_ACTIONS = ("add", "wait", "drain", "remove")
_COMMITTED = frozenset({PriceKind.RESERVED, PriceKind.CONTRACT, PriceKind.CAPACITY_BLOCK})


@dataclass(frozen=True, slots=True)
class _Move:
    """So many nodes of a line that come or go, first needed or first spare at an instant.

    `back` says when nodes that go are needed again, empty where they are not.
    """

    line: str
    at: datetime
    nodes: int
    workloads: frozenset[str]
    is_committed: bool
    has_begun: bool = True
    back: str = ""


@dataclass(frozen=True, slots=True)
class _Step:
    at: datetime
    action: str
    nodes: int
    line: str
    workloads: frozenset[str]
    note: str = ""


def steps_between(old: Plan, new: Plan) -> tuple[StepRow, ...]:
    """Order the steps by time; at one instant nodes are added before any goes."""
    window = Window.of(old, new)
    old = handed_over(old, new)
    adds = tuple(_adds(old, new, window))
    found = [
        _Step(one.at, "add", one.nodes, one.line, one.workloads, _add_note(one)) for one in adds
    ]
    found += _goings(old, new, window, adds)
    ordered = sorted(set(found), key=lambda one: (one.at, _ACTIONS.index(one.action), one.line))
    return tuple(
        StepRow(
            number=number,
            at=one.at,
            action=one.action,
            nodes=one.nodes,
            line=one.line,
            workloads=", ".join(sorted(one.workloads)),
            note=one.note,
        )
        for number, one in enumerate(ordered, 1)
    )


def _adds(old: Plan, new: Plan, window: Window) -> Iterator[_Move]:
    before = {one.id: one for one in old.purchases}
    for line in lines(new):
        own = before.get(line.id)
        more = _surplus(line.purchase, own, window)
        if more is not None:
            yield _move(line, more)


def _goings(old: Plan, new: Plan, window: Window, adds: Sequence[_Move]) -> Iterator[_Step]:
    after = {one.id: one for one in new.purchases}
    for line in lines(old):
        less = _surplus(line.purchase, after.get(line.id), window)
        if less is None:
            continue
        begun = line.from_at <= window.from_at
        going = _move(line, less, has_begun=begun, back=_back(after.get(line.id), less.from_at))
        if going.has_begun or after.get(line.id) is not None:
            yield from _drained(going, adds, new.workloads)
        else:
            note = f"was to begin on {less.from_at:%Y-%m-%d}; do not buy it"
            yield _Step(window.from_at, "remove", going.nodes, going.line, going.workloads, note)


def _drained(going: _Move, adds: Iterable[_Move], asked: Workloads) -> Iterator[_Step]:
    """Wait for those nodes that take over the work of the ones that go."""
    replacing = [one for one in adds if one.workloads & going.workloads and one.at <= going.at]
    shared = frozenset(name for one in replacing for name in one.workloads & going.workloads)
    wait = max((_start_up(asked, name) for name in shared), default=timedelta(0))
    ready_at = max((one.at + wait for one in replacing), default=going.at)
    drain_at = max(going.at, ready_at)
    if drain_at > going.at:
        note = f"until {drain_at:%Y-%m-%d %H:%M}, while the new nodes start"
        yield _Step(going.at, "wait", 0, "", shared, note)
    if going.workloads:
        note = "send no more work to it, let it finish what it has"
        yield _Step(drain_at, "drain", going.nodes, going.line, going.workloads, note)
    owed = "if it is bought already it is owed to the end of its term" * going.is_committed
    note = "; ".join(part for part in (owed, going.back) if part)
    yield _Step(drain_at, "remove", going.nodes, going.line, frozenset(), note)


def _start_up(asked: Workloads, name: str) -> timedelta:
    """Give the time that a replica takes to serve, or a run to resume."""
    times = {one.name: one.start_up for one in asked.services}
    times |= {one.name: one.restart for one in asked.training}
    times |= {one.name: one.start_up for one in asked.batch}
    return times.get(name.partition("@")[0], timedelta(0))


def _add_note(one: _Move) -> str:
    return f"the commitment begins on {one.at:%Y-%m-%d %H:%M}" if one.is_committed else ""


def _back(new: Purchase | None, gone_at: datetime) -> str:
    """Say when the new plan has more nodes of a line again than where the first of them go."""
    if new is None:
        return ""
    fewest = _at(new.steps, gone_at)
    later = sorted((step for step in new.steps if step.from_at > gone_at), key=lambda s: s.from_at)
    again = next((step for step in later if step.nodes > fewest), None)
    return f"needed again from {again.from_at:%Y-%m-%d %H:%M} on" if again else ""


def _move(line: Line, step: NodeStep, *, has_begun: bool = True, back: str = "") -> _Move:
    names = {share.assignment.service for share in line.serving}
    names |= {share.assignment.workload for share in line.training}
    return _Move(
        line=line.id,
        at=step.from_at,
        nodes=step.nodes,
        workloads=frozenset(names),
        is_committed=line.purchase.price_kind in _COMMITTED,
        has_begun=has_begun,
        back=back,
    )


def _surplus(one: Purchase, other: Purchase | None, window: Window) -> NodeStep | None:
    """Find when a purchase first has more nodes than another, and the most that it has more.

    A line that the other plan does not have is more from its start to its end; one that both have
    is compared where both horizons lie.
    """
    if other is None:
        steps = [step for step in one.steps if step.to_at > window.from_at]
    else:
        steps = list(_differences(window.clipped(one.steps), window.clipped(other.steps)))
    if not steps:
        return None
    return NodeStep(
        from_at=max(steps[0].from_at, window.from_at),
        to_at=steps[-1].to_at,
        nodes=max(step.nodes for step in steps),
    )


def _differences(ours: Sequence[NodeStep], theirs: Sequence[NodeStep]) -> Iterator[NodeStep]:
    instants = sorted({at for one in (*ours, *theirs) for at in (one.from_at, one.to_at)})
    for start, end in pairwise(instants):
        more = _at(ours, start) - _at(theirs, start)
        if more > 0:
            yield NodeStep(from_at=start, to_at=end, nodes=more)


def _at(steps: Iterable[NodeStep], at: datetime) -> int:
    return next((one.nodes for one in steps if one.from_at <= at < one.to_at), 0)
