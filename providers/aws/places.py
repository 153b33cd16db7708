"""Regions by the names of AWS's pricing pages, which write one region in several ways.

The list of locations says "EU (Stockholm)" and "Asia Pacific (Sydney)", the page of the capacity
blocks "Europe (Stockholm)" and "Australia (Sydney)": what both agree on stands in the brackets.
"""

import re
import unicodedata
from collections.abc import Mapping

import httpx

from providers.aws.feeds import Locations, parse_feed
from providers.aws.wire import is_elsewhere
from providers.kit.parse import Unreadable

_REGION = "AWS Region"
_IN_BRACKETS = re.compile(r"\(([^()]+)\)")
_LOCAL_ZONES: Mapping[str, str] = {
    "us east (dallas) local zone": "us-east-1-dfw-2",
    "dallas local zone (us east n. virginia)": "us-east-1-dfw-2",
    "us east (atlanta) local zone": "us-east-1-atl-2",
    "us west (phoenix) local zone": "us-west-2-phx-2",
}
"""Local zones that sell capacity blocks; a city may have two zones, so no list tells which.

The zones are named in github:koyakimu/ec2-capacity-blocks-for-ml-pricing-json, src/parser.py.
"""


class Places:
    """The regions of the commercial partition, by code and by name."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        """The name of each region by its code, as the feeds of the on-demand page take it."""
        self._codes = {_plain(name): code for code, name in names.items()}
        cities = [(_city(name), code) for code, name in names.items()]
        known = [city for city, _ in cities]
        self._cities = {city: code for city, code in cities if city and known.count(city) == 1}

    def code(self, name: str) -> str | None:
        """Give the code of a region or zone by its name, None where that is not certain."""
        plain = _plain(name)
        if "local zone" in plain:
            return _LOCAL_ZONES.get(plain)
        return self._codes.get(plain) or self._cities.get(_city(name))


def places_of(reply: httpx.Response) -> Places:
    """Read the list of locations.

    Raises:
        ProviderError: it has another form.
    """
    known = parse_feed(Locations, reply).root.values()
    return Places(
        {
            one.code: one.name
            for one in known
            if not isinstance(one, Unreadable)
            and one.type == _REGION
            and not is_elsewhere(one.code)
        }
    )


def _city(name: str) -> str:
    found = _IN_BRACKETS.search(name)
    return _plain(found[1]) if found else ""


def _plain(name: str) -> str:
    """Write a name without accents, doubled spaces and capitals."""
    letters = unicodedata.normalize("NFKD", name)
    bare = "".join(one for one in letters if not unicodedata.combining(one))
    return " ".join(bare.lower().split())
