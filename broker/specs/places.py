"""Places: where a provider's region lies, and where users sit.

A region is looked up by the provider's own id. Marketplaces write places in words ("Texas, US",
", CN, AS", "EU-RO-1"): those are read with the tables of countries and states. What neither tells
stays unknown.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from broker.domain.offer import UNKNOWN_REGION, Place
from broker.specs.facts import UserRegion
from broker.specs.tables import Row, number, read_table, text

_CONTINENTS = frozenset({"NA", "SA", "EU", "AS", "OC", "AF", "ME"})
_DATA_CENTRE = re.compile(r"^(?:EU|EUR|AP|SEA|OC|AF|ME|SA)-([A-Z]{2})-\d+$")
_DATA_CENTRE_OF_STATE = re.compile(r"^(US|CA)-([A-Z]{2,3})-\d+$")
_IN_BRACKETS = re.compile(r"\s*\([^)]*\)")
_GOVERNMENT = re.compile(r"^us-?(gov|dod)")
_CHINA = re.compile(r"^(cn-|china)")


@dataclass(frozen=True, slots=True)
class PlaceTable:
    """Regions by (provider, id in lower case); countries by code or name; states by country."""

    regions: Mapping[tuple[str, str], Row]
    countries: Mapping[str, Row]
    states: Mapping[tuple[str, str], Row]

    def place(self, provider: str, region: str, zone: str | None) -> Place:
        """Say where a region lies; one that nothing tells of keeps its id alone."""
        name = region.strip() or UNKNOWN_REGION
        row = self.regions.get((provider, name.lower()))
        if row is not None:
            return _placed(name, zone, row, row, partition=text(row, "partition"))
        country, state = self._in_words(name)
        partition = _partition(name)
        if country is None:
            return Place(region=name, zone=zone or None, partition=partition)
        return _placed(name, zone, country, state or country, partition=partition)

    def _in_words(self, name: str) -> tuple[Row | None, Row | None]:
        if match := _DATA_CENTRE.match(name):
            return self.countries.get(match[1].lower()), None
        if match := _DATA_CENTRE_OF_STATE.match(name):
            code = match[1].lower()
            return self.countries.get(code), self.states.get((code, match[2].lower()))
        words = _IN_BRACKETS.sub("", name).replace("_", " ")
        parts = [part.strip() for part in words.split(",") if part.strip()]
        if len(parts) > 1 and parts[-1] in _CONTINENTS and parts[-2].lower() in self.countries:
            parts.pop()
        country = self.countries.get(parts[-1].lower()) if parts else None
        if country is None or len(parts) == 1:
            return country, None
        return country, self.states.get((text(country, "country").lower(), parts[0].lower()))


def read_places() -> PlaceTable:
    """Read regions, countries and states."""
    regions = read_table("regions.csv")
    countries: dict[str, Row] = {}
    for row in read_table("countries.csv"):
        names = [text(row, "country"), text(row, "name"), *text(row, "other_names").split("|")]
        countries.update({name.lower(): row for name in names if name})
    states: dict[tuple[str, str], Row] = {}
    for row in read_table("subdivisions.csv"):
        for column in ("code", "name"):
            states[text(row, "country").lower(), text(row, column).lower()] = row
    return PlaceTable(
        regions={(text(row, "provider"), text(row, "region").lower()): row for row in regions},
        countries=countries,
        states=states,
    )


def read_user_regions() -> Mapping[str, UserRegion]:
    """Read the regions of users, by name."""
    rows = read_table("user_regions.csv")
    return {
        text(row, "name"): UserRegion(
            name=text(row, "name"),
            latitude_deg=float(text(row, "latitude_deg")),
            longitude_deg=float(text(row, "longitude_deg")),
        )
        for row in rows
    }


def _placed(name: str, zone: str | None, country: Row, point: Row, *, partition: str) -> Place:
    return Place(
        region=name,
        zone=zone or None,
        country=country["country"],
        continent=country["continent"],
        latitude_deg=number(point, "latitude_deg"),
        longitude_deg=number(point, "longitude_deg"),
        partition=partition,
    )


def _partition(name: str) -> str:
    lowered = name.lower()
    if _GOVERNMENT.match(lowered):
        return "government"
    return "china" if _CHINA.match(lowered) else "commercial"
