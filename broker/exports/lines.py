"""The lines of a plan: each purchase with its offer, and the work that its nodes carry."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from broker.domain.offer import Offer
from broker.domain.pauses import fewest
from broker.domain.plan import NodeStep, Plan, Purchase, ServingAssignment, TrainingAssignment
from broker.exports.files import line_label
from broker.exports.sharing import Part, shared_out


@dataclass(frozen=True, slots=True)
class ReplicaStep:
    """Replicas on a line from one instant to another, and the requests/s sent to all of them."""

    from_at: datetime
    to_at: datetime
    replicas: int
    requests_per_s: float


@dataclass(frozen=True, slots=True)
class ServingShare:
    """The replicas of an assignment that run on one line. `steps` is not empty."""

    assignment: ServingAssignment
    steps: tuple[ReplicaStep, ...]

    @property
    def least_replicas(self) -> int:
        """Count the replicas of the emptiest step; 0 where there is a gap between two."""
        return fewest(self.steps, (step.replicas for step in self.steps))

    @property
    def most_replicas(self) -> int:
        """Count the replicas of the fullest step."""
        return max(step.replicas for step in self.steps)


@dataclass(frozen=True, slots=True)
class TrainingShare:
    """The nodes of a gang that are of one line. `steps` is not empty.

    A gang of `assignment.candidate.nodes` may take nodes of several purchases of one machine;
    `is_home` marks the line that has the most of them over time, to launch the gang under.
    """

    assignment: TrainingAssignment
    steps: tuple[NodeStep, ...]
    is_home: bool


@dataclass(frozen=True, slots=True)
class Line:
    """One purchase that has nodes: its offer, and the parts of services and runs on them.

    The offer is at what is paid for it, with the policy's surcharges.
    """

    purchase: Purchase
    offer: Offer
    serving: tuple[ServingShare, ...]
    training: tuple[TrainingShare, ...]

    @property
    def id(self) -> str:
        """Give the id of the plan's line."""
        return self.purchase.id

    @property
    def label(self) -> str:
        """Name the line where only letters, digits and dashes may stand."""
        return line_label(self.purchase.id)

    @property
    def from_at(self) -> datetime:
        """Give the instant of the first node."""
        return self.purchase.steps[0].from_at

    @property
    def to_at(self) -> datetime:
        """Give the instant after the last node."""
        return self.purchase.steps[-1].to_at

    @property
    def most_nodes(self) -> int:
        """Count the nodes of the fullest step."""
        return max(step.nodes for step in self.purchase.steps)


def lines(plan: Plan) -> tuple[Line, ...]:
    """Join each purchase that has nodes with its offer and its work, in the plan's order."""
    offers = plan.paid_offers
    parts = tuple(shared_out(plan))
    by_share = _by_share(parts)
    homes = _homes(parts)
    return tuple(
        Line(
            purchase=one,
            offer=offers[one.offer],
            serving=tuple(_serving(by_share, one, plan.serving)),
            training=tuple(_training(by_share, one, plan.training, homes)),
        )
        for one in plan.purchases
        if one.steps
    )


_Shares = Mapping[tuple[str, int], Sequence[Part]]
"""Parts in the order of time by the purchase's id and the identity of the assignment."""


def _by_share(parts: Iterable[Part]) -> _Shares:
    """Gather the parts, those joined that follow each other without a change."""
    found: dict[tuple[str, int], list[Part]] = {}
    for part in parts:
        steps = found.setdefault((part.purchase, id(part.work)), [])
        if steps and _goes_on(steps[-1], part):
            steps[-1] = replace(steps[-1], to_at=part.to_at)
        else:
            steps.append(part)
    return found


def _goes_on(last: Part, part: Part) -> bool:
    before = (last.to_at, last.count, last.requests_per_s)
    return before == (part.from_at, part.count, part.requests_per_s)


def _serving(
    parts: _Shares, purchase: Purchase, among: Sequence[ServingAssignment]
) -> Iterator[ServingShare]:
    for work in among:
        steps = tuple(
            ReplicaStep(one.from_at, one.to_at, one.count, one.requests_per_s)
            for one in parts.get((purchase.id, id(work)), ())
        )
        if steps:
            yield ServingShare(work, steps)


def _training(
    parts: _Shares,
    purchase: Purchase,
    among: Sequence[TrainingAssignment],
    homes: Mapping[int, str],
) -> Iterator[TrainingShare]:
    for work in among:
        steps = tuple(
            NodeStep(from_at=one.from_at, to_at=one.to_at, nodes=one.count)
            for one in parts.get((purchase.id, id(work)), ())
        )
        if steps:
            yield TrainingShare(work, steps, is_home=homes[id(work)] == purchase.id)


def _homes(parts: Iterable[Part]) -> Mapping[int, str]:
    """Name for each assignment the purchase that has most of it over time; the first of equals."""
    seconds: dict[int, dict[str, float]] = {}
    for part in parts:
        own = seconds.setdefault(id(part.work), {})
        length_s = (part.to_at - part.from_at).total_seconds()
        own[part.purchase] = own.get(part.purchase, 0.0) + part.count * length_s
    return {work: max(own, key=lambda one: own[one]) for work, own in seconds.items()}
