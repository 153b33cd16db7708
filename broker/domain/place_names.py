"""The names by which rules mean offers: of whom they are bought, and where they stand."""

from broker.domain.offer import Offer


def provider_names(offer: Offer) -> frozenset[str]:
    """Name whom a policy on providers may mean: the provider, or its tier; in lower case."""
    return frozenset({offer.provider.lower(), f"{offer.provider}:{offer.tier}".lower()})


def region_names(offer: Offer) -> frozenset[str]:
    """Name what a policy on regions may mean, in lower case.

    That is the continent, country, region, provider/region or partition.
    """
    place = offer.place
    names = {place.region, f"{offer.provider}/{place.region}", place.partition}
    names |= {one for one in (place.continent, place.country) if one is not None}
    return frozenset(name.lower() for name in names)
