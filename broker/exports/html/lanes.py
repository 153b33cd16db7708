"""The lanes of the timeline: on each machine what is bought, and what of it each workload uses."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from broker.domain.plan import Plan, ServingAssignment
from broker.exports.buying import Bought, Kind, bought
from broker.exports.sharing import Part, Work, shared_out


@dataclass(frozen=True, slots=True)
class Span:
    """So many GPUs of each kind from one instant to another."""

    from_at: datetime
    to_at: datetime
    gpus: Mapping[Kind, float]

    @property
    def sum(self) -> float:
        """Count the GPUs of all kinds."""
        return sum(self.gpus.values())


@dataclass(frozen=True, slots=True)
class Lane:
    """GPUs over time under one name; `spans` are in order and do not overlap."""

    name: str
    detail: str
    spans: tuple[Span, ...]
    is_machine: bool = False

    @property
    def most(self) -> float:
        """Count the GPUs of the fullest span."""
        return max((span.sum for span in self.spans), default=0.0)

    @property
    def range(self) -> str:
        """Write how many GPUs there are while there are any: 6–24."""
        fewest = min((span.sum for span in self.spans), default=0.0)
        return f"{fewest:g}" if fewest == self.most else f"{fewest:g}–{self.most:g}"


def lanes(plan: Plan) -> tuple[Lane, ...]:
    """List each machine, the dearest first, and below it the workloads on it."""
    joined = tuple(one for one in bought(plan) if one.purchase.steps)
    parts = tuple(shared_out(plan))
    by_machine: dict[str, list[Bought]] = {}
    for one in joined:
        by_machine.setdefault(one.offer.machine, []).append(one)
    order = sorted(by_machine.values(), key=lambda some: -sum(one.purchase.usd for one in some))
    return tuple(lane for some in order for lane in _of_machine(some, parts))


def _of_machine(some: Sequence[Bought], parts: Iterable[Part]) -> Iterator[Lane]:
    first = some[0]
    gpus = float(first.offer.hardware.shape.gpu_count)
    pieces = [
        (step.from_at, step.to_at, one.kind, step.nodes * gpus)
        for one in some
        for step in one.purchase.steps
    ]
    yield Lane(first.where, f"{first.gpus}, {first.name}", _stacked(pieces), is_machine=True)
    kinds = {one.purchase.id: one.kind for one in some}
    works: dict[str, list[tuple[datetime, datetime, Kind, float]]] = {}
    for part in parts:
        if part.purchase in kinds:
            used = part.count * _gpus_each(part.work, gpus)
            piece = (part.from_at, part.to_at, kinds[part.purchase], used)
            works.setdefault(_name(part.work), []).append(piece)
    for name, found in sorted(works.items()):
        yield Lane(name, "", _stacked(found))


def _name(work: Work) -> str:
    if isinstance(work, ServingAssignment):
        return f"{work.service} for {work.user_region}"
    return work.run


def _gpus_each(work: Work, per_node: float) -> float:
    return float(work.candidate.gpus) if isinstance(work, ServingAssignment) else per_node


def _stacked(pieces: Sequence[tuple[datetime, datetime, Kind, float]]) -> tuple[Span, ...]:
    """Sum pieces by kind between all instants at which one begins or ends."""
    changes: dict[datetime, dict[Kind, float]] = {}
    for start, end, kind, gpus in pieces:
        for at, change in ((start, gpus), (end, -gpus)):
            here = changes.setdefault(at, {})
            here[kind] = here.get(kind, 0.0) + change
    level = dict.fromkeys(Kind, 0.0)
    spans: list[Span] = []
    for start, end in pairwise(sorted(changes)):
        for kind, change in changes[start].items():
            level[kind] += change
        here = {kind: count for kind, count in level.items() if count > 0}
        if not here:
            continue
        if spans and (spans[-1].to_at, spans[-1].gpus) == (start, here):
            start = spans.pop().from_at  # noqa: PLW2901 - the span goes on
        spans.append(Span(start, end, here))
    return tuple(spans)
