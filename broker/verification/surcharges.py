"""Surcharges: what is paid for nodes beside the price of their offers, by the policy."""

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from broker.domain.case import Case
from broker.domain.certifications import certification_code
from broker.domain.offer import Offer
from broker.domain.surcharge import Surcharge
from broker.verification.isolation import sold_tier

_MICRO = 1_000_000


def at_paid_prices(case: Case) -> Case:
    """Raise the prices of a case's offers by what the policy's surcharges add to each.

    A surcharge is due where provider, region and one certification are among those it names; what
    it does not name is not asked for. The rates of all that are due are added up.
    """
    surcharges = case.workloads.policy.surcharges
    if not surcharges:
        return case
    return replace(case, offers=tuple(_paid(offer, surcharges) for offer in case.offers))


def _paid(offer: Offer, surcharges: Iterable[Surcharge]) -> Offer:
    factor = 1 + sum((Fraction(one.rate) for one in surcharges if _is_due(one, offer)), Fraction(0))
    if factor == 1:
        return offer
    terms = offer.commitment
    if terms is not None:
        terms = terms.model_copy(update={"upfront_usd": _raised(terms.upfront_usd, factor)})
    price = _raised(offer.usd_per_hour, factor)
    return offer.model_copy(update={"usd_per_hour": price, "commitment": terms})


def _raised(usd: Decimal, factor: Fraction) -> Decimal:
    return Decimal(round(Fraction(usd) * factor * _MICRO)).scaleb(-6)


def _is_due(surcharge: Surcharge, offer: Offer) -> bool:
    place = offer.place
    regions = (
        place.continent,
        place.country,
        place.region,
        f"{offer.provider}/{place.region}",
        place.partition,
    )
    asked = (
        (surcharge.providers, (offer.provider, f"{offer.provider}:{sold_tier(offer)}")),
        (surcharge.regions, regions),
    )
    if not all(not wanted or _folded(wanted) & _folded(held) for wanted, held in asked):
        return False
    wanted = {certification_code(name) for name in surcharge.certifications}
    return not wanted or not wanted.isdisjoint(map(certification_code, offer.certifications))


def _folded(names: Iterable[str | None]) -> set[str]:
    return {name.casefold() for name in names if name}
