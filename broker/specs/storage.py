"""Storage: what a GB costs that is kept for a month, beside a machine or away from it.

Kinds: `block` (a volume of one machine), `file` (a filesystem that several mount), `object` (a
bucket). A provider has several classes of a kind; the usual one is what a data set that is read
often would lie in. What no source states is unknown, never another region's price.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from broker.domain.offer import Place
from broker.specs.areas import area, areas_of
from broker.specs.facts import KeptPrice, StoragePrice
from broker.specs.tables import Row, read_table, text

USUAL = ""
"""Asks for the class that is marked as the usual one of its kind."""


@dataclass(frozen=True, slots=True)
class StorageTable:
    """Prices by (provider, area, kind, class in lower case)."""

    prices: Mapping[tuple[str, str, str, str], StoragePrice]

    def price(
        self, provider: str, place: Place, kind: str, storage_class: str
    ) -> StoragePrice | None:
        """Price a class of storage in a region; None where nothing states it."""
        wanted = storage_class.strip().lower()
        found = (self.prices.get((provider, one, kind, wanted)) for one in areas_of(place))
        return next((price for price in found if price is not None), None)

    def kept(self, provider: str, place: Place, kind: str, *, gb: Decimal) -> KeptPrice:
        """Price so many GB in the usual class; where unknown, as the dearest usual one known."""
        own = self.price(provider, place, kind, USUAL)
        if own is not None:
            return KeptPrice(gb * own.usd_per_gb_month, assumed=False)
        return KeptPrice(gb * self.dearest(kind), assumed=True)

    def dearest(self, kind: str) -> Decimal:
        """Give the highest price of a usual class of the kind, in USD per GB and month."""
        return max(
            price.usd_per_gb_month
            for (_, _, of_kind, storage_class), price in self.prices.items()
            if of_kind == kind and storage_class == USUAL
        )


def read_storage() -> StorageTable:
    """Read the prices of storage."""
    prices: dict[tuple[str, str, str, str], StoragePrice] = {}
    for row in read_table("storage.csv"):
        price = _price(row)
        key = (text(row, "provider"), area(text(row, "region")), text(row, "kind"))
        prices[*key, price.storage_class.lower()] = price
        if text(row, "usual") == "true":
            prices[*key, USUAL] = price
    return StorageTable(prices)


def _price(row: Row) -> StoragePrice:
    return StoragePrice(
        usd_per_gb_month=Decimal(text(row, "usd_per_gb_month")),
        storage_class=text(row, "class"),
        source=text(row, "source"),
    )
