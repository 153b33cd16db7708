"""Surcharges: what is paid beside the price of nodes, as for regulated or dedicated regions.

A provider may ask a part of the price more for nodes under a compliance programme, in a sovereign
or dedicated region, or a marketplace for selling them. What is on offer is the price without it.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Annotated

from pydantic import Field

from broker.domain.certifications import certification_code
from broker.domain.offer import Offer
from broker.domain.place_names import provider_names, region_names
from broker.domain.quantities import Frozen, quantize_usd


class Surcharge(Frozen):
    """A part of the price of nodes that is paid beside it, where all that is named here matches.

    `providers` and `regions` are named as in the policy's lists; of `certifications` the offer
    holds one at least. A list that is empty matches every offer.
    """

    rate: Annotated[Decimal, Field(gt=0, le=10)]
    providers: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    certifications: tuple[str, ...] = ()

    def is_on(self, offer: Offer) -> bool:
        """Say whether it is due for nodes of an offer."""
        held = {certification_code(name) for name in offer.certifications}
        asked = {certification_code(name) for name in self.certifications}
        return (
            _names(self.providers, provider_names(offer))
            and _names(self.regions, region_names(offer))
            and (not asked or bool(asked & held))
        )


def paid(offer: Offer, surcharges: Sequence[Surcharge]) -> Offer:
    """Give an offer at what is paid for it: rates of all surcharges on it add up.

    The hourly price and the upfront part are each rounded to the micro-dollar.
    """
    rate = sum((one.rate for one in surcharges if one.is_on(offer)), Decimal(0))
    if not rate:
        return offer
    changed: dict[str, object] = {"usd_per_hour": quantize_usd(offer.usd_per_hour * (1 + rate))}
    if offer.commitment is not None:
        upfront_usd = quantize_usd(offer.commitment.upfront_usd * (1 + rate))
        changed["commitment"] = offer.commitment.model_copy(update={"upfront_usd": upfront_usd})
    return offer.model_copy(update=changed)


def paid_by_key(offers: Iterable[Offer], surcharges: Sequence[Surcharge]) -> dict[str, Offer]:
    """Give offers at what is paid for them, by their keys."""
    return {offer.key: paid(offer, surcharges) for offer in offers}


def _names(wanted: Sequence[str], names: frozenset[str]) -> bool:
    return not wanted or any(one.lower() in names for one in wanted)
