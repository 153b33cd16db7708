"""A part of a provider's catalog that could not be had, while the rest could."""

from dataclasses import dataclass

from broker.domain.offer import Offer, PriceKind


@dataclass(frozen=True, slots=True)
class Missing:
    """The offers that could not be had: of one region or of all, of some price kinds or of all."""

    provider: str
    region: str | None = None
    price_kinds: tuple[PriceKind, ...] = ()
    why: str = ""

    @property
    def part(self) -> str:
        """Name the part for a person: us-east-1 (spot), all regions (on_demand, spot)."""
        kinds = f" ({', '.join(self.price_kinds)})" if self.price_kinds else ""
        return f"{self.region or 'all regions'}{kinds}"

    def covers(self, offer: Offer) -> bool:
        """Tell whether an offer belongs to the missing part."""
        return self.region in (None, offer.place.region) and (
            not self.price_kinds or offer.price_kind in self.price_kinds
        )
