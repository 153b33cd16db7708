"""Sharing out the work of a machine between the purchases of its nodes.

A plan counts nodes and work per machine; several purchases of one machine (two committed nodes and
a third by the hour) carry its work together. Owned and committed nodes are filled before those by
the hour; services before gangs, so that replicas stay where they are while gangs come and go; a
gang goes whole to one purchase where one has room for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from itertools import pairwise

from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import (
    NodeStep,
    Plan,
    Purchase,
    ServingAssignment,
    ServingStep,
    TrainingAssignment,
)
from broker.domain.policy import Sharing

_BY_THE_HOUR = frozenset({PriceKind.ON_DEMAND, PriceKind.SPOT})

Work = ServingAssignment | TrainingAssignment


@dataclass(frozen=True, slots=True)
class Part:
    """What a purchase carries of an assignment from one instant to another.

    `count` is replicas of a service, nodes of a gang; `requests_per_s` is what they answer of all
    size classes, 0 for a gang.
    """

    purchase: str
    work: Work
    from_at: datetime
    to_at: datetime
    count: int
    requests_per_s: float = 0.0


def shared_out(plan: Plan) -> Iterator[Part]:
    """Give each purchase its parts of the work, in the order of time on each machine."""
    offers = {offer.key: offer for offer in plan.offers}
    by_machine: dict[tuple[str, bool, str | None], list[Purchase]] = {}
    for one in plan.purchases:
        is_spot = one.price_kind is PriceKind.SPOT
        place = (offers[one.offer].machine, is_spot, one.isolated_for)
        by_machine.setdefault(place, []).append(one)
    for (machine, on_spot, _), bought in by_machine.items():
        bought.sort(key=lambda one: (one.price_kind in _BY_THE_HOUR, one.id))
        yield from _Machine.of(plan, machine, bought, offers, on_spot=on_spot).parts()


@dataclass(frozen=True, slots=True)
class _Machine:
    """One machine, firm or spot: its purchases in the order in which they are filled."""

    purchases: Sequence[Purchase]
    serving: Sequence[ServingAssignment]
    training: Sequence[TrainingAssignment]
    gpus: int
    is_split: bool

    @classmethod
    def of(
        cls,
        plan: Plan,
        machine: str,
        bought: Sequence[Purchase],
        offers: Mapping[str, Offer],
        *,
        on_spot: bool,
    ) -> "_Machine":
        here = (machine, on_spot)
        carries = bought[0].may_carry(plan.workloads.policy.isolated)
        by_size = sorted(plan.serving, key=lambda one: -one.candidate.gpus)
        return cls(
            purchases=bought,
            serving=[
                one
                for one in by_size
                if (one.machine, one.on_spot) == here and carries(one.service)
            ],
            training=[
                one
                for one in plan.training
                if (one.machine, one.on_spot) == here and carries(one.workload)
            ],
            gpus=max(1, int(offers[bought[0].offer].hardware.shape.gpu_count)),
            is_split=plan.workloads.policy.sharing is Sharing.SPLIT,
        )

    def parts(self) -> Iterator[Part]:
        kept = self._kept_for_serving()
        for start, end in pairwise(self._instants()):
            free = [_at(one.steps, start) for one in self.purchases]
            room = self._rooms(free, start, kept)
            yield from self._replicas(room, start, end)
            for run in self.training:
                if any(step.from_at <= start < step.to_at for step in run.steps):
                    for number, nodes in _places(free, run.candidate.nodes):
                        free[number] -= nodes
                        yield Part(self.purchases[number].id, run, start, end, nodes)

    def _instants(self) -> list[datetime]:
        work: list[Purchase | Work] = [*self.purchases, *self.serving, *self.training]
        ends = {at for one in work for step in one.steps for at in (step.from_at, step.to_at)}
        return sorted(ends)

    def _serving_nodes(self, at: datetime) -> int:
        gpus = sum(
            step.replicas * one.candidate.gpus
            for one in self.serving
            if (step := _step_at(one, at)) is not None
        )
        return -(-gpus // self.gpus)

    def _fixed(self, free: Sequence[int]) -> int:
        return sum(
            nodes
            for one, nodes in zip(self.purchases, free, strict=True)
            if one.price_kind not in _BY_THE_HOUR
        )

    def _kept_for_serving(self) -> int | None:
        """Count the fixed nodes that serve where serving and training never share; else None."""
        if not self.is_split:
            return None
        least = 0
        for at in self._instants()[:-1]:
            free = [_at(one.steps, at) for one in self.purchases]
            rented = sum(free) - self._fixed(free)
            least = max(least, self._serving_nodes(at) - rented)
        return least

    def _rooms(self, free: list[int], at: datetime, kept: int | None) -> list[int | Fraction]:
        """Take the nodes of the services off `free`; give the GPUs that they have on each."""
        needed = self._serving_nodes(at)
        fixed = self._fixed(free) if kept is None else kept
        rooms: list[int | Fraction] = []
        for number, one in enumerate(self.purchases):
            is_fixed = one.price_kind not in _BY_THE_HOUR
            nodes = min(needed, free[number], fixed if is_fixed else needed)
            needed -= nodes
            fixed -= nodes if is_fixed else 0
            free[number] -= nodes
            rooms.append(nodes * self.gpus)
        return rooms

    def _replicas(
        self, rooms: list[int | Fraction], start: datetime, end: datetime
    ) -> Iterator[Part]:
        for one in self.serving:
            step = _step_at(one, start)
            left = step.replicas if step else 0
            for number, purchase in enumerate(self.purchases):
                here = min(left, rooms[number] // one.candidate.gpus)
                if here and step:
                    left -= here
                    rooms[number] -= here * one.candidate.gpus
                    rate = sum(step.requests_per_s) * here / step.replicas
                    yield Part(purchase.id, one, start, end, here, rate)


def _at(steps: Sequence[NodeStep], at: datetime) -> int:
    return next((step.nodes for step in steps if step.from_at <= at < step.to_at), 0)


def _step_at(one: ServingAssignment, at: datetime) -> ServingStep | None:
    return next((step for step in one.steps if step.from_at <= at < step.to_at), None)


def _places(free: Sequence[int], nodes: int) -> Iterator[tuple[int, int]]:
    """Find where a gang's nodes go: all to the first purchase with room, else in order."""
    whole = next((number for number, room in enumerate(free) if room >= nodes), None)
    if whole is not None:
        yield whole, nodes
        return
    left = nodes
    for number, room in enumerate(free):
        here = min(left, room)
        left -= here
        if here:
            yield number, here
