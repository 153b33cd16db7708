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
    placed = _as_stated(_in_country(specs, place, stated.country), stated)
    return Located(placed, (said,) if nowhere and region else ())


def _in_country(specs: Specs, place: Place, country: str) -> Place:
    """Put a place into the country of a row, by code or name, and so onto its continent."""
    if not country:
        return place
    known = specs.place("", country)
    code = known.country or country
    continent = place.continent if code == place.country else known.continent
    return place.model_copy(update={"country": code, "continent": continent})


def _as_stated(place: Place, stated: StatedPlace) -> Place:
    update: dict[str, str | float] = {}
    if stated.continent:
        update["continent"] = str(stated.continent)
    if stated.latitude_deg is not None and stated.longitude_deg is not None:
        update["latitude_deg"] = stated.latitude_deg
        update["longitude_deg"] = stated.longitude_deg
    return place.model_copy(update=update) if update else place
