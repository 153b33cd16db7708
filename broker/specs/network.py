"""Distance: how long a round trip takes, and what it costs to move data away.

    rtt = 2 × distance × path factor ÷ speed in fibre + access

Light in fibre runs at 200,000 km/s (index 1.47). The path factor (cables are longer than the
great circle) and the access time (last mile, routers, TLS ended) are assumptions, set to public
round-trip tables: 70 to 80 ms New York to London, 85 to 95 ms to Frankfurt, 60 to 70 ms across
the United States, about 10 ms to Virginia. Expect ±20 %; routes to Africa and within Asia are
often worse.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from broker.domain.offer import UNKNOWN_REGION
from broker.specs.facts import EgressPrice
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
    """Prices by (provider, region in lower case, kind); an empty provider or region is any.

    Each price is the highest tier that is paid, so that a volume discount never hides a cost.
    """

    prices: Mapping[tuple[str, str, str], EgressPrice]

    def price(
        self, from_provider: str, from_region: str, *, to_provider: str, to_region: str
    ) -> EgressPrice:
        """Price one GB that leaves the first region for the second."""
        here, there = from_region.strip().lower(), to_region.strip().lower()
        known = UNKNOWN_REGION not in (here, there) and "" not in (here, there)
        if known and from_provider == to_provider:
            if here == there:
                return EgressPrice(Decimal(0), assumed=False, source="inside one region")
            within = self._first("inter_region", from_provider, here)
            if within is not None:
                return within
        outside = self._first("internet", from_provider, here)
        return outside or self.prices["", "", "internet"]

    def _first(self, kind: str, provider: str, region: str) -> EgressPrice | None:
        exact = self.prices.get((provider, region, kind))
        return exact or self.prices.get((provider, "", kind))


def read_egress() -> EgressTable:
    """Read the prices of moving data."""
    return EgressTable(
        {
            (text(row, "provider"), text(row, "region").lower(), text(row, "kind")): _price(row)
            for row in read_table("egress.csv")
        }
    )


def _price(row: Row) -> EgressPrice:
    return EgressPrice(
        usd_per_gb=Decimal(text(row, "usd_per_gb")),
        assumed=text(row, "assumed") == "true",
        source=text(row, "source"),
    )
