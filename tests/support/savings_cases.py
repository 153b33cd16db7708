"""A case with one savings plan: two nodes for two thirds of a day, one for the rest."""

from decimal import Decimal

from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.case import Case
from broker.domain.offer import Offer, Payment, PriceKind

RENTED = offer("4")
_LOAD = {"requests_per_s": {"step": "8 h", "by_size": [[2.0, 2.0, 1.0]]}}


def rate(
    usd: str,
    *,
    of: Offer = RENTED,
    scope: str = "compute",
    term_months: int = 12,
    upfront_usd: str = "0",
) -> Offer:
    """Give the rate of a machine under a plan; an upfront part makes it one paid in part."""
    bought = offer(
        usd,
        name=of.instance_type,
        provider=of.provider,
        gpus=int(of.hardware.shape.gpu_count),
        kind=PriceKind.SAVINGS_PLAN,
        term_months=term_months,
        upfront_usd=upfront_usd,
    )
    assert bought.commitment is not None
    is_paid_later = Decimal(upfront_usd) == 0
    payment = Payment.NO_UPFRONT if is_paid_later else Payment.PARTIAL_UPFRONT
    terms = bought.commitment.model_copy(update={"scope": scope, "payment": payment})
    return bought.model_copy(update={"commitment": terms, "place": of.place})


def two_thirds(*rates: Offer, **commitments: object) -> Case:
    """Serve with two nodes for 16 h and with one for 8 h; a node costs 4 USD an hour on demand."""
    file = workloads(
        services=[service_entry(1, 2, traffic=_LOAD)],
        policy={"commitments": {"savings_plans": True} | commitments},
    )
    return case(file, [RENTED, *rates], serving=[serving(RENTED, [1])])
