"""A case with one thing changed: an offer gone, or at another price."""

from collections.abc import Collection
from dataclasses import replace
from decimal import ROUND_CEILING, Decimal

from broker.domain.case import Case, committed_hours
from broker.domain.offer import Offer, PriceKind
from broker.domain.quantities import MICRO_USD
from broker.planning.narrowing import narrowed


def without_offers(case: Case, keys: Collection[str]) -> Case:
    """Take offers away, and the options that nothing is left to pay for; owned nodes stay."""
    return narrowed(case, offer=lambda offer: offer.key not in keys)


def left_unused(case: Case, key: str) -> Case:
    """Let no node of an offer be bought; its price still says what commitments are held to."""
    return replace(
        case,
        offers=tuple(
            one
            if one.key != key
            else one.model_copy(update={"limits": one.limits.model_copy(update={"max_nodes": 0})})
            for one in case.offers
        ),
    )


def at_price(case: Case, key: str, usd_per_hour: Decimal) -> Case:
    """Give one offer another price of a node-hour, its upfront part spread over the term."""
    changed = {one.key: priced(one, usd_per_hour) for one in case.offers if one.key == key}
    return replace(
        case,
        offers=tuple(changed.get(one.key, one) for one in case.offers),
        machines={name: changed.get(one.key, one) for name, one in case.machines.items()},
    )


def priced(offer: Offer, usd_per_hour: Decimal) -> Offer:
    """Change the price of a node-hour; of a commitment the hourly and the upfront part alike.

    The upfront part takes what rounding the hourly one leaves, up to a whole micro-dollar.
    """
    before = spread_usd_per_hour(offer)
    commitment = offer.commitment
    if commitment is None or not commitment.upfront_usd or not before:
        return offer.model_copy(update={"usd_per_hour": usd_per_hour.quantize(MICRO_USD)})
    hourly = (offer.usd_per_hour * usd_per_hour / before).quantize(MICRO_USD)
    upfront = (usd_per_hour - hourly) * committed_hours(offer)
    return offer.model_copy(
        update={
            "usd_per_hour": hourly,
            "commitment": commitment.model_copy(
                update={"upfront_usd": upfront.quantize(MICRO_USD, rounding=ROUND_CEILING)}
            ),
        }
    )


def spread_usd_per_hour(offer: Offer) -> Decimal:
    """Spread the upfront part over the term, without rounding."""
    if offer.commitment is None:
        return offer.usd_per_hour
    return offer.usd_per_hour + offer.commitment.upfront_usd / committed_hours(offer)


def offer_of(case: Case, key: str) -> Offer | None:
    """Find an offer of a case by its key."""
    return next((one for one in case.offers if one.key == key), None)


def rents_beside_commitments(case: Case, key: str) -> bool:
    """Say whether an offer's price decides when commitments of its machine pay for themselves.

    That is the on-demand price of a machine with commitments that outlive the horizon.
    """
    offer = offer_of(case, key)
    if offer is None or offer.price_kind is not PriceKind.ON_DEMAND:
        return False
    horizon_h = Decimal(str(case.workloads.horizon.hours))
    return any(
        one.machine == offer.machine and committed_hours(one) > horizon_h for one in case.offers
    )
