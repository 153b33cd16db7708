"""Rows of one sheet that say different things of one offer, and spot that is no cheaper.

Of two rows with one key the newest stands, as the older is what the price was. Of two of one day
the dearer stands: no plan should come out cheaper than its bill. A row without a date never
stands against one with a date.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from broker.domain.offer import Offer, PriceKind, Rejection
from providers.sheet.reasons import Reason


@dataclass(frozen=True, slots=True)
class Found:
    """An offer and the number of the row that it comes from."""

    row: int
    offer: Offer


def without_duplicates(found: Iterable[Found]) -> tuple[tuple[Found, ...], tuple[Rejection, ...]]:
    """Keep one offer a key, in the order of the sheet; the others are rejections."""
    kept: dict[str, Found] = {}
    rejected = []
    for one in found:
        known = kept.get(one.offer.key)
        better = known is None or _rank(one.offer) > _rank(known.offer)
        if known is not None:
            loser, winner = (known, one) if better else (one, known)
            rejected.append(_duplicate(loser.offer, winner.offer))
        if better:
            kept[one.offer.key] = one
    return tuple(sorted(kept.values(), key=lambda one: one.row)), tuple(rejected)


def without_dear_spot(found: Iterable[Found]) -> tuple[tuple[Found, ...], tuple[Rejection, ...]]:
    """Reject spot offers that cost as much as the same machine on demand, or more."""
    given = tuple(found)
    firm_usd = {
        one.offer.machine: one.offer.usd_per_hour
        for one in given
        if one.offer.price_kind is PriceKind.ON_DEMAND
    }
    dear = {
        one.offer.key: _dear(one.offer, firm_usd[one.offer.machine])
        for one in given
        if one.offer.price_kind is PriceKind.SPOT
        and one.offer.usd_per_hour >= firm_usd.get(one.offer.machine, Decimal("Infinity"))
    }
    return tuple(one for one in given if one.offer.key not in dear), tuple(dear.values())


def _dear(offer: Offer, firm_usd: Decimal) -> Rejection:
    return Rejection(
        provider=offer.provider,
        subject=offer.key,
        reason=str(Reason.SPOT_NOT_BELOW_ON_DEMAND),
        detail=f"spot {offer.usd_per_hour}, on demand {firm_usd} USD per hour",
    )


def _rank(offer: Offer) -> tuple[bool, datetime, Decimal]:
    seen = offer.provenance
    return not seen.undated, seen.observed_at, offer.effective_usd_per_hour


def _duplicate(loser: Offer, winner: Offer) -> Rejection:
    return Rejection(
        provider=loser.provider,
        subject=loser.key,
        reason=str(Reason.DUPLICATE_KEY),
        detail=f"{_said(loser)} gives way to {_said(winner)}",
    )


def _said(offer: Offer) -> str:
    seen = offer.provenance
    when = "undated" if seen.undated else f"{seen.observed_at:%Y-%m-%d}"
    return f"{offer.usd_per_hour} USD per hour ({when}, {seen.source})"
