"""What every rule looks at: the plan's parts spread over the slots, joined to the case's figures.

Prices, rates and hardware are the case's; only counts, times and claims are the plan's. Prices are
those that are paid, with the policy's surcharges. Work and nodes of isolated workloads are on
machines of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel

from broker.domain.case import Case, ServingOption, TrainingOption
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import Plan, Purchase, ServingAssignment, TrainingAssignment
from broker.domain.traffic import loads_by_size
from broker.domain.workload import Service
from broker.verification.isolation import kept_apart, sold_key
from broker.verification.surcharges import at_paid_prices
from broker.verification.timeline import Array, Timeline, as_float, timeline_of

COMMITTED = frozenset({PriceKind.RESERVED, PriceKind.CONTRACT, PriceKind.CAPACITY_BLOCK})
FIRM = COMMITTED | {PriceKind.ON_DEMAND, PriceKind.OWNED}
SPOT = frozenset({PriceKind.SPOT})
TOLERANCE = 1e-6
"""How far a float may be off, relative to what is right."""


class Finding(NamedTuple):
    """What breaks a rule, and how: the figure, what was found and what is right."""

    subject: str
    message: str


@dataclass(frozen=True, slots=True)
class Bought:
    """A purchase, the case's offer that it names, and its nodes in each slot."""

    purchase: Purchase
    offer: Offer
    nodes: Array

    @property
    def sold_as(self) -> str:
        """Give the key of its offer as it is sold, whoever the nodes are for."""
        return sold_key(self.offer.key)

    @property
    def is_committed(self) -> bool:
        """Say whether it is paid for a time, used or not."""
        return self.purchase.price_kind in COMMITTED

    @property
    def is_block(self) -> bool:
        """Say whether it is a window that is paid in advance."""
        return self.purchase.price_kind is PriceKind.CAPACITY_BLOCK

    @property
    def is_owned(self) -> bool:
        """Say whether it takes nodes that are paid for already."""
        return self.purchase.price_kind is PriceKind.OWNED


@dataclass(frozen=True, slots=True)
class Group:
    """A serving assignment: its replicas, and requests/s by slot and size class."""

    assignment: ServingAssignment
    replicas: Array
    requests_per_s: Array

    @property
    def gpus(self) -> Array:
        """Count the GPUs that its replicas take in each slot."""
        return self.replicas * as_float(self.assignment.candidate.gpus)


@dataclass(frozen=True, slots=True)
class Gang:
    """A training assignment, and the nodes that it holds in each slot."""

    assignment: TrainingAssignment
    nodes: Array


@dataclass(frozen=True, slots=True)
class Facts:
    """A plan and its case, prepared once for all rules.

    `bought` leaves out purchases of offers that the case does not have; `inputs` refuses those.
    The load is by service, then slot and size class; `on_demand` is by machine. `sold` are the
    offers by key as they are sold, without surcharges. `serving` and `training` are the options of
    the names (service, user region, machine, on spot; run, machine) that the plan has. `whole` and
    `unchanged` are plan and case as they were given.
    """

    plan: Plan
    case: Case
    whole: Plan
    unchanged: Case
    snapshot: str | None
    workloads_sha256: str | None
    timeline: Timeline
    bought: tuple[Bought, ...]
    groups: tuple[Group, ...]
    gangs: tuple[Gang, ...]
    load_requests_per_s: Mapping[str, Array]
    on_demand: Mapping[str, Offer]
    sold: Mapping[str, Offer]
    serving: Mapping[tuple[str, str, str, bool], Sequence[ServingOption]]
    training: Mapping[tuple[str, str], Sequence[TrainingOption]]

    def gpus_per_node(self, machine: str) -> int:
        """Count the whole GPUs of a node; none for a machine that the case does not have."""
        offer = self.case.machines.get(machine)
        return int(offer.hardware.shape.gpu_count) if offer else 0

    def nodes(self, machine: str, kinds: frozenset[PriceKind]) -> Array:
        """Add up the bought nodes of a machine of some price kinds, slot by slot."""
        total = self.timeline.zeros()
        for one in self.bought:
            if one.offer.machine == machine and one.purchase.price_kind in kinds:
                total += one.nodes
        return total

    def serving_gpus(self, machine: str, *, on_spot: bool) -> Array:
        """Add up the GPUs that replicas take on a machine, slot by slot."""
        total = self.timeline.zeros()
        for group in self.groups:
            if group.assignment.machine == machine and group.assignment.on_spot == on_spot:
                total += group.gpus
        return total

    def run_nodes(self, machine: str, *, on_spot: bool) -> Array:
        """Add up the nodes that runs hold on a machine, slot by slot."""
        total = self.timeline.zeros()
        for gang in self.gangs:
            if gang.assignment.machine == machine and gang.assignment.on_spot == on_spot:
                total += gang.nodes
        return total

    def owned_nodes(self, machine: str) -> Array:
        """Count the owned nodes of a machine in each slot; the last one must be owned whole."""
        total = self.timeline.zeros()
        for owned in self.case.owned:
            if owned.machine == machine:
                until = owned.until or self.timeline.end_at
                count = (until - self.timeline.start_at) // self.timeline.slot
                total[: max(0, count)] += owned.nodes
        return total

    def groups_of(self, service: str, user_region: str) -> list[Group]:
        """Give the groups that serve a service's users of one region."""
        return [
            group
            for group in self.groups
            if (group.assignment.service, group.assignment.user_region) == (service, user_region)
        ]

    def needed_requests_per_s(self, service: Service, user_region: str) -> Array:
        """Give the requests/s of a service's users of one region, by slot and size class."""
        needed: Array = self.load_requests_per_s[service.name] * service.users[user_region]
        return needed


def gather(plan: Plan, case: Case, *, snapshot: str | None, workloads_sha256: str | None) -> Facts:
    """Spread the plan over the slots and join it to the case."""
    whole, unchanged = plan, case
    plan, case = kept_apart(plan, case)
    sold = {offer.key: offer for offer in (*case.machines.values(), *case.offers)}
    case = at_paid_prices(case)
    horizon = case.workloads.horizon
    timeline = timeline_of(horizon)
    return Facts(
        plan=plan,
        case=case,
        whole=whole,
        unchanged=unchanged,
        snapshot=snapshot,
        workloads_sha256=workloads_sha256,
        timeline=timeline,
        bought=tuple(_bought(plan, case, timeline)),
        groups=tuple(_groups(plan, case, timeline)),
        gangs=tuple(_gangs(plan, timeline)),
        load_requests_per_s={
            service.name: np.array(loads_by_size(service, horizon)).T
            for service in case.workloads.services
        },
        on_demand={
            offer.machine: offer for offer in case.offers if offer.price_kind is PriceKind.ON_DEMAND
        },
        sold=sold,
        serving=_serving(plan, case),
        training=_training(plan, case),
    )


def first_difference(found: object, right: object) -> str:
    """Lead to the first field in which two values differ, and give both figures."""
    if isinstance(found, BaseModel) and isinstance(right, type(found)):
        for name in type(found).model_fields:
            ours, theirs = getattr(found, name), getattr(right, name)
            if ours != theirs:
                return f".{name}{first_difference(ours, theirs)}"
    if isinstance(found, tuple) and isinstance(right, tuple) and len(found) == len(right):
        for number, (ours, theirs) in enumerate(zip(found, right, strict=True)):
            if ours != theirs:
                return f"[{number}]{first_difference(ours, theirs)}"
    return f": {found} is not {right}"


def _bought(plan: Plan, case: Case, timeline: Timeline) -> Iterator[Bought]:
    priced = {offer.key: offer for offer in case.offers}
    names = {one.machine for one in case.owned}
    owned = {offer.key: offer for machine, offer in case.machines.items() if machine in names}
    for purchase in plan.purchases:
        is_owned = purchase.price_kind is PriceKind.OWNED
        offer = (owned if is_owned else priced).get(purchase.offer)
        if offer is not None:
            nodes = timeline.spread((step, step.nodes) for step in purchase.steps)
            yield Bought(purchase, offer, nodes)


def _serving(plan: Plan, case: Case) -> dict[tuple[str, str, str, bool], Sequence[ServingOption]]:
    """List the options that may be those of the plan's assignments, of millions perhaps."""
    used = {(one.service, one.user_region, one.machine, one.on_spot) for one in plan.serving}
    found: dict[tuple[str, str, str, bool], list[ServingOption]] = {name: [] for name in used}
    for option in case.serving:
        name = (option.service, option.user_region, option.machine, option.on_spot)
        if name in found:
            found[name].append(option)
    return dict(found)


def _training(plan: Plan, case: Case) -> dict[tuple[str, str], Sequence[TrainingOption]]:
    found: dict[tuple[str, str], list[TrainingOption]] = {
        (one.run, one.machine): [] for one in plan.training
    }
    for option in case.training:
        if (option.run, option.machine) in found:
            found[option.run, option.machine].append(option)
    return dict(found)


def _groups(plan: Plan, case: Case, timeline: Timeline) -> Iterator[Group]:
    classes = {service.name: len(service.sizes) for service in case.workloads.services}
    for assignment in plan.serving:
        width = classes.get(assignment.service, 0)
        requests, replicas = np.zeros((timeline.count, width)), timeline.zeros()
        for step in assignment.steps:
            slots = timeline.covered(step)
            replicas[slots] += as_float(step.replicas)
            if len(step.requests_per_s) == width:
                requests[slots] += step.requests_per_s
        yield Group(assignment, replicas, requests)


def _gangs(plan: Plan, timeline: Timeline) -> Iterator[Gang]:
    for assignment in plan.training:
        nodes = assignment.candidate.nodes
        yield Gang(assignment, timeline.spread((step, nodes) for step in assignment.steps))
