"""Asking Azure's price list: one question a GPU series, page after page, as fast as it allows."""

import time
from collections.abc import Callable, Iterator

import httpx

from broker.domain.errors import ProviderError
from providers.azure.wire import SERVICE, Page
from providers.kit.parse import parse

API = httpx.URL("https://prices.azure.com/api/retail/prices")
API_VERSION = "2023-01-01-preview"
SERIES = ("Standard_ND", "Standard_NC", "Standard_NV")
"""Prefixes of the sizes with GPUs for compute; NG (gaming) and NP (FPGA) are left out."""

PAUSE_S = 3.0
BLOCK_S = 60.0

_REMAINING = "x-ms-ratelimit-remaining-retailPrices-requests"
_RETRY_AFTER = "x-ms-ratelimit-retailPrices-retry-after"
_HOSTS = ("https://prices.azure.com/", "https://prices.azure.com:443/")


class Pace:
    """Spaces requests as the headers of each reply ask; `pause` waits, in seconds."""

    def __init__(self, pause: Callable[[float], None] = time.sleep) -> None:
        self._pause = pause
        self._wait_s = 0.0

    def wait(self) -> None:
        """Wait until the next request may be sent."""
        if self._wait_s:
            self._pause(self._wait_s)

    def note(self, reply: httpx.Response) -> None:
        """Read how long to wait; a reply without the headers (a recording) asks for no pause."""
        remaining = reply.headers.get(_REMAINING)
        asked = reply.headers.get(_RETRY_AFTER, "")
        if remaining is None:
            self._wait_s = 0.0
        elif remaining.isdecimal() and int(remaining) > 0:
            self._wait_s = PAUSE_S
        else:
            self._wait_s = float(asked) if asked.isdecimal() else BLOCK_S


def first_page(series: str) -> httpx.URL:
    """Write the question for all prices of the sizes whose name has this prefix."""
    wanted = f"serviceName eq '{SERVICE}' and contains(armSkuName, '{series}')"
    return API.copy_with(
        params={"api-version": API_VERSION, "currencyCode": "USD", "$filter": wanted}
    )


def pages(http: httpx.Client, series: str, pace: Pace) -> Iterator[httpx.Response]:
    """Ask for all pages of a series.

    Raises:
        ProviderError: a page cannot be had or read, or links to another host or back.
    """
    page: httpx.URL | None = first_page(series)
    read: set[httpx.URL] = set()
    while page is not None:
        pace.wait()
        reply = http.get(page)
        link = parse(Page, reply).next_page
        yield reply
        read.add(page)
        pace.note(reply)
        page = _linked(link, read) if link else None


def _linked(link: str, read: set[httpx.URL]) -> httpx.URL:
    page = httpx.URL(link) if link.startswith(_HOSTS) else None
    if page is None or page in read:
        raise ProviderError(
            f"azure: NextPageLink {link!r} leads to another host or back to a page already read",
            hint="try again; if it stays, the provider's API has changed and gpubroker must follow",
        )
    return page
