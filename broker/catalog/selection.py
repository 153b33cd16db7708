"""Which offers of a listing are asked for, in which order: masks and sorts over its columns.

Nothing unknown passes a filter: a machine of which no fabric is known has no fast one.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from broker.catalog.listing import JOINT, Listing, Name, Number, Numbers, Positions

_Mask = NDArray[np.bool_]
_SLACK = 1e-9  # of a bound: what a product of two floats may fall short of it


@dataclass(frozen=True, slots=True)
class Selection:
    """What is asked for; all of it must hold.

    `names` has what a column may say, in lower case, `places` what the region or the zone may.
    `certifications`, as `simple` writes them, must all be stated. `least` and `most` bound numbers;
    memory is held against them in the GB that a GPU is sold with, of which `sold_gb_per_gib` has
    the ratio to its GiB.
    """

    names: Mapping[Name, frozenset[str]] = field(default_factory=dict)
    places: frozenset[str] = frozenset()
    certifications: frozenset[str] = frozenset()
    terms: frozenset[int] = frozenset()
    least: Mapping[Number, float] = field(default_factory=dict)
    most: Mapping[Number, float] = field(default_factory=dict)
    sold_gb_per_gib: Mapping[str, float] = field(default_factory=dict)
    held: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """The figure that offers are ordered by, least first.

    A price, by a number of the offer if `per` names one, or by the units that its GPU has if there
    are `units`. An offer without the figure comes last.
    """

    price: Number = Number.GPU_HOUR
    per: Number | None = None
    units: Mapping[str, float] | None = None


def simple(name: str) -> str:
    """Write a name in the one way in which "SOC 2", "soc-2" and "soc2" are the same."""
    return re.sub(r"[^a-z0-9]+", "", name.lower())


def select(listing: Listing, wanted: Selection) -> Positions:
    """Find the offers that are asked for, in the order of their keys."""
    mask = np.ones(len(listing), np.bool_)
    for condition in _conditions(listing, wanted):
        mask &= condition
    return np.flatnonzero(mask)


def ranked(
    listing: Listing, found: Positions, order: Order, *, most: int | None = None
) -> Positions:
    """Order what was found and keep `most` of it.

    Equals to the micro-dollar are ordered by the price of the node, then the more useful machine
    (more GPU memory, a faster fabric, more vCPUs, more host memory), then the key.
    """
    figure = _figure(listing, found, order)
    if most is not None and 0 < most < len(found):
        last = np.partition(figure, most - 1)[most - 1]
        kept = ~(figure > last)  # NaN stays, where there are too few figures
        found, figure = found[kept], figure[kept]
    rows = np.lexsort(
        (
            -listing.numbers(Number.HOST_MEMORY_GIB)[found],
            -listing.numbers(Number.VCPUS)[found],
            -listing.numbers(Number.FABRIC_GBIT_PER_S)[found],
            -listing.numbers(Number.MEMORY_GIB)[found],
            listing.numbers(Number.NODE_HOUR)[found],
            figure,
        )
    )
    return found[rows[:most]]


def first_of_each(listing: Listing, found: Positions, column: Name) -> Positions:
    """Keep the first offer of each name of a column, in their order."""
    _, first = np.unique(listing.named(column).codes[found], return_index=True)
    return found[np.sort(first)]


def _conditions(listing: Listing, wanted: Selection) -> Iterator[_Mask]:
    held = listing.named(Name.HELD).any_of(frozenset({""}))
    yield ~held if wanted.held else held
    for column, names in wanted.names.items():
        yield listing.named(column).any_of(names)
    if wanted.places:
        region, zone = listing.named(Name.REGION), listing.named(Name.ZONE)
        yield region.any_of(wanted.places) | zone.any_of(wanted.places)
    if wanted.certifications:
        stated = listing.named(Name.CERTIFICATIONS)
        fitting = (name for name in stated.names if wanted.certifications <= _parts(name))
        yield stated.any_of(frozenset(name.lower() for name in fitting))
    if wanted.terms:
        yield np.isin(listing.numbers(Number.TERM_MONTHS), sorted(wanted.terms))
    for number, bound in wanted.least.items():
        yield _held_to(listing, number, wanted.sold_gb_per_gib) >= bound * (1 - _SLACK)
    for number, bound in wanted.most.items():
        yield _held_to(listing, number, wanted.sold_gb_per_gib) <= bound * (1 + _SLACK)


def _parts(joined: str) -> frozenset[str]:
    return frozenset(simple(name) for name in joined.split(JOINT))


def _held_to(listing: Listing, number: Number, sold_gb_per_gib: Mapping[str, float]) -> Numbers:
    values = listing.numbers(number)
    if number not in {Number.GPU_MEMORY_GIB, Number.MEMORY_GIB}:
        return values
    return values * _by_gpu(listing, sold_gb_per_gib, otherwise=1.0)


def _by_gpu(listing: Listing, of: Mapping[str, float], *, otherwise: float) -> Numbers:
    gpu = listing.named(Name.GPU)
    return np.array([of.get(name, otherwise) for name in gpu.names], np.float64)[gpu.codes]


def _figure(listing: Listing, found: Positions, order: Order) -> Numbers:
    """Give the figure in whole micro-dollars, as it is shown."""
    price = listing.numbers(order.price)[found]
    if order.per is not None:
        price = price / listing.numbers(order.per)[found]
    if order.units is not None:
        price = price / _by_gpu(listing, order.units, otherwise=np.nan)[found]
    return np.rint(price)
