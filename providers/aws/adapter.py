"""AWS without an account: list prices, reservations and regional spot prices.

Wire:  the EC2 region index, the price file of each region that is asked for (CSV, some hundred
       megabytes, streamed), the spot feed of the pricing page and the Spot Advisor.
Units: US dollars per instance-hour, as text; upfront parts per instance.
Quirks: capacity blocks are listed at zero, since their price needs an account; one type comes in
       hundreds of rows; the two spot feeds are not documented, so each may be missing without
       harm to the rest; the spot feed has old names for old regions.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

import httpx
from pydantic import BaseModel

from broker.domain.errors import ProviderError
from broker.domain.offer import Offer, Rejection
from broker.specs.load import Specs
from providers.aws import price_csv, price_json
from providers.aws.machines import PROVIDER
from providers.aws.price_list import offers_in_price_list
from providers.aws.spot import interruptions_in, offers_in_spot_feed
from providers.aws.wire import (
    EC2_FILES,
    PRICE_HOST,
    REGION_INDEX_URL,
    SPOT_ADVISOR_URL,
    SPOT_FEED_URL,
    RegionFiles,
    RegionIndex,
    SpotAdvisor,
    SpotFeed,
)
from providers.kit.access import Access
from providers.kit.parse import parse

_OTHER_PARTITIONS = ("us-gov-", "us-iso", "eu-iso", "eusc-", "cn-", "aws-cn")

_Feed = TypeVar("_Feed", bound=BaseModel)


class AwsCloud:
    """Adapter for Amazon EC2 in the commercial partition."""

    name = PROVIDER
    keys: tuple[str, ...] = ()

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._regions = tuple(dict.fromkeys(access.regions))

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        """Ask for the index, the spot feeds, and then for each region's price file.

        A price file comes as an open stream, to be read before the next reply is asked for. What
        answers for a spot feed that cannot be had is a 503 that carries the reason.
        """
        index = http.get(REGION_INDEX_URL)
        yield index
        for url in (SPOT_ADVISOR_URL, SPOT_FEED_URL):
            yield _feed_or_failure(http, url)
        files = parse(RegionIndex, index).regions
        for region in self._regions:
            if _trouble(region, files) is None:
                url = _price_file_url(files[region].current_version_path)
                yield http.send(http.build_request("GET", url), stream=True)

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Translate price files as they come, and the spot feed once all has been seen.

        Raises:
            ProviderError: the index or a price file cannot be read.
        """
        feeds: dict[str, httpx.Response] = {}
        for reply in replies:
            url = str(reply.request.url)
            if url in (SPOT_ADVISOR_URL, SPOT_FEED_URL):
                feeds[url] = reply
            elif url == REGION_INDEX_URL:
                yield from self._untold_regions(parse(RegionIndex, reply))
            else:
                reader = price_json if reply.request.url.path.endswith(".json") else price_csv
                yield from offers_in_price_list(reader.accelerated_rows(reply), reply, self._specs)
        yield from self._spot_offers(feeds)

    def _untold_regions(self, index: RegionIndex) -> Iterator[Rejection]:
        for region in self._regions:
            trouble = _trouble(region, index.regions)
            if trouble is not None:
                yield _rejection(region, *trouble)

    def _spot_offers(self, feeds: dict[str, httpx.Response]) -> Iterator[Offer | Rejection]:
        advisor = _feed(SpotAdvisor, feeds.get(SPOT_ADVISOR_URL))
        if isinstance(advisor, Rejection):
            yield advisor
        reply = feeds.get(SPOT_FEED_URL)
        feed = _feed(SpotFeed, reply)
        if isinstance(feed, Rejection):
            yield feed
        elif feed is not None and reply is not None:
            yield from offers_in_spot_feed(
                feed,
                reply,
                self._specs,
                regions=tuple(one for one in self._regions if not _is_elsewhere(one)),
                interruptions=interruptions_in(advisor) if isinstance(advisor, SpotAdvisor) else {},
            )


def _trouble(region: str, files: Mapping[str, RegionFiles]) -> tuple[str, str] | None:
    """Say why a region's price file is not asked for: the reason and its detail."""
    if _is_elsewhere(region):
        return "other_partition", "GovCloud and China have price lists and accounts of their own"
    if region not in files:
        return "region_not_listed", "the EC2 region index has no such region"
    return None


def _is_elsewhere(region: str) -> bool:
    return region.startswith(_OTHER_PARTITIONS)


def _price_file_url(path: str) -> str:
    """Give the address of the CSV form; the index names the JSON form beside it."""
    if not (path.startswith(EC2_FILES) and path.endswith("/index.json")):
        raise ProviderError(
            f"{REGION_INDEX_URL}: currentVersionUrl is {path!r}, no path of a price file",
            hint="the index has another form now; gpubroker must follow",
        )
    return f"{PRICE_HOST}{path.removesuffix('.json')}.csv"


def _feed_or_failure(http: httpx.Client, url: str) -> httpx.Response:
    """Ask for a feed that AWS does not promise to keep; the rest must not fail with it."""
    try:
        return http.get(url)
    except ProviderError as failure:
        return httpx.Response(503, request=httpx.Request("GET", url), text=str(failure))


def _feed(model: type[_Feed], reply: httpx.Response | None) -> _Feed | Rejection | None:
    if reply is None:
        return None
    url = str(reply.request.url)
    if reply.is_error:
        return _rejection(url, "feed_unavailable", reply.text)
    try:
        return parse(model, reply)
    except ProviderError as failure:
        return _rejection(url, "feed_unreadable", str(failure))


def _rejection(subject: str, reason: str, detail: str) -> Rejection:
    return Rejection(provider=PROVIDER, subject=subject, reason=reason, detail=detail)
