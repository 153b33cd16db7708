"""The protocol of an adapter, what it tells the transports, and their stamps on each reply."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Protocol

import httpx

from broker.domain.offer import Evidence, Offer, Provenance, Rejection
from providers.kit.parts import Missing

OBSERVED_AT = "observed_at"
EVIDENCE = "evidence"
PASSING_STATUSES = "passing_statuses"
"""The extension of a request that names further statuses, final elsewhere, to be tried again."""

_SOURCE = "source"


class Adapter(Protocol):
    """One provider: `fetch` talks and nothing else, `offers_in` translates and nothing else."""

    name: str
    keys: tuple[str, ...]
    """The keys that it can use: `api_key` is the variable GPUBROKER_<NAME>_API_KEY."""

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response | Missing]:
        """Ask for every page or file, lazily; the transport has checked each status."""
        ...

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Translate replies; a row that is no offer becomes a rejection with its reason."""
        ...


def stamp(reply: httpx.Response, *, observed_at: datetime, evidence: Evidence) -> None:
    """Note on a reply when it was seen and how; every transport does this."""
    reply.extensions[OBSERVED_AT] = observed_at
    reply.extensions[EVIDENCE] = evidence


def provenance(reply: httpx.Response, effective_at: datetime | None = None) -> Provenance:
    """Read the stamps of a reply into the provenance of the offers in it."""
    if _SOURCE not in reply.extensions:  # a reply has thousands of offers and one address
        reply.extensions[_SOURCE] = str(reply.request.url.copy_with(query=None))
    return Provenance(
        source=reply.extensions[_SOURCE],
        observed_at=reply.extensions[OBSERVED_AT],
        evidence=reply.extensions[EVIDENCE],
        effective_at=effective_at,
    )
