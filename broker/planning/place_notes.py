"""What a plan must say about places: `us` is a continent in rules on regions, and a country."""

from collections.abc import Iterable, Iterator

from broker.domain.offer import Offer
from broker.domain.place_names import region_names
from broker.domain.policy import AllowDeny

_NORTH_AMERICA = _UNITED_STATES = "us"
_BESIDE = ("ca", "mx")
"""The other countries of the continent that have regions."""


def place_notes(regions: AllowDeny, used: Iterable[Offer]) -> Iterator[str]:
    """Name what stands outside the United States and is allowed by `us`, the continent, alone."""
    allowed = {name.lower() for name in regions.allow}
    if _UNITED_STATES not in allowed:
        return
    abroad = [
        one
        for one in used
        if (one.place.country or "").lower() != _UNITED_STATES
        and region_names(one) & allowed == {_NORTH_AMERICA}
    ]
    if not abroad:
        return
    unplaced = {one.place.region for one in abroad if one.place.country is None}
    stand = sorted({f"{one.provider}/{one.place.region} ({_country(one)})" for one in abroad})
    deny = ", ".join((*_BESIDE, *sorted(unplaced)))
    yield (
        "policy.regions.allow: us is North America, not the United States alone: the plan uses "
        f"{', '.join(stand)}; to leave them out add deny: [{deny}], to keep them name "
        "their countries beside us"
    )


def _country(offer: Offer) -> str:
    return offer.place.country or "country unknown"
