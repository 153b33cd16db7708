"""Where a row's machine stands: what the row says, else what the tables know of its region.

A text that names no one place ("global", "EU / US") is no region.
"""

from dataclasses import dataclass

from broker.domain.offer import UNKNOWN_REGION, Place
from broker.specs.load import Specs
from providers.sheet.rows import TIERS, StatedPlace

_NOWHERE = frozenset({"", "any", "default", "unknown", "worldwide", "n/a", "none", *TIERS})


@dataclass(frozen=True, slots=True)
class Located:
    """A place, and what a person should know of it."""

    place: Place
    warnings: tuple[str, ...] = ()


def locate(specs: Specs, provider: str, stated: StatedPlace) -> Located:
    """Place a machine; a region that names no one place becomes `unknown`."""
    region = stated.region
    nowhere = region.lower() in _NOWHERE or region.lower().startswith("global") or "/" in region
    place = specs.place(provider, UNKNOWN_REGION if nowhere else region, stated.zone or None)
    said = f"the sheet's region {region!r} names no one place"
    return Located(_as_stated(place, stated), (said,) if nowhere and region else ())


def _as_stated(place: Place, stated: StatedPlace) -> Place:
    update: dict[str, str | float] = {}
    if stated.country:
        update["country"] = stated.country
    if stated.continent:
        update["continent"] = str(stated.continent)
    if stated.latitude_deg is not None and stated.longitude_deg is not None:
        update["latitude_deg"] = stated.latitude_deg
        update["longitude_deg"] = stated.longitude_deg
    return place.model_copy(update=update) if update else place
