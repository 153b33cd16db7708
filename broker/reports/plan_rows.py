"""A plan as rows: what to buy, and what runs on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from broker.domain.candidate import BatchCandidate, ClassRate, GangCandidate, ServingCandidate
from broker.domain.chosen_model import chosen_model
from broker.domain.offer import Offer, PriceKind
from broker.domain.pauses import fewest, up_h
from broker.domain.plan import Plan, Purchase, ServingAssignment, TrainingAssignment
from broker.domain.pool import Role
from broker.domain.savings import covered_scope

_ACTIONS = {
    PriceKind.ON_DEMAND: "rent",
    PriceKind.SPOT: "bid",
    PriceKind.RESERVED: "reserve",
    PriceKind.SAVINGS_PLAN: "commit",
    PriceKind.CAPACITY_BLOCK: "book",
    PriceKind.CONTRACT: "sign",
    PriceKind.OWNED: "keep",
}


@dataclass(frozen=True, slots=True)
class BuyRow:
    """One purchase: what to do, with how many nodes, when, for whom, for how much.

    Where there is a time without any, `fewest_nodes` is 0; nodes are up for `up_h`. A savings
    plan has no nodes: `promised_usd_per_hour` are paid every hour of its term, and `utilization` of
    them is used in the horizon. Its `instance_type` says what it covers.
    """

    action: str
    provider: str
    instance_type: str
    tier: str
    region: str
    zone: str | None
    gpu: str
    gpus_per_node: int
    price_kind: str
    term_months: int | None
    payment: str | None
    fewest_nodes: int
    most_nodes: int
    from_at: datetime
    to_at: datetime
    up_h: float
    node_hours: Decimal
    workloads: str
    usd: Decimal
    upfront_usd: Decimal
    later_usd: Decimal
    breakeven_utilization: float | None
    offer: str
    promised_usd_per_hour: Decimal | None = None
    utilization: float | None = None


@dataclass(frozen=True, slots=True)
class WorkRow:
    """One assignment: a group of replicas or a gang, where and how it works.

    `model` names the network that answers where the workload leaves a choice of several.
    """

    workload: str
    model: str
    user_region: str
    machine: str
    market: str
    layout: str
    precision: str
    fewest: int
    most: int
    gpus: int | Fraction
    from_at: datetime
    to_at: datetime
    rate: str
    memory_gib: float
    memory_available_gib: float
    latency: str
    label: str


def buy_rows(plan: Plan) -> tuple[BuyRow, ...]:
    """List purchases by action, then by cost, the dearest first."""
    offers = {offer.key: offer for offer in plan.offers}
    rows = [_buy_row(plan, one, offers[one.offer]) for one in plan.purchases]
    order = list(_ACTIONS.values())
    return tuple(sorted(rows, key=lambda row: (order.index(row.action), -row.usd, row.offer)))


def work_rows(plan: Plan) -> tuple[WorkRow, ...]:
    """List services, then runs."""
    return (
        *(_serving_row(one, chosen_model(plan, one)) for one in plan.serving),
        *(_training_row(days) for days in _days(plan.training)),
    )


def _buy_row(plan: Plan, purchase: Purchase, offer: Offer) -> BuyRow:
    steps = purchase.steps
    nodes = [step.nodes for step in steps]
    horizon, savings = plan.workloads.horizon, purchase.savings
    return BuyRow(
        action=_ACTIONS[purchase.price_kind],
        provider=offer.provider,
        instance_type=covered_scope(offer) if savings else offer.instance_type,
        tier=offer.tier,
        region=offer.place.region,
        zone=offer.place.zone,
        gpu=offer.hardware.shape.gpu,
        gpus_per_node=int(offer.hardware.shape.gpu_count),
        price_kind=purchase.price_kind.value,
        term_months=_term_months(purchase, offer),
        payment=_payment(purchase, offer),
        fewest_nodes=fewest(steps, nodes),
        most_nodes=max(nodes, default=0),
        from_at=steps[0].from_at if steps else horizon.start,
        to_at=steps[-1].to_at if steps else horizon.end,
        up_h=up_h(steps),
        node_hours=purchase.node_hours,
        workloads=", ".join(_workloads_of(plan, offer.machine, purchase)),
        usd=purchase.usd,
        upfront_usd=purchase.upfront_usd,
        later_usd=purchase.later_usd,
        breakeven_utilization=purchase.breakeven_utilization,
        offer=purchase.id,
        promised_usd_per_hour=savings.usd_per_hour if savings else None,
        utilization=savings.utilization if savings else None,
    )


def _term_months(purchase: Purchase, offer: Offer) -> int | None:
    is_owned = purchase.price_kind is PriceKind.OWNED
    return offer.commitment.term_months if offer.commitment and not is_owned else None


def _payment(purchase: Purchase, offer: Offer) -> str | None:
    is_owned = purchase.price_kind is PriceKind.OWNED
    return offer.commitment.payment.value if offer.commitment and not is_owned else None


def _workloads_of(plan: Plan, machine: str, purchase: Purchase) -> Sequence[str]:
    """Name what a purchase carries; a savings plan carries what is on the lines that it covers."""
    covers = purchase.savings.covers if purchase.savings else ()
    machines = {one.line.partition("@")[0] for one in covers} or {machine}
    return sorted({name for one in machines for name in _workloads_on(plan, one, purchase)})


def _workloads_on(plan: Plan, machine: str, purchase: Purchase) -> Sequence[str]:
    on_spot = purchase.price_kind is PriceKind.SPOT
    names = {
        one.service for one in plan.serving if (one.machine, one.on_spot) == (machine, on_spot)
    }
    names |= {
        one.workload for one in plan.training if (one.machine, one.on_spot) == (machine, on_spot)
    }
    return sorted(filter(purchase.may_carry(plan.workloads.policy.isolated), names))


def _serving_row(one: ServingAssignment, model: str) -> WorkRow:
    candidate = one.candidate
    replicas = [step.replicas for step in one.steps]
    rates = [rate for rate in candidate.rates if rate.requests_per_s > 0]
    slowest = max(rates, key=lambda rate: rate.ttft_s)
    per_s = "/".join(f"{rate.requests_per_s:.3g}" for rate in candidate.rates)
    return WorkRow(
        workload=one.service,
        model=model,
        user_region=one.user_region,
        machine=one.machine,
        market="spot" if one.on_spot else "firm",
        layout=candidate.laid_out,
        precision=candidate.precision.value,
        fewest=fewest(one.steps, replicas),
        most=max(replicas),
        gpus=candidate.gpus,
        from_at=one.steps[0].from_at,
        to_at=one.steps[-1].to_at,
        rate=f"{per_s} req/s each",
        memory_gib=candidate.memory.used_gib,
        memory_available_gib=candidate.memory.available_gib,
        latency=_latency(candidate, slowest),
        label=candidate.label.value,
    )


def _latency(candidate: ServingCandidate, slowest: ClassRate) -> str:
    """Give the times that a replica is part of: of pools, one has the first token's alone."""
    times = [
        (Role.PREFILL, f"TTFT {slowest.ttft_s:.2g} s"),
        (Role.DECODE, f"TPOT {slowest.tpot_s * 1000:.0f} ms"),
    ]
    return ", ".join(text for role, text in times if candidate.does(role))


def _days(training: Sequence[TrainingAssignment]) -> list[list[TrainingAssignment]]:
    """Gather the days of a batch job that are done alike; every other run is alone."""
    alike: dict[tuple[str, str, str], list[TrainingAssignment]] = {}
    for one in training:
        alike.setdefault((one.workload, one.machine, one.candidate.id), []).append(one)
    return list(alike.values())


def _training_row(days: Sequence[TrainingAssignment]) -> WorkRow:
    one = days[0]
    candidate = one.candidate
    steps = [step for day in days for step in day.steps]
    hours = sum((step.to_at - step.from_at).total_seconds() for step in steps) / 3600
    in_pieces = f"{hours:.0f} h in {len(steps)} piece{'s' * (len(steps) > 1)}"
    return WorkRow(
        workload=one.workload,
        model="",
        user_region="",
        machine=one.machine,
        market="spot" if one.on_spot else "firm",
        layout=str(candidate.layout),
        precision=candidate.precision.value if isinstance(candidate, BatchCandidate) else "",
        fewest=candidate.nodes,
        most=candidate.nodes,
        gpus=int(candidate.shape.gpu_count),
        from_at=min(step.from_at for step in steps),
        to_at=max(step.to_at for step in steps),
        rate=_gang_rate(candidate),
        memory_gib=candidate.memory.used_gib,
        memory_available_gib=candidate.memory.available_gib,
        latency=in_pieces + (f" over {len(days)} days" if len(days) > 1 else ""),
        label=candidate.label.value,
    )


def _gang_rate(candidate: GangCandidate) -> str:
    rate = f"{candidate.tokens_per_s:,.0f} tokens/s"
    if isinstance(candidate, BatchCandidate):
        return f"{rate}, {candidate.replicas} replica{'s' * (candidate.replicas > 1)} a node"
    return f"{rate}, MFU {candidate.mfu:.0%}"
