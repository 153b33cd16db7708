"""Distance: how long a round trip takes, and what it costs to move data away.

    rtt = 2 × distance × path factor ÷ speed in fibre + access

Light in fibre runs at 200,000 km/s (index 1.47). The path factor (cables are longer than the
great circle) and the access time (last mile, routers, TLS ended) are assumptions, set to public
round-trip tables: 70 to 80 ms New York to London, 85 to 95 ms to Frankfurt, 60 to 70 ms across
the United States, about 10 ms to Virginia. Expect ±20 %; routes to Africa and within Asia are
often worse.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from broker.domain.offer import Place
from broker.specs.areas import EVERYWHERE, area, areas_of, is_unknown
from broker.specs.facts import EgressPrice, EgressTier
from broker.specs.tables import Row, read_table, text

EARTH_RADIUS_KM = 6371.0
FIBRE_KM_PER_S = 200_000.0
PATH_FACTOR = 1.35
ACCESS_S = 0.005

Point = tuple[float, float]
"""Degrees of latitude and longitude."""


def round_trip_s(one: Point, other: Point) -> float:
    """Estimate the round trip between two points in seconds."""
    return 2 * great_circle_km(one, other) * PATH_FACTOR / FIBRE_KM_PER_S + ACCESS_S


def great_circle_km(one: Point, other: Point) -> float:
    """Measure the shortest way over the globe in km (haversine)."""
    (lat1, lon1), (lat2, lon2) = (tuple(map(math.radians, point)) for point in (one, other))
    half = math.sin((lat2 - lat1) / 2) ** 2
    half += math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(min(1.0, half)))


@dataclass(frozen=True, slots=True)
class EgressTable:
    """Prices by (provider, area that data leaves, area that it goes to, kind).

    A pair of regions has the price of the narrowest areas with a row, those of the origin first.
    What has no row at all is charged as internet egress, and said so.
    """

    prices: Mapping[tuple[str, str, str, str], EgressPrice]

    def price(
        self, from_provider: str, here: Place, *, to_provider: str, there: Place
    ) -> EgressPrice:
        """Price what leaves the first region for the second."""
        known = not is_unknown(here) and not is_unknown(there)
        if known and from_provider == to_provider:
            if area(here.region) == area(there.region):
                return EgressPrice(Decimal(0), assumed=False, source="inside one region")
            within = self._first(from_provider, here, there, "inter_region")
            if within is not None:
                return within
        outside = self._first(from_provider, here, there, "internet")
        found = outside or self.prices["", EVERYWHERE, EVERYWHERE, "internet"]
        return found if known else replace(found, assumed=True)

    def _first(self, provider: str, here: Place, there: Place, kind: str) -> EgressPrice | None:
        pairs = itertools.product(areas_of(here), areas_of(there))
        found = (self.prices.get((provider, *pair, kind)) for pair in pairs)
        return next((price for price in found if price is not None), None)


def read_egress() -> EgressTable:
    """Read the prices of moving data; the rows of one pair are its tiers."""
    rows: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in read_table("egress.csv"):
        pair = (area(text(row, "region")), area(text(row, "to")))
        rows.setdefault((text(row, "provider"), *pair, text(row, "kind")), []).append(row)
    return EgressTable({key: _price(tiers) for key, tiers in rows.items()})


def _price(rows: list[Row]) -> EgressPrice:
    tiers = sorted((_tier(row) for row in rows), key=_volume)
    return EgressPrice(
        usd_per_gb=max(tier.usd_per_gb for tier in tiers),
        assumed=any(text(row, "assumed") == "true" for row in rows),
        source=text(rows[0], "source"),
        tiers=tuple(tiers) if len(tiers) > 1 else (),
    )


def _tier(row: Row) -> EgressTier:
    up_to_gb = row["up_to_gb"]
    return EgressTier(
        up_to_gb=None if up_to_gb is None else Decimal(up_to_gb),
        usd_per_gb=Decimal(text(row, "usd_per_gb")),
    )


def _volume(tier: EgressTier) -> Decimal:
    return Decimal("Infinity") if tier.up_to_gb is None else tier.up_to_gb
