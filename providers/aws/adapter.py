"""AWS without an account: list prices, commitments, capacity blocks and regional spot prices.

Wire:  documented are the EC2 and savings plan region indexes and the files that they name: CSV,
       streamed, 300 to 500 MB each for a large region. The rest is what AWS's own pages read: the
       list of locations, the feed of the on-demand page (60 kB a region), the page of the capacity
       blocks, the spot feed (3 MB) and the Spot Advisor (1 MB).
Which: without GPUBROKER_AWS_REGIONS, the price and savings plan files of four regions (some 3 GB
       in all) and of all others the feeds alone, which know no commitments; with it, the files of
       the regions named, and nothing of others.
Units: US dollars per instance-hour, as text; upfront parts per instance.
Quirks: price files list capacity blocks at zero; one type comes in hundreds of rows; the feeds are
       not documented, so each may be missing without harm to the rest; the spot feed has old names
       for old regions, and one price for all zones. The index may be gone (404) for a moment.
Account: spot prices by zone (DescribeSpotPriceHistory) and the capacity blocks that can be had
       (DescribeCapacityBlockOfferings) need signed requests; they are not read.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from urllib.parse import quote

import httpx
from pydantic import BaseModel

from broker.domain.errors import ProviderError
from broker.domain.offer import Offer, PriceKind, Rejection
from broker.specs.load import Specs
from providers.aws.feeds import (
    BLOCKS_URL,
    EC2_FILES,
    LOCATIONS_URL,
    PAGE_FEEDS_URL,
    PRICE_HOST,
    REGION_INDEX_URL,
    SAVINGS_FILES,
    SAVINGS_INDEX_URL,
    SPOT_ADVISOR_URL,
    SPOT_FEED_URL,
    Locations,
    RegionFiles,
    RegionIndex,
    SavingsIndex,
    parse_feed,
)
from providers.aws.places import places_of
from providers.aws.reading import Files, Reading, region_problem, savings_paths
from providers.aws.wire import PROVIDER, Problem, rejection
from providers.kit.access import Access
from providers.kit.adapter import PASSING_STATUSES
from providers.kit.parse import Unreadable, parse
from providers.kit.parts import Missing, mark_unreadable, or_missing, unless_all_missing

FILED_REGIONS = ("us-east-1", "us-east-2", "us-west-2", "eu-west-1")
"""The regions whose files are read where the user names none."""

_Part = httpx.Response | Missing
_UNPLACED = Missing(PROVIDER, price_kinds=(PriceKind.ON_DEMAND, PriceKind.CAPACITY_BLOCK))
"""What cannot be read without the names of the regions."""


class AwsCloud:
    """Adapter for Amazon EC2 in the commercial partition."""

    name = PROVIDER
    keys: tuple[str, ...] = ()

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._regions = tuple(dict.fromkeys(access.regions))
        self._filed = self._regions or FILED_REGIONS

    def fetch(self, http: httpx.Client) -> Iterator[_Part]:
        """Ask for the EC2 index, and then for each part of the prices.

        A price file comes as an open stream, to be read before the next reply is asked for.

        Raises:
            ProviderError: the index cannot be had, or none of the parts.
        """
        index = http.get(REGION_INDEX_URL, extensions={PASSING_STATUSES: frozenset({404})})
        yield index
        files = parse(RegionIndex, index).regions
        yield from unless_all_missing(self._parts(http, files))

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Translate replies as they come, and the spot feed once all has been seen.

        A part that cannot be read is marked for `fetch`, which names it as missing.

        Raises:
            ProviderError: the EC2 index cannot be read.
        """
        reading = Reading(self._specs, regions=self._regions, filed=self._filed)
        for reply in replies:
            try:
                yield from reading.offers_in(reply)
            except ProviderError as failure:
                url = str(reply.request.url)
                if url == REGION_INDEX_URL:
                    raise
                mark_unreadable(reply, failure)
                yield rejection(url, Problem("unreadable_reply", str(failure)))
        yield from reading.spot_offers()

    def _parts(self, http: httpx.Client, files: Files) -> Iterator[_Part]:
        names: Mapping[str, str] = {}
        for part in _checked(http, LOCATIONS_URL, Locations, _UNPLACED):
            yield part
            names = places_of(part).names if isinstance(part, httpx.Response) else {}
        yield from _if_there(http, SPOT_ADVISOR_URL)
        yield from or_missing(partial(http.get, SPOT_FEED_URL), _kinds(PriceKind.SPOT))
        yield from or_missing(partial(http.get, BLOCKS_URL), _kinds(PriceKind.CAPACITY_BLOCK))
        savings: Mapping[str, str] = {}
        for part in _checked(http, SAVINGS_INDEX_URL, SavingsIndex, _kinds(PriceKind.SAVINGS_PLAN)):
            yield part
            savings = savings_paths(part) if isinstance(part, httpx.Response) else {}
        for region in self._filed:
            if region_problem(region, files) is None:
                yield from _files(http, region, _path(files[region]), savings.get(region))
        if not self._regions:
            yield from self._feeds(http, names, files)

    def _feeds(self, http: httpx.Client, names: Mapping[str, str], files: Files) -> Iterator[_Part]:
        """Ask for the on-demand feed of each region that has no file read."""
        for region, name in names.items():
            if region in files and region not in self._filed:
                url = f"{PAGE_FEEDS_URL}{quote(name, safe='()')}/Linux/index.json"
                missing = Missing(PROVIDER, region, (PriceKind.ON_DEMAND,))
                yield from or_missing(partial(http.get, url), missing)


def _files(http: httpx.Client, region: str, path: str, savings: str | None) -> Iterator[_Part]:
    """Ask for a region's price file, and for its savings plans, which mean nothing without it."""
    kinds = (PriceKind.ON_DEMAND, PriceKind.RESERVED, PriceKind.SAVINGS_PLAN)
    for part in or_missing(
        partial(_stream, http, path, EC2_FILES), Missing(PROVIDER, region, kinds)
    ):
        yield part
        if isinstance(part, Missing):
            return
    if savings is not None:
        yield from or_missing(
            partial(_stream, http, savings, SAVINGS_FILES),
            Missing(PROVIDER, region, (PriceKind.SAVINGS_PLAN,)),
        )


def _path(files: RegionFiles | Unreadable) -> str:
    """Give where a region's file lies; nothing, which is no path, if the index does not say."""
    return files.current_version_path if isinstance(files, RegionFiles) else ""


def _stream(http: httpx.Client, path: str, folder: str) -> httpx.Response:
    """Open the CSV form of a file; the index names the JSON form beside it."""
    if not (path.startswith(folder) and path.endswith("/index.json")):
        raise ProviderError(
            f"aws: an index names {path!r}, which is no path of a price file",
            hint="the index has another form now; gpubroker must follow",
        )
    url = f"{PRICE_HOST}{path.removesuffix('.json')}.csv"
    return http.send(http.build_request("GET", url), stream=True)


def _checked(
    http: httpx.Client, url: str, model: type[BaseModel], part: Missing
) -> Iterator[_Part]:
    """Ask for what later requests are made of, so that it is readable if it is there."""
    return or_missing(partial(http.get, url), part, partial(parse_feed, model))


def _if_there(http: httpx.Client, url: str) -> Iterator[httpx.Response]:
    """Ask for what only adds to offers; without it they say less, and none is missing."""
    try:
        yield http.get(url)
    except ProviderError:
        return


def _kinds(kind: PriceKind) -> Missing:
    return Missing(PROVIDER, price_kinds=(kind,))
