"""Savings plans: which one a rate belongs to, and how its commitment is paid.

An offer of price kind savings_plan is the rate of one machine under a plan. The plan itself is a
promise to spend so many dollars an hour over all machines of its scope.
"""

from decimal import Decimal
from fractions import Fraction

from broker.domain.offer import Offer
from broker.domain.quantities import HOURS_PER_MONTH

EVERYWHERE = "compute"
"""The scope of plans that cover all machines of a provider in all regions."""

COMMITMENT_STEP_USD = Decimal("0.001")
"""Commitments are sold in whole steps of so many dollars an hour."""

_COMMERCIAL = "commercial"


def savings_plan_of(offer: Offer) -> str:
    """Name the plan that a rate is of: aws/compute@savings_plan-12m-no_upfront.

    A plan of any narrower scope than `compute` holds in one region; none crosses a partition of its
    provider, such as a cloud for governments. Empty where the offer names no scope: then nobody
    can tell what the plan covers.
    """
    terms = offer.commitment
    if terms is None or not terms.scope:
        return ""
    parts = [offer.provider, terms.scope]
    parts += [] if terms.scope == EVERYWHERE else [offer.place.region]
    parts += [] if offer.place.partition == _COMMERCIAL else [offer.place.partition]
    return f"{'/'.join(parts)}@{offer.price_kind}-{terms.term_months}m-{terms.payment}"


def covers_everywhere(offer: Offer) -> bool:
    """Say whether the plan of a rate covers machines in all regions."""
    return offer.commitment is not None and offer.commitment.scope == EVERYWHERE


def covered_scope(offer: Offer) -> str:
    """Say in words what the plan of a rate covers."""
    scope = offer.commitment.scope if offer.commitment else ""
    return "all machines" if covers_everywhere(offer) else scope


def upfront_share(offer: Offer) -> Fraction:
    """Give the part of a plan's commitment over its term that is paid at the start."""
    if offer.commitment is None:
        return Fraction(0)
    upfront = Fraction(offer.commitment.upfront_usd)
    term_h = Fraction(offer.commitment.term_months * HOURS_PER_MONTH)
    whole = upfront + Fraction(offer.usd_per_hour) * term_h
    return (upfront / whole).limit_denominator(1000) if whole else Fraction(0)
