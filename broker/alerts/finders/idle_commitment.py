"""A commitment that sits idle while the same kind of node is rented on demand."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise

from broker.alerts.finders.holdings import (
    held_machines,
    held_nodes,
    nodes_at,
    offers_by_machine,
    used_nodes,
)
from broker.alerts.night import Night
from broker.alerts.phrases import adopt, command, counted, dollars, doubling, instant, replan
from broker.domain.alert import Alert, AlertKind
from broker.domain.offer import Fabric, Offer, PriceKind
from broker.domain.plan import Plan
from broker.domain.quantities import quantize_usd

_HOUR = timedelta(hours=1)
_SECONDS_PER_HOUR = 3600


@dataclass(slots=True)
class _Move:
    """What could be moved from one rented offer to idle nodes, over the rest of the plan."""

    offer: Offer
    since: datetime
    nodes: int = 0
    node_hours: Decimal = Decimal(0)

    def add(self, nodes: int, length: timedelta) -> None:
        self.nodes = max(self.nodes, nodes)
        self.node_hours += nodes * Decimal(int(length.total_seconds())) / _SECONDS_PER_HOUR

    @property
    def usd(self) -> Decimal:
        return self.node_hours * self.offer.usd_per_hour


@dataclass(frozen=True, slots=True)
class _Idle:
    """The moves to the idle nodes of one machine, by the key of the rented offer."""

    machine: Offer
    moves: dict[str, _Move] = field(default_factory=dict)

    @property
    def usd(self) -> Decimal:
        return sum((move.usd for move in self.moves.values()), Decimal(0))


def idle_commitment(night: Night) -> Iterator[Alert]:
    """Set what is paid for and not used against what is rented at the same time.

    Nodes match that have the same GPUs, as many of them, on the same link; for a run on the same
    fabric, for a service on the same continent. Prices are those of the plan, and no rented node
    is counted twice.
    """
    plan = night.acted_on
    if plan is None:
        return
    left = set(_idle(night, night.made)) if night.made else set()
    for machine, idle in _idle(night, plan).items():
        yield _alert(night, plan, idle, is_left=machine in left)


def _idle(night: Night, plan: Plan) -> Mapping[str, _Idle]:
    known = offers_by_machine(night)
    idle = {name: _Idle(known[name]) for name in held_machines(night, plan) if name in known}
    offers = {offer.key: offer for offer in plan.offers}
    rented = [one for one in plan.purchases if one.price_kind is PriceKind.ON_DEMAND]
    rented.sort(key=lambda one: (-offers[one.offer].usd_per_hour, one.id))
    for start, end in pairwise(_instants(night, plan)):
        free = {one.id: nodes_at([one], start) for one in rented}
        for machine, one in idle.items():
            here = [each for each in rented if offers[each.offer].machine == machine]
            used = _used_of_held(plan, one.machine, nodes_at(here, start), start)
            spare = held_nodes(night, plan, machine, start) - used
            for purchase in rented:
                offer = offers[purchase.offer]
                taken = min(spare, free[purchase.id])
                if taken > 0 and _matches(plan, known[machine], offer):
                    spare -= taken
                    free[purchase.id] -= taken
                    move = one.moves.setdefault(offer.key, _Move(offer, start))
                    move.add(taken, end - start)
    return {machine: one for machine, one in idle.items() if one.moves}


def _instants(night: Night, plan: Plan) -> Sequence[datetime]:
    """List when something changes, from now to the end of the plan."""
    horizon = plan.workloads.horizon
    start = max(night.now, horizon.start)
    if start >= horizon.end:
        return ()
    steps = [step for one in plan.purchases for step in one.steps]
    ends = {at for step in steps for at in (step.from_at, step.to_at)}
    ends |= {at for one in plan.serving for step in one.steps for at in (step.from_at, step.to_at)}
    ends |= {at for one in plan.training for step in one.steps for at in (step.from_at, step.to_at)}
    if night.demand:
        ends |= {one.until for one in night.demand.inventory if one.until}
    return sorted({start, *(at for at in ends if start < at < horizon.end), horizon.end})


def _used_of_held(plan: Plan, machine: Offer, rented: int, at: datetime) -> int:
    """Count the nodes in use that are not rented: those are filled when the held ones are full."""
    gpus = max(1, int(machine.hardware.shape.gpu_count))
    return max(0, used_nodes(plan, machine.machine, gpus, at) - rented)


def _matches(plan: Plan, idle: Offer, rented: Offer) -> bool:
    have, need = idle.hardware.shape, rented.hardware.shape
    same = (have.gpu, have.gpu_count, have.link) == (need.gpu, need.gpu_count, need.link)
    runs = any(one.machine == rented.machine and not one.on_spot for one in plan.training)
    serves = any(one.machine == rented.machine and not one.on_spot for one in plan.serving)
    fast = (have.fabric, have.fabric_gbit_per_s) == (need.fabric, need.fabric_gbit_per_s)
    fit_for_runs = fast and have.fabric is not Fabric.UNKNOWN
    near = idle.place.region == rented.place.region or (
        idle.place.continent is not None and idle.place.continent == rented.place.continent
    )
    return same and (fit_for_runs or not runs) and (near or not serves)


def _alert(night: Night, plan: Plan, idle: _Idle, *, is_left: bool) -> Alert:
    horizon = plan.workloads.horizon
    rest = (horizon.end - max(night.now, horizon.start)) / _HOUR
    per_day = quantize_usd(idle.usd * 24 / Decimal(str(rest)))
    machine = idle.machine.machine
    nodes = max(move.nodes for move in idle.moves.values())
    what = "a node sits" if nodes == 1 else f"{nodes} nodes sit"
    return Alert(
        kind=AlertKind.IDLE_COMMITMENT,
        scope=night.workloads,
        subject=machine,
        state=f"idle for {doubling(per_day)} a day",
        title=f"{what} idle on {machine} while the same is rented on demand",
        since=min(move.since for move in idle.moves.values()),
        usd_per_day=per_day,
        facts=tuple(_facts(night, plan, idle, is_left=is_left)),
        action=_action(night, is_left=is_left),
    )


def _facts(night: Night, plan: Plan, idle: _Idle, *, is_left: bool) -> Iterator[str]:
    for key, move in sorted(idle.moves.items(), key=lambda item: (-item[1].usd, item[0])):
        work = ", ".join(_work_on(plan, move.offer.machine)) or "the work"
        price, nodes = dollars(move.offer.usd_per_hour), counted(move.nodes, "node")
        worth = f"{move.node_hours:.0f} node-hours, {dollars(move.usd)}"
        when = instant(move.since)
        yield f"move {work} from {key} ({price}/h), up to {nodes} from {when}: {worth}"
        if move.offer.place.region != idle.machine.place.region:
            yield f"that is from {move.offer.place.region} to {idle.machine.place.region}"
    if is_left and night.in_force is not None:
        yield "tonight's plan leaves them idle, too: a rule of the workloads file keeps work away"


def _work_on(plan: Plan, machine: str) -> Sequence[str]:
    names = [one.service for one in plan.serving if one.machine == machine and not one.on_spot]
    names += [one.run for one in plan.training if one.machine == machine and not one.on_spot]
    return sorted(set(names))


def _action(night: Night, *, is_left: bool) -> str:
    """Take tonight's plan where it uses the nodes; else see why none does."""
    if night.made is None:
        return replan(night)
    return command("explain", night.made_name or "PLAN") if is_left else adopt(night)
