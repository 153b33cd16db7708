"""Google Cloud: no list has machines; their prices are summed from GPUs, cores, memory and disk.

Wire:   GET https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus (the Cloud Billing
        Catalog, v1), the API key in the header X-Goog-Api-Key, so that no address carries it.
        32 thousand SKUs, pages of 5000; `nextPageToken` names the next, empty at the end. There is
        no filter by region: a page that fails fails the provider, as parts would be missing.
Units:  dollars per hour of a GPU or a core (`h`), of a GiB (`GiBy.h`); local SSD per GiB and month
        (`GiBy.mo`), of 730 hours. A price is whole `units` and `nanos`, billionths; both count.
Kinds:  on demand; spot; resource commitments of one and three years, by the month, nothing
        upfront; DWS calendar mode, a capacity block; DWS flex-start, tier flex_start of spot: not
        reclaimed, but ended after seven days. No flexible commitments (by spend): the catalog has
        no price of them by machine, and Google's pages exclude machines with GPUs from them.
Quirks: the text names the part and the market, see labels.py. All parts are of one region, one
        market; where one is missing, or has two prices, the machine has none: it is never cheap.
        A4 and later bill one slice a GPU that has all of the machine in it; so do machines with
        a part of a G4 card, by eighths, which cost more than the like part of a whole one. SKUs
        are listed for regions without such machines: the table of where they are sold decides.
        Some machines have on-demand SKUs and are not sold so. `effectiveTime` is about the time
        of the call. What can be had, zones and the rate of preemptions need OAuth and a project.
Assumed: the local disk that comes with A2 Ultra and A3 machines is billed in every market; blocks
        of calendar mode are 1 to 90 days, booked up to 120 days ahead (as documented for TPUs), and
        the names of their core, memory and disk SKUs are formed as those of GPUs; GB200 and GB300
        slices are named as the B200's. Sustained-use discounts of N1 are not counted.
"""

from collections.abc import Iterable, Iterator

import httpx

from broker.domain.errors import ProviderError
from broker.domain.offer import Offer, Rejection
from broker.specs.load import Specs
from providers.gcp.machines import NAME
from providers.gcp.offers import machine_offers
from providers.gcp.prices import PriceBook, rejection
from providers.gcp.wire import KEY_HEADER, SKUS_URL, USD, NextPage, Page, Problem
from providers.kit.access import Access
from providers.kit.adapter import provenance
from providers.kit.parse import Unreadable, parse

PAGE_SIZE = 5000


class GcpCloud:
    """Adapter for Compute Engine's machines with GPUs."""

    name = NAME
    keys: tuple[str, ...] = ("api_key",)

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._access = access

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        """Ask for all pages, one after the other.

        Raises:
            ProviderError: a page names one as the next that was already asked for.
        """
        token = ""
        asked: set[str] = set()
        while True:
            reply = http.get(
                SKUS_URL, params=_parameters(token), headers=self._access.header(KEY_HEADER)
            )
            yield reply
            asked.add(token)
            token = parse(NextPage, reply).next_page_token
            if not token:
                return
            if token in asked:
                raise ProviderError(
                    f"{SKUS_URL}: page {token!r} is named as the next of its own followers",
                    hint="try again; if it stays, the provider's API has changed",
                )

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Price every known machine in every region and market that lists its parts.

        Raises:
            ProviderError: a page is no list of SKUs.
        """
        book = PriceBook()
        for page, reply in enumerate(replies, start=1):
            seen = provenance(reply)
            for line, sku in enumerate(parse(Page, reply).skus, start=1):
                if isinstance(sku, Unreadable):
                    yield rejection(f"page {page}, SKU {line}", Problem(sku.reason, sku.detail))
                else:
                    yield from book.add(sku, seen)
        yield from machine_offers(book, self._specs, self._access.regions)


def _parameters(token: str) -> dict[str, str | int]:
    page = {"pageToken": token} if token else {}
    return {"currencyCode": USD, "pageSize": PAGE_SIZE, **page}
