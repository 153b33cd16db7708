"""What the catalog says at one of its instants."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from broker.catalog.gates import Quarantined
from broker.domain.offer import Offer


@dataclass(frozen=True, slots=True)
class CatalogState:
    """What the catalog says at one of its instants; offers in the order of their keys."""

    at: datetime
    offers: tuple[Offer, ...]
    quarantined: tuple[Quarantined, ...]

    @property
    def shown(self) -> tuple[Offer, ...]:
        """List every offer, held back or not."""
        return (*self.offers, *(one.offer for one in self.quarantined))


def by_provider(state: CatalogState) -> Iterator[tuple[str, CatalogState]]:
    """Split a catalog by provider, in the order of their names."""
    for provider in sorted({offer.provider for offer in state.shown}):
        yield (
            provider,
            CatalogState(
                state.at,
                tuple(one for one in state.offers if one.provider == provider),
                tuple(one for one in state.quarantined if one.offer.provider == provider),
            ),
        )
