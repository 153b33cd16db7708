"""Running an adapter on its recordings, whole, broken or altered, and on its sheet."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

import httpx
from reply_changes import Altered, ChangeBody, Remembering, changed, shortened

from broker.domain.errors import ProviderError
from broker.domain.offer import Commitment, Offer, Rejection
from providers.kit.adapter import Adapter
from providers.kit.http import live_client
from providers.kit.parts import Missing, replies_only
from providers.kit.recorded import RecordedTransport, Recording, recordings

NOW = datetime(2026, 11, 27, tzinfo=UTC)
LIMITED = (429, 503)
"""Statuses of a rate limit; S3 says 503."""

_ROWS = (20, 8, 3)
_FEW_OFFERS = 100

_Rows = tuple[Offer | Rejection, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """What an adapter made of replies; `unused` are recordings that it never asked for."""

    rows: _Rows
    missing: tuple[Missing, ...] = ()
    requests: tuple[httpx.Request, ...] = ()
    unused: tuple[str, ...] = ()

    @property
    def offers(self) -> list[Offer]:
        return [row for row in self.rows if isinstance(row, Offer)]

    @property
    def rejections(self) -> list[Rejection]:
        return [row for row in self.rows if isinstance(row, Rejection)]


def run_of(adapter: Adapter, transport: httpx.BaseTransport) -> Run:
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return transport.handle_request(request)

    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        rows, missing = _translated(adapter, http)
    unused = transport.unused() if requests and isinstance(transport, RecordedTransport) else ()
    return Run(rows, missing, tuple(requests), unused)


def live(adapter: Adapter, transport: httpx.BaseTransport, pauses: list[float]) -> Run:
    """Run an adapter through the transport that retries; what it waits goes into `pauses`."""
    with live_client(lambda: NOW, transport=transport, sleep=pauses.append) as http:
        return Run(*_translated(adapter, http))


def failures(adapter: Adapter, transport: httpx.BaseTransport) -> list[str]:
    """List what is said of a failure: the provider's with its hint, or each missing part's."""
    return said_of(attempt(adapter, transport))


def attempt(adapter: Adapter, transport: httpx.BaseTransport) -> Run | ProviderError:
    """Run an adapter through the transport that retries; give the failure where it fails."""
    try:
        return live(adapter, transport, [])
    except ProviderError as error:
        return error


def said_of(outcome: Run | ProviderError) -> list[str]:
    if isinstance(outcome, ProviderError):
        return [f"{outcome} ({outcome.hint})"]
    return [part.why for part in outcome.missing]


def few_rows(adapter: Adapter, transport: httpx.BaseTransport) -> httpx.BaseTransport:
    """Answer with few rows a list, so that a run takes little time and still gives offers."""
    chosen: httpx.BaseTransport = Remembering(transport)
    for most in _ROWS:
        few = Remembering(Altered(transport, shortened(most)))
        found = prices(adapter, few)
        chosen = few if found else chosen
        if len(found) <= _FEW_OFFERS:
            break
    return chosen


def prices(
    adapter: Adapter, transport: httpx.BaseTransport
) -> dict[str, tuple[Decimal, Commitment | None]]:
    """Give the prices that an adapter reads; none where it fails."""
    try:
        found = run_of(adapter, transport)
    except ProviderError:
        return {}
    return {one.key: (one.effective_usd_per_hour, one.commitment) for one in found.offers}


def run_sheet(adapter: Adapter, change: ChangeBody) -> Run:
    """Run an adapter whose reply lies in the package on a changed one."""

    def replies(http: httpx.Client) -> Iterator[httpx.Response]:
        for reply in replies_only(adapter.fetch(http), []):
            other = changed(reply, change)
            other.request = reply.request
            yield other

    with httpx.Client() as http:
        return Run(tuple(adapter.offers_in(replies(http))))


def recorded_failures(provider: str) -> list[Recording]:
    """List the recordings that only tests read and that are no success."""
    extra = [one for one in recordings(provider) if not one.replay]
    return [one for one in extra if one.response.status >= 400]


def _translated(adapter: Adapter, http: httpx.Client) -> tuple[_Rows, tuple[Missing, ...]]:
    missing: list[Missing] = []
    rows = tuple(adapter.offers_in(replies_only(adapter.fetch(http), missing)))
    return rows, tuple(missing)
