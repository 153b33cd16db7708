"""The load of each service over the horizon, and what its replicas could answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from broker.domain.margin import sure_share
from broker.domain.plan import Plan, ServingAssignment, ServingStep
from broker.domain.pool import Role
from broker.domain.traffic import load_requests_per_s
from broker.domain.workload import Service


@dataclass(frozen=True, slots=True)
class SlotLoad:
    """Requests/s of one slot: what comes, what can be answered, and that at the band's low end."""

    from_at: datetime
    to_at: datetime
    load_per_s: float
    capacity_per_s: float
    low_capacity_per_s: float
    spot_capacity_per_s: float


@dataclass(frozen=True, slots=True)
class ServiceLoad:
    """One service over the horizon, all its user regions together."""

    service: str
    slots: tuple[SlotLoad, ...]

    @property
    def peak(self) -> SlotLoad:
        """Give the slot with the highest load."""
        return max(self.slots, key=lambda slot: slot.load_per_s)

    @property
    def tightest(self) -> SlotLoad:
        """Give the slot in which the least capacity is left, as a share of the load."""
        return min(self.slots, key=lambda slot: slot.capacity_per_s / max(slot.load_per_s, 1e-12))


def service_loads(plan: Plan) -> tuple[ServiceLoad, ...]:
    """Put the load of each service beside the capacity that the plan gives it."""
    return tuple(_load_of(plan, service) for service in plan.workloads.services)


def _load_of(plan: Plan, service: Service) -> ServiceLoad:
    horizon = plan.workloads.horizon
    slots = horizon.slots()
    mine = [one for one in plan.serving if one.service == service.name]
    sides = [
        _capacities(plan, service, [one for one in mine if one.candidate.does(role)])
        for role in Role
    ]
    capacity, low, spot = (list(map(min, *both)) for both in zip(*sides, strict=True))
    loads = load_requests_per_s(service, horizon)
    return ServiceLoad(
        service.name,
        tuple(
            SlotLoad(slot.start_at, slot.end_at, *values)
            for slot, *values in zip(slots, loads, capacity, low, spot, strict=True)
        ),
    )


def _capacities(
    plan: Plan, service: Service, serving: Sequence[ServingAssignment]
) -> tuple[list[float], list[float], list[float]]:
    """Give what can be answered in each slot, that at the band's low end, and that on spot.

    Of pools it is what the replicas of one carry; the lesser pool is that of the service.
    """
    horizon, margin = plan.workloads.horizon, plan.workloads.policy.safety_margin
    count = len(horizon.slots())
    capacity, low, spot = [0.0] * count, [0.0] * count, [0.0] * count
    for one in serving:
        for step in one.steps:
            per_s = _capacity_per_s(service, one, step)
            sure = sure_share(margin, one.candidate.band)
            first = round((step.from_at - horizon.start) / horizon.slot)
            last = round((step.to_at - horizon.start) / horizon.slot)
            for number in range(first, last):
                capacity[number] += per_s
                low[number] += per_s * sure
                spot[number] += per_s if one.on_spot else 0.0
    return capacity, low, spot


def _capacity_per_s(service: Service, one: ServingAssignment, step: ServingStep) -> float:
    """Scale the requests that a group gets up to where all its replicas are busy.

    A replica that answers r₁ or r₂ requests/s of two size classes alone answers x₁ and x₂ of both
    where x₁/r₁ + x₂/r₂ ≤ 1. Where it gets none, the mix is that of the service.
    """
    sent: Sequence[float] = step.requests_per_s
    if not sum(sent):
        sent = [size.share for size in service.sizes]
    pairs = list(_answered(sent, [rate.requests_per_s for rate in one.candidate.rates]))
    busy = sum(amount / rate for amount, rate in pairs)
    return step.replicas * sum(amount for amount, _ in pairs) / busy if busy else 0.0


def _answered(sent: Sequence[float], rates: Sequence[float]) -> Iterator[tuple[float, float]]:
    for amount, rate in zip(sent, rates, strict=True):
        if rate > 0:
            yield amount, rate
