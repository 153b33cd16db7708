"""Parallel file systems: what several nodes write checkpoints to and read their data from.

Throughput comes with capacity, so one is bought for whichever asks for more:

    GB = max(least, size, throughput ÷ throughput per TB)    USD a month = GB × price

and of a region's classes the one that then costs least is taken. A provider whose file storage has
a price but no stated throughput is taken to give no more than the slowest class of the table; where
nothing is stated at all, the price is that of the dearest region of the table. Both are `assumed`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from broker.domain.offer import Place
from broker.specs.areas import area, areas_of
from broker.specs.facts import KeptPrice
from broker.specs.storage import USUAL, StorageTable
from broker.specs.tables import Row, read_table, text

_GB_PER_TB = 1000


@dataclass(frozen=True, slots=True)
class FileSystemClass:
    """A class of parallel file system: its price, and the throughput that each TB brings."""

    gb_per_s_per_tb: Decimal
    least_gb: Decimal
    usd_per_gb_month: Decimal
    assumed: bool

    def kept(self, gb: Decimal, gb_per_s: Decimal) -> KeptPrice:
        """Price what holds so much and is so fast, for a month."""
        for_speed = gb_per_s / self.gb_per_s_per_tb * _GB_PER_TB
        return KeptPrice(max(self.least_gb, gb, for_speed) * self.usd_per_gb_month, self.assumed)


@dataclass(frozen=True, slots=True)
class FileSystems:
    """Classes by (provider, area), and the prices of storage that they stand beside."""

    classes: Mapping[tuple[str, str], tuple[FileSystemClass, ...]]
    storage: StorageTable

    def price(self, provider: str, place: Place, *, gb: Decimal, gb_per_s: Decimal) -> KeptPrice:
        """Price the cheapest file system of a region that is large and fast enough."""
        for one in areas_of(place):
            if (provider, one) in self.classes:
                return _cheapest(self.classes[provider, one], gb, gb_per_s)
        plain = self.storage.price(provider, place, "file", USUAL)
        if plain is not None:
            slowest = min(one.gb_per_s_per_tb for own in self.classes.values() for one in own)
            usd = plain.usd_per_gb_month
            return FileSystemClass(slowest, Decimal(0), usd, assumed=True).kept(gb, gb_per_s)
        known = (_cheapest(own, gb, gb_per_s) for own in self.classes.values())
        return KeptPrice(max(one.usd_per_month for one in known), assumed=True)


def read_file_systems(storage: StorageTable) -> FileSystems:
    """Read the classes of parallel file systems."""
    found: dict[tuple[str, str], list[FileSystemClass]] = {}
    for row in read_table("parallel_storage.csv"):
        key = (text(row, "provider"), area(text(row, "region")))
        found.setdefault(key, []).append(_class(row))
    return FileSystems({key: tuple(own) for key, own in found.items()}, storage)


def _class(row: Row) -> FileSystemClass:
    return FileSystemClass(
        gb_per_s_per_tb=Decimal(text(row, "gb_per_s_per_tb")),
        least_gb=Decimal(text(row, "least_gb")),
        usd_per_gb_month=Decimal(text(row, "usd_per_gb_month")),
        assumed=text(row, "assumed") == "true",
    )


def _cheapest(classes: Iterable[FileSystemClass], gb: Decimal, gb_per_s: Decimal) -> KeptPrice:
    return min((one.kept(gb, gb_per_s) for one in classes), key=lambda one: one.usd_per_month)
