"""Why one may prefer a plan that is a little dearer: what it does not need or risk."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from broker.domain.candidate import Label
from broker.domain.case import Case
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import Plan, Purchase, ServingAssignment, TrainingAssignment
from broker.planning.explaining.compared import less_bought
from solver.milp.optimum import Optimum

Assignment = ServingAssignment | TrainingAssignment
_SHOWN = 3


def preferences(plan: Plan, other: Optimum, case: Case) -> tuple[str, ...]:
    """List the respects in which another plan is better than this one, beside its price."""
    offers = {one.key: one for one in (*case.machines.values(), *case.offers)}
    ours, theirs = _offers(plan.purchases, offers), _offers(other.purchases, offers)
    return (
        *_cash(plan.purchases, other.purchases),
        *_spot(plan.purchases, other.purchases),
        *_fewer("provider", {one.provider for one in ours}, {one.provider for one in theirs}),
        *_fewer("GPU model", _gpus(ours), _gpus(theirs)),
        *_trust((*plan.serving, *plan.training), (*other.serving, *other.training)),
        *_fewer("line", {one.id for one in plan.purchases}, {one.id for one in other.purchases}),
        *_without(plan, other),
    )


def _offers(purchases: Iterable[Purchase], offers: Mapping[str, Offer]) -> list[Offer]:
    return [offers[one.offer] for one in purchases]


def _gpus(offers: Iterable[Offer]) -> set[str]:
    return {one.hardware.shape.gpu for one in offers}


def _cash(ours: Sequence[Purchase], theirs: Sequence[Purchase]) -> Iterator[str]:
    less_upfront = _sum(one.upfront_usd for one in ours) - _sum(one.upfront_usd for one in theirs)
    less_later = _sum(one.later_usd for one in ours) - _sum(one.later_usd for one in theirs)
    if less_upfront > 0:
        yield f"{less_upfront:,.2f} USD less cash at the start"
    if less_later > 0:
        left = _sum(one.later_usd for one in theirs)
        bound = "nothing is" if not left else f"{less_later:,.2f} USD less is"
        yield f"{bound} owed after the horizon"


def _sum(amounts: Iterable[Decimal]) -> Decimal:
    return sum(amounts, Decimal(0))


def _spot(ours: Sequence[Purchase], theirs: Sequence[Purchase]) -> Iterator[str]:
    mine, other = _spot_hours(ours), _spot_hours(theirs)
    if mine and not other:
        yield "no node can be taken back"
    elif other < mine:
        yield f"{mine - other:,.0f} fewer node-hours that can be taken back"


def _spot_hours(purchases: Iterable[Purchase]) -> Decimal:
    return _sum(one.node_hours for one in purchases if one.price_kind is PriceKind.SPOT)


def _fewer(what: str, ours: set[str], theirs: set[str]) -> Iterator[str]:
    count = len(theirs)
    if count < len(ours):
        yield f"{count} {what}{'s' * (count != 1)} rather than {len(ours)}"


def _trust(ours: Sequence[Assignment], theirs: Sequence[Assignment]) -> Iterator[str]:
    """Compare how many groups and gangs rest on estimates out of the range of measurements."""
    mine, other = (
        sum(one.candidate.label is Label.ESTIMATED for one in some) for some in (ours, theirs)
    )
    if other < mine:
        what = "no rate is" if not other else f"{other} rather than {mine} rates are"
        yield (
            f"{what} an estimate outside the measurements"
            if not other
            else (f"{what} estimates outside the measurements")
        )


def _without(plan: Plan, other: Optimum) -> Iterator[str]:
    kept = {one.id for one in other.purchases}
    gone = [line for line in less_bought(plan, other) if line not in kept]
    if gone:
        more = f" and {len(gone) - _SHOWN} more" if len(gone) > _SHOWN else ""
        yield f"it does without {', '.join(gone[:_SHOWN])}{more}"
