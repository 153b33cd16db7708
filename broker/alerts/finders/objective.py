"""A latency objective at risk: a service of the plan in force has hardly room for its load."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from broker.alerts.night import Night
from broker.alerts.phrases import adopt, instant, replan
from broker.domain.alert import Alert, AlertKind
from broker.domain.margin import margin_words
from broker.domain.plan import Plan, ServingAssignment, ServingStep
from broker.domain.pool import Role
from broker.domain.traffic import load_requests_per_s, pinned
from broker.domain.workload import Service

_NEAR = 0.98
_OVER = 1.0 + 1e-6
_NO_CAPACITY = 9.99
"""The share that is said where there is load and no replica at all."""


@dataclass(frozen=True, slots=True)
class _Fill:
    """How full a service is in a slot: load over what its replicas answer within the objective."""

    from_at: datetime
    hours: float
    load_per_s: float
    capacity_per_s: float

    @property
    def share(self) -> float:
        if not self.capacity_per_s:
            return _NO_CAPACITY if self.load_per_s else 0.0
        return self.load_per_s / self.capacity_per_s


def objective_at_risk(night: Night) -> Iterator[Alert]:
    """Hold the load of tonight's file against the replicas that people act on, from now on.

    The rates of replicas are those within the latency objective, the safety margin taken off;
    above 98 % of them no replica may be lost and no estimate be wrong.
    """
    plan, demand = night.acted_on, night.demand
    if plan is None or demand is None:
        return
    for service in demand.services:
        fills = _fills(plan, pinned(service, demand.horizon), night.now)
        worst = max(fills, key=lambda fill: fill.share, default=None)
        if worst is not None and worst.share >= _NEAR:
            yield _alert(night, service, worst, fills)


def _fills(plan: Plan, service: Service, now: datetime) -> Sequence[_Fill]:
    horizon = plan.workloads.horizon
    mine = [one for one in plan.serving if one.service == service.name]
    loads = load_requests_per_s(service, horizon)
    return [
        _Fill(slot.start_at, slot.hours, load, _capacity_per_s(service, mine, slot.start_at))
        for slot, load in zip(horizon.slots(), loads, strict=True)
        if slot.end_at > now
    ]


def _capacity_per_s(service: Service, mine: Sequence[ServingAssignment], at: datetime) -> float:
    """Give what can be answered: of pools for prompts and answers, what the lesser one carries."""
    return min(
        sum(
            _answered_per_s(service, one, step)
            for one in mine
            if one.candidate.does(role)
            for step in one.steps
            if step.from_at <= at < step.to_at
        )
        for role in Role
    )


def _answered_per_s(service: Service, one: ServingAssignment, step: ServingStep) -> float:
    """Scale the mix of sizes that a group is sent up to where all its replicas are busy.

    A replica that answers r₁ or r₂ requests/s of two size classes alone answers x₁ and x₂ of both
    where x₁/r₁ + x₂/r₂ ≤ 1. Where it is sent none, the mix is that of the service.
    """
    sent: Sequence[float] = step.requests_per_s
    if not sum(sent):
        sent = [size.share for size in service.sizes]
    rates = [rate.requests_per_s for rate in one.candidate.rates]
    pairs = [(x, r) for x, r in zip(sent, rates, strict=False) if r > 0]
    busy = sum(x / r for x, r in pairs)
    return step.replicas * sum(x for x, _ in pairs) / busy if busy else 0.0


def _alert(night: Night, service: Service, worst: _Fill, fills: Sequence[_Fill]) -> Alert:
    over = worst.share > _OVER
    hours = timedelta(hours=sum(fill.hours for fill in fills if fill.share >= _NEAR))
    first = next(fill for fill in fills if fill.share >= _NEAR)
    full = "has more load than its replicas answer" if over else "has hardly room for its load"
    return Alert(
        kind=AlertKind.OBJECTIVE_AT_RISK,
        scope=night.workloads,
        subject=service.name,
        state="over its capacity" if over else "near its capacity",
        title=f"The service {service.name} {full}",
        since=first.from_at,
        facts=(
            f"{worst.load_per_s:.4g} requests/s at the highest, {instant(worst.from_at)}",
            f"{worst.capacity_per_s:.4g} can be answered within the objective then",
            f"so it is for {hours / timedelta(hours=1):g} h of the plan in force",
            _margin(night),
        ),
        action=_action(night, service),
    )


def _margin(night: Night) -> str:
    demand = night.demand
    return margin_words(demand.policy.safety_margin if demand else 0.0)


def _action(night: Night, service: Service) -> str:
    """Take tonight's plan if it has more room; else see what one more spare replica costs."""
    made = night.made
    if night.in_force is not None and made is not None and night.adopted:
        fills = _fills(made, service, night.now)
        if max((fill.share for fill in fills), default=0.0) < _NEAR:
            return adopt(night)
    spares = service.availability.spare_replicas + 1
    return replan(night, f"services.{service.name}.availability.spare_replicas={spares}")
