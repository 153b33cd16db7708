"""What a plan costs day by day: the charges that a provider's bill would show.

Amounts are shares of the plan's own cost lines, cut so that they add up to them to the
micro-dollar. *Effective* cost spreads an upfront part over the term, as the plan's total does;
*billed* cost is what falls due, when it does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType

from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import CostLine, NodeStep, Plan, Term
from broker.exports.amounts import shared_out_usd
from broker.exports.lines import Line, lines

_MICRO = 1_000_000
_SECOND = timedelta(seconds=1)
_HOUR_S = 3600
_ZERO = Decimal("0.000000")
COMMITTED = frozenset(
    {
        PriceKind.RESERVED,
        PriceKind.CONTRACT,
        PriceKind.CAPACITY_BLOCK,
        PriceKind.SAVINGS_PLAN,
    }
)


class ChargeKind(StrEnum):
    """What is charged for."""

    RENT = "rent"
    USED = "used"
    UNUSED = "unused"
    FEE = "fee"
    UPFRONT = "upfront"
    EGRESS = "egress"
    STORAGE = "storage"


_DATA_KINDS = MappingProxyType({Term.EGRESS: ChargeKind.EGRESS, Term.STORAGE: ChargeKind.STORAGE})


@dataclass(frozen=True, slots=True)
class Charge:
    """One charge of a line, or of a workload's data (`line` is None then, `workload` names it).

    `quantity` counts node-hours; nodes for an upfront fee; transfers for egress; hours for storage.
    `place` is where the data is kept or leaves, as provider/region; empty where it comes from the
    place that the workload names.
    `list_usd` is what the quantity costs at `unit_usd`, without a commitment's discount.
    """

    kind: ChargeKind
    from_at: datetime
    to_at: datetime
    quantity: Decimal
    unit_usd: Decimal
    list_usd: Decimal
    billed_usd: Decimal
    effective_usd: Decimal
    line: Line | None = None
    workload: str = ""
    place: str = ""


def charges(plan: Plan) -> tuple[Charge, ...]:
    """List every charge of a plan: the effective costs add up to its total.

    What soft budgets ask for is in the total and no charge, as nobody bills it.
    """
    listed = {
        offer.machine: offer.usd_per_hour
        for offer in plan.paid_offers.values()
        if offer.price_kind is PriceKind.ON_DEMAND
    }
    by_hour = {line.subject for line in plan.cost_lines if line.term is Term.COMMITMENT_HOURS}
    return tuple(
        charge
        for line in lines(plan)
        for charge in _of_line(
            line, _list_price(line.offer, listed), _fee_usd(line) if line.id in by_hour else _ZERO
        )
    ) + tuple(one for charge in (_of_savings_plans(plan), _data(plan)) for one in charge)


@dataclass(frozen=True, slots=True)
class _Use:
    """Node-seconds of one day, used or not, and the time that they lie in."""

    is_used: bool
    from_at: datetime
    to_at: datetime
    node_s: int

    @property
    def node_h(self) -> Fraction:
        return Fraction(self.node_s, _HOUR_S)


def _of_line(line: Line, unit_usd: Decimal, fee_usd: Decimal) -> Iterator[Charge]:
    kind = line.purchase.price_kind
    is_committed = kind in COMMITTED or kind is PriceKind.OWNED
    if line.purchase.upfront_usd:
        yield _upfront(line)
    if fee_usd:
        yield from _fees(line, fee_usd)
    uses = tuple(_uses(line, is_committed=is_committed))
    costs = shared_out_usd(line.purchase.usd, [one.node_h for one in uses])
    for use, usd in zip(uses, costs, strict=True):
        used = ChargeKind.USED if use.is_used else ChargeKind.UNUSED
        yield Charge(
            kind=used if is_committed else ChargeKind.RENT,
            from_at=use.from_at,
            to_at=use.to_at,
            quantity=_decimal(use.node_h),
            unit_usd=unit_usd,
            list_usd=_usd(use.node_h * Fraction(unit_usd)),
            billed_usd=_ZERO if is_committed else usd,
            effective_usd=usd,
            line=line,
        )


def _of_savings_plans(plan: Plan) -> Iterator[Charge]:
    """Charge what is promised: what falls due, and day by day what is used of it and what is not.

    A plan counts as one unit from the horizon's start to its end; its unused part is taken as even
    over the days.
    """
    offers = {offer.key: offer for offer in plan.offers}
    horizon = plan.workloads.horizon
    for one in plan.purchases:
        if one.savings is None:
            continue
        unit = NodeStep(from_at=horizon.start, to_at=horizon.end, nodes=1)
        line = Line(one.model_copy(update={"steps": (unit,)}), offers[one.offer], (), ())
        if one.upfront_usd:
            yield replace(_upfront(line), unit_usd=one.upfront_usd)
        for fee_usd in (cost.usd for cost in plan.cost_lines if _is_promise(cost, one.id)):
            fees = _fees(line, fee_usd)
            yield from (replace(fee, unit_usd=one.savings.usd_per_hour) for fee in fees)
        used_usd = min(one.usd, sum((cover.usd for cover in one.savings.covers), _ZERO))
        yield from _days(line, ChargeKind.USED, used_usd)
        yield from _days(line, ChargeKind.UNUSED, one.usd - used_usd)


def _is_promise(cost: CostLine, line: str) -> bool:
    return (cost.term, cost.subject) == (Term.SAVINGS_PLAN, line)


def _days(line: Line, kind: ChargeKind, usd: Decimal) -> Iterator[Charge]:
    if not usd:
        return
    days = tuple(_pieces(line.purchase.steps, _next_day))
    hours = [Fraction((to_at - from_at) // _SECOND, _HOUR_S) for from_at, to_at, _ in days]
    costs = shared_out_usd(usd, hours)
    for (from_at, to_at, _), quantity, cost in zip(days, hours, costs, strict=True):
        yield Charge(
            kind=kind,
            from_at=from_at,
            to_at=to_at,
            quantity=_decimal(quantity),
            unit_usd=_usd(Fraction(cost) / quantity),
            list_usd=cost,
            billed_usd=_ZERO,
            effective_usd=cost,
            line=line,
        )


def _upfront(line: Line) -> Charge:
    """Charge the upfront part where the commitment begins; no cost is in effect by that alone."""
    usd = line.purchase.upfront_usd
    nodes = Decimal(line.most_nodes)
    return Charge(
        kind=ChargeKind.UPFRONT,
        from_at=line.from_at,
        to_at=min(line.to_at, _next_day(line.from_at)),
        quantity=nodes,
        unit_usd=line.offer.commitment.upfront_usd if line.offer.commitment else usd / nodes,
        list_usd=usd,
        billed_usd=usd,
        effective_usd=_ZERO,
        line=line,
    )


def _fee_usd(line: Line) -> Decimal:
    return _usd(Fraction(line.offer.usd_per_hour) * Fraction(line.purchase.node_hours))


def _fees(line: Line, fee_usd: Decimal) -> Iterator[Charge]:
    """Charge the hours of a commitment month by month, used or not."""
    months = tuple(_pieces(line.purchase.steps, _next_month))
    hours = [
        Fraction(nodes * ((to_at - from_at) // _SECOND), _HOUR_S)
        for from_at, to_at, nodes in months
    ]
    costs = shared_out_usd(fee_usd, hours)
    for (from_at, to_at, _), quantity, usd in zip(months, hours, costs, strict=True):
        yield Charge(
            kind=ChargeKind.FEE,
            from_at=from_at,
            to_at=to_at,
            quantity=_decimal(quantity),
            unit_usd=line.offer.usd_per_hour,
            list_usd=usd,
            billed_usd=usd,
            effective_usd=_ZERO,
            line=line,
        )


def _uses(line: Line, *, is_committed: bool) -> Iterator[_Use]:
    """Add up the node-seconds of each day; committed nodes that carry nothing are apart."""
    found: dict[tuple[datetime, bool], list[tuple[datetime, datetime, int]]] = {}
    instants = _instants(line)
    for from_at, to_at, nodes in _pieces(line.purchase.steps, _next_day, instants):
        used = min(nodes, _used_nodes(line, from_at)) if is_committed else nodes
        for is_used, count in ((True, used), (False, nodes - used)):
            if count:
                seconds = count * ((to_at - from_at) // _SECOND)
                key = (_midnight(from_at), is_used)
                found.setdefault(key, []).append((from_at, to_at, seconds))
    for (_, is_used), parts in sorted(found.items()):
        node_s = sum(seconds for _, _, seconds in parts)
        yield _Use(is_used, parts[0][0], parts[-1][1], node_s)


def _used_nodes(line: Line, at: datetime) -> int:
    """Count the nodes that carry replicas, packed, or belong to a gang."""
    gpus = sum(
        step.replicas * share.assignment.candidate.gpus
        for share in line.serving
        for step in share.steps
        if step.from_at <= at < step.to_at
    )
    gangs = sum(
        step.nodes
        for share in line.training
        for step in share.steps
        if step.from_at <= at < step.to_at
    )
    per_node = max(1, int(line.offer.hardware.shape.gpu_count))
    return -(-gpus // per_node) + gangs


def _instants(line: Line) -> tuple[datetime, ...]:
    """List when the use of a line changes."""
    ends = {at for share in line.serving for one in share.steps for at in (one.from_at, one.to_at)}
    ends |= {
        at for share in line.training for one in share.steps for at in (one.from_at, one.to_at)
    }
    return tuple(ends)


def _pieces(
    steps: Iterable[NodeStep],
    after: Callable[[datetime], datetime],
    instants: Sequence[datetime] = (),
) -> Iterator[tuple[datetime, datetime, int]]:
    """Cut steps where a day or month ends, and at instants."""
    for step in steps:
        ends = {step.to_at, *(at for at in instants if step.from_at < at < step.to_at)}
        at = after(step.from_at)
        while at < step.to_at:
            ends.add(at)
            at = after(at)
        start = step.from_at
        for end in sorted(ends):
            yield start, end, step.nodes
            start = end


def _data(plan: Plan) -> Iterator[Charge]:
    """Charge what data costs: its way when work begins or ends there, its keeping day by day."""
    spans = _spans(plan)
    for line in plan.cost_lines:
        if line.term in _DATA_KINDS:
            horizon = plan.workloads.horizon
            from_at, to_at = spans.get(line.workload, (horizon.start, horizon.end))
            if line.term is Term.EGRESS:
                at = to_at if line.place else from_at
                days = [(at, _next_day(at))]
            else:
                days = list(_by_day(from_at, to_at))
            yield from _data_charges(line, days)


def _data_charges(line: CostLine, days: Sequence[tuple[datetime, datetime]]) -> Iterator[Charge]:
    hours = [Fraction((to_at - from_at) // _SECOND, _HOUR_S) for from_at, to_at in days]
    costs = shared_out_usd(line.usd, hours)
    for (from_at, to_at), usd, span_h in zip(days, costs, hours, strict=True):
        quantity = Fraction(1) if line.term is Term.EGRESS else span_h
        yield Charge(
            kind=_DATA_KINDS[line.term],
            from_at=from_at,
            to_at=to_at,
            quantity=_decimal(quantity),
            unit_usd=_usd(Fraction(usd) / quantity),
            list_usd=usd,
            billed_usd=usd,
            effective_usd=usd,
            workload=line.workload,
            place=line.place,
        )


def _spans(plan: Plan) -> dict[str, tuple[datetime, datetime]]:
    """Give the first and the last instant at which each workload is at work."""
    instants: dict[str, list[datetime]] = {}
    for group in plan.serving:
        own = instants.setdefault(group.service, [])
        own.extend(at for step in group.steps for at in (step.from_at, step.to_at))
    for run in plan.training:
        own = instants.setdefault(run.run, [])
        own.extend(at for step in run.steps for at in (step.from_at, step.to_at))
    return {name: (min(own), max(own)) for name, own in instants.items() if own}


def _by_day(from_at: datetime, to_at: datetime) -> Iterator[tuple[datetime, datetime]]:
    while from_at < to_at:
        end = min(to_at, _next_day(from_at))
        yield from_at, end
        from_at = end


def _list_price(offer: Offer, listed: Mapping[str, Decimal]) -> Decimal:
    """Give the machine's on-demand price where the plan has it, else the offer's own."""
    own = offer.effective_usd_per_hour if offer.price_kind is not PriceKind.OWNED else _ZERO
    return listed.get(offer.machine, own)


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def _next_day(at: datetime) -> datetime:
    return _midnight(at) + timedelta(days=1)


def month_of(at: datetime) -> tuple[datetime, datetime]:
    """Give the first instant of a month and of the next one."""
    return _midnight(at).replace(day=1), _next_month(at)


def _next_month(at: datetime) -> datetime:
    first = _midnight(at).replace(day=1)
    return (first + timedelta(days=31)).replace(day=1)


def _decimal(exact: Fraction) -> Decimal:
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def _usd(exact: Fraction) -> Decimal:
    return Decimal(round(exact * _MICRO)).scaleb(-6)
