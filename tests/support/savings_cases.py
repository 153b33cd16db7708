"""A case with one savings plan: two nodes for two thirds of a day, one for the rest."""

import random
from dataclasses import replace
from decimal import Decimal

from tiny_cases import case, offer, service_entry, serving, workloads
from wide_cases import wide_case

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


def wide_with_plan(seed: int) -> Case:
    """Give a wide case a plan over machines of one provider, and targets for commitments."""
    of, draw = wide_case(seed), random.Random(seed)  # noqa: S311 - instances, not secrets
    rates = [
        rate(f"{float(box.usd_per_hour) * draw.uniform(0.4, 0.9):.2f}", of=box)
        for box in of.offers
        if box.price_kind is PriceKind.ON_DEMAND and box.provider == "acme"
    ]
    policy = of.workloads.policy
    targets = {
        "min_committed_share": draw.choice([0.0, 0.2, 0.5]),
        "min_commitment_utilization": draw.choice([0.0, 0.7, 0.9]),
    }
    update = {
        "commitments": policy.commitments.model_copy(update={"savings_plans": True}),
        "coverage": policy.coverage.model_copy(update=targets),
    }
    file = of.workloads.model_copy(update={"policy": policy.model_copy(update=update)})
    offers = tuple(sorted((*of.offers, *rates), key=lambda one: one.key))
    return replace(of, offers=offers, workloads=file)
