"""Certifications of offers: what the tables hold of their provider, beside what they state.

A machine that another cloud runs is as certified as both are: the seller has the account and the
data about it, the operator has the machine.
"""

from collections.abc import Iterable

from broker.domain.certifications import certification_code
from broker.domain.offer import Offer
from broker.specs.load import Specs


def certified(offers: Iterable[Offer], specs: Specs) -> tuple[Offer, ...]:
    """Give offers the certifications that the tables state for where they are."""
    known: dict[tuple[str, str, str], tuple[str, ...]] = {}
    found = []
    for offer in offers:
        where = (offer.provider, offer.cloud, offer.place.region)
        if where not in known:
            known[where] = _held(*where, specs)
        found.append(_with(offer, known[where]))
    return tuple(found)


def _held(provider: str, cloud: str, region: str, specs: Specs) -> tuple[str, ...]:
    names = [{one.name for one in specs.certifications(of, region)} for of in (provider, cloud)]
    return tuple(sorted(names[0] & names[1]))


def _with(offer: Offer, names: tuple[str, ...]) -> Offer:
    stated = {certification_code(name) for name in offer.certifications}
    more = tuple(name for name in names if certification_code(name) not in stated)
    if not more:
        return offer
    return offer.model_copy(update={"certifications": (*offer.certifications, *more)})
