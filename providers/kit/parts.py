"""A catalog that comes in parts, one of which could not be had: the rest is used, that part kept.

    for region in regions:
        yield from or_missing(partial(http.get, url(region)), Missing(self.name, region=region))

`fetch` yields what it has: replies, and a `Missing` for each part that failed. The reader of a
refresh hands the replies to `offers_in` and lets the offers that a missing part covers stand as
they last were, with their age. Where every part is missing, the provider has failed.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import httpx

from broker.domain.errors import ProviderError
from broker.domain.offer import Offer, PriceKind


@dataclass(frozen=True, slots=True)
class Missing:
    """The offers that could not be had: of one region or of all, of some price kinds or of all."""

    provider: str
    region: str | None = None
    price_kinds: tuple[PriceKind, ...] = ()
    why: str = ""

    def covers(self, offer: Offer) -> bool:
        """Tell whether an offer belongs to the missing part."""
        return self.region in (None, offer.place.region) and (
            not self.price_kinds or offer.price_kind in self.price_kinds
        )


def or_missing(
    ask: Callable[[], httpx.Response], part: Missing
) -> Iterator[httpx.Response | Missing]:
    """Ask for one part; where the provider fails, name the part and why."""
    try:
        yield ask()
    except ProviderError as failure:
        yield replace(part, why=str(failure))


def replies_only(
    fetched: Iterable[httpx.Response | Missing], missing: list[Missing]
) -> Iterator[httpx.Response]:
    """Hand the replies on, and put the missing parts into `missing`."""
    for one in fetched:
        if isinstance(one, Missing):
            missing.append(one)
        else:
            yield one
