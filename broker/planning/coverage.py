"""What a catalog covers: offers by provider, GPU and price kind, how old they are, what is held."""

import math
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from broker.catalog.listing import Listing, Name, Named, Number
from broker.domain.offer import PriceKind
from broker.planning.freshness import AGELESS, Freshness
from broker.reports.rows import CoverageRow

_S_PER_H = 3600
_KIND_ORDER = {kind.value: place for place, kind in enumerate(PriceKind)}


def coverage_rows(listing: Listing, freshness: Freshness) -> tuple[CoverageRow, ...]:
    """Count each cell of the matrix provider × GPU × price kind that has an offer, held or not."""
    axes = [listing.named(one) for one in (Name.PROVIDER, Name.GPU, Name.PRICE_KIND)]
    cells, cell_of = np.unique(
        np.stack([axis.codes for axis in axes], axis=1), axis=0, return_inverse=True
    )
    cell_of = cell_of.reshape(-1)
    passed = listing.named(Name.HELD).any_of(frozenset({""}))
    size, standing = len(cells), cell_of[passed]
    seen = listing.numbers(Number.OBSERVED_S)[passed]
    offers = np.bincount(standing, minlength=size)
    stale = np.bincount(standing, stale_offers(listing, freshness)[passed], minlength=size)
    newest, oldest = np.full(size, -np.inf), np.full(size, np.inf)
    np.maximum.at(newest, standing, seen)
    np.minimum.at(oldest, standing, seen)
    evidence = _counts(listing.named(Name.EVIDENCE), cell_of, passed)
    held = _counts(listing.named(Name.HELD), cell_of, ~passed)
    rows = [
        CoverageRow(
            provider=axes[0].names[codes[0]],
            gpu=axes[1].names[codes[1]],
            price_kind=axes[2].names[codes[2]],
            offers=int(offers[cell]),
            stale=int(stale[cell]),
            newest_age_h=_age_h(float(newest[cell]), freshness.as_of),
            oldest_age_h=_age_h(float(oldest[cell]), freshness.as_of),
            evidence=evidence.get(cell, {}),
            quarantined=held.get(cell, {}),
        )
        for cell, codes in enumerate(cells.tolist())
    ]
    return tuple(sorted(rows, key=lambda row: (row.provider, row.gpu, _place(row.price_kind))))


def stale_offers(listing: Listing, freshness: Freshness) -> NDArray[np.bool_]:
    """Mark what is too old to plan with, by the rule of `is_stale`."""
    now_s = freshness.as_of.timestamp()
    last_s = listing.numbers(Number.VALID_UNTIL_S)
    is_spot = listing.named(Name.PRICE_KIND).any_of(frozenset({PriceKind.SPOT.value}))
    limit_s = np.where(is_spot, freshness.spot.total_seconds(), freshness.other.total_seconds())
    is_old = now_s - listing.numbers(Number.OBSERVED_S) > limit_s
    ages = ~listing.named(Name.EVIDENCE).any_of(frozenset(one.value for one in AGELESS))
    return (last_s <= now_s) | (is_old & ages)  # no end of its own is NaN, and never past


def _counts(
    column: Named, cell_of: NDArray[np.intp], mask: NDArray[np.bool_]
) -> Mapping[int, Mapping[str, int]]:
    """Count the names of a column in each cell, of the offers of a mask."""
    pairs, counts = np.unique(
        np.stack([cell_of[mask], column.codes[mask]], axis=1), axis=0, return_counts=True
    )
    found: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for (cell, code), count in zip(pairs.tolist(), counts.tolist(), strict=True):
        found[cell][column.names[code]] = count
    return {cell: dict(sorted(by_name.items())) for cell, by_name in found.items()}


def _place(kind: str) -> int:
    return _KIND_ORDER.get(kind, len(_KIND_ORDER))


def _age_h(seen_s: float, now: datetime) -> float | None:
    return round((now.timestamp() - seen_s) / _S_PER_H, 1) if math.isfinite(seen_s) else None
