"""What a plan comes to: the figures that every report for people opens with."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from broker.domain.plan import CostLine, Plan, Term
from broker.exports.buying import Kind
from broker.exports.weeks import WeekCost

_NOTHING = Decimal(0)
_TERMS = {
    Term.ON_DEMAND: "on-demand",
    Term.SPOT: "spot",
    Term.COMMITMENT_HOURS: "commitments, by the hour",
    Term.UPFRONT: "commitments, upfront share",
    Term.SAVINGS_PLAN: "savings plans, by the hour",
    Term.CAPACITY_BLOCK: "capacity blocks, whole",
    Term.OWNED: "owned nodes",
    Term.EGRESS: "egress of data and weights",
    Term.STORAGE: "storage of data and weights",
    Term.SURCHARGE: "surcharges on nodes",
    Term.OVER_BUDGET: "over soft budgets, not billed",
    Term.CHURN: "moved nodes, not billed",
}


@dataclass(frozen=True, slots=True)
class Saving:
    """How much less the plan costs than the cheapest of the strategies it was compared with."""

    strategy: str
    usd: Decimal
    share: float


@dataclass(frozen=True, slots=True)
class Summary:
    """The headline of a plan.

    `upfront_usd` is the cash due at the start, `later_usd` what commitments cost after the horizon.
    """

    total_usd: Decimal
    bound_usd: Decimal
    gap_fraction: float
    days: int
    upfront_usd: Decimal
    later_usd: Decimal
    saving: Saving | None
    most_gpus: Fraction
    most_gpus_at: datetime | None
    providers: tuple[str, ...]
    workloads: tuple[str, ...]


def summary(plan: Plan) -> Summary:
    """Gather the headline figures; none is computed that the plan does not hold."""
    most, at = _most_gpus(plan)
    used = {offer.key: offer.provider for offer in plan.offers}
    return Summary(
        total_usd=plan.total_usd,
        bound_usd=plan.bound_usd,
        gap_fraction=plan.gap_fraction,
        days=plan.workloads.horizon.days,
        upfront_usd=sum((one.upfront_usd for one in plan.purchases), _NOTHING),
        later_usd=sum((one.later_usd for one in plan.purchases), _NOTHING),
        saving=_saving(plan),
        most_gpus=most,
        most_gpus_at=at,
        providers=tuple(sorted({used[one.offer] for one in plan.purchases})),
        workloads=(
            *(one.name for one in plan.workloads.services),
            *(one.name for one in plan.workloads.training),
            *(one.name for one in plan.workloads.batch),
        ),
    )


def usd_by_term(plan: Plan) -> tuple[tuple[str, Decimal], ...]:
    """Sum the cost lines by the term of the objective; terms of nothing are left out."""
    sums = dict.fromkeys(Term, _NOTHING)
    for line in plan.cost_lines:
        sums[line.term] += line.usd
    return tuple(
        (_TERMS.get(term, term.value.replace("_", " ")), usd) for term, usd in sums.items() if usd
    )


def other_costs(plan: Plan) -> tuple[CostLine, ...]:
    """List the costs that are no purchase, such as the transfer of training data."""
    ids = {one.id for one in plan.purchases}
    return tuple(line for line in plan.cost_lines if line.subject not in ids and line.usd)


def usd_by_kind(costs: Iterable[WeekCost]) -> tuple[tuple[Kind, Decimal], ...]:
    """Sum costs by how they are paid, in the order of kinds; kinds of nothing are left out."""
    sums = dict.fromkeys(Kind, _NOTHING)
    for one in costs:
        sums[one.kind] += one.usd
    return tuple((kind, usd) for kind, usd in sums.items() if usd)


def usd_by_provider(costs: Iterable[WeekCost]) -> tuple[tuple[str, Decimal], ...]:
    """Sum costs by who is paid, the most first."""
    sums: dict[str, Decimal] = {}
    for one in costs:
        sums[one.provider] = sums.get(one.provider, _NOTHING) + one.usd
    return tuple(sorted(sums.items(), key=lambda pair: (-pair[1], pair[0])))


def _saving(plan: Plan) -> Saving | None:
    """Compare with the cheapest other strategy: the claim that is hardest to doubt."""
    rivals = [(one.total_usd, one.strategy) for one in plan.comparisons if one.total_usd]
    if not rivals or not plan.purchases:
        return None
    usd, strategy = min(rivals)
    ours = plan.objective_usd
    return Saving(strategy, usd - ours, float((usd - ours) / usd))


def _most_gpus(plan: Plan) -> tuple[Fraction, datetime | None]:
    """Find when the most GPUs are up at once, and how many they are."""
    counts = {offer.key: offer.hardware.shape.gpu_count for offer in plan.offers}
    changes: dict[datetime, Fraction] = {}
    for one in plan.purchases:
        for step in one.steps:
            gpus = step.nodes * counts[one.offer]
            changes[step.from_at] = changes.get(step.from_at, Fraction(0)) + gpus
            changes[step.to_at] = changes.get(step.to_at, Fraction(0)) - gpus
    up, most, at = Fraction(0), Fraction(0), None
    for moment in sorted(changes):
        up += changes[moment]
        if up > most:
            most, at = up, moment
    return most, at
