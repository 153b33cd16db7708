"""How old a price may be before it is shown and not planned with."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from broker.domain.offer import Evidence, Offer, PriceKind

AGELESS = frozenset({Evidence.SHEET, Evidence.EXAMPLE})
"""The evidence of prices that only their own last day makes old."""

NEVER = timedelta.max
"""The limit of recordings: they are for trying out, and are dated by their facts."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """How old a price may be, and the instant from which ages count."""

    as_of: datetime
    spot: timedelta
    other: timedelta

    def limit(self, kind: str) -> timedelta:
        """Give the age that a price of a kind may have."""
        return self.spot if kind == PriceKind.SPOT else self.other


def is_stale(offer: Offer, freshness: Freshness) -> bool:
    """Tell whether a price has come to its own end, or is older than its kind may be.

    `valid_until` is the first moment at which it no longer holds. A price that a provider was seen
    to ask ages all the same until then, as its list may change; a sheet's rows and examples do not.
    """
    seen = offer.provenance
    if seen.valid_until is not None and seen.valid_until <= freshness.as_of:
        return True
    if seen.evidence in AGELESS:
        return False
    return freshness.as_of - seen.observed_at > freshness.limit(offer.price_kind)
