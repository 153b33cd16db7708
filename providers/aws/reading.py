"""The replies of one refresh of AWS, read in the order in which they come.

Some need what came before them: a savings plan file the SKUs of its price file, the pricing pages
the names of the regions. Spot prices wait for the end, since the interruption rates may come after
them.
"""

from collections.abc import Callable, Iterator, Mapping

import httpx

from broker.domain.offer import Offer, Rejection
from broker.specs.load import Specs
from providers.aws import price_csv, price_json, price_page
from providers.aws.blocks import offers_in_page
from providers.aws.feeds import (
    BLOCKS_URL,
    LOCATIONS_URL,
    PAGE_FEEDS_URL,
    REGION_INDEX_URL,
    SAVINGS_FILES,
    SAVINGS_INDEX_URL,
    SPOT_ADVISOR_URL,
    SPOT_FEED_URL,
    RegionFiles,
    RegionIndex,
    SavingsIndex,
    SpotAdvisor,
    SpotFeed,
)
from providers.aws.places import Places, places_of
from providers.aws.price_list import offers_in_price_list
from providers.aws.savings import offers_in_savings_file
from providers.aws.spot import interruptions_in, offers_in_spot_feed
from providers.aws.wire import PriceRow, Problem, Product, is_elsewhere, rejection
from providers.kit.parse import Unreadable, parse

_LOCATION_IN_PATH = -3

_Read = Callable[[httpx.Response], Iterator[Offer | Rejection]]

Files = Mapping[str, RegionFiles | Unreadable]
"""Where the price files lie, by region code, as the EC2 index tells."""


class Reading:
    """What was read so far: of `regions`, empty for all; the price files of `filed` among them."""

    def __init__(self, specs: Specs, *, regions: tuple[str, ...], filed: tuple[str, ...]) -> None:
        self._specs = specs
        self._regions = regions
        self._filed = filed
        self._places = Places({})
        self._plain: dict[str, Product] = {}
        self._advisor: SpotAdvisor | None = None
        self._spot: tuple[SpotFeed, httpx.Response] | None = None
        self._readers: Mapping[str, _Read] = {
            REGION_INDEX_URL: self._untold_regions,
            SAVINGS_INDEX_URL: self._untold_savings,
            LOCATIONS_URL: self._learn_places,
            SPOT_ADVISOR_URL: self._learn_interruptions,
            SPOT_FEED_URL: self._keep_spot,
            BLOCKS_URL: self._block_offers,
        }

    def offers_in(self, reply: httpx.Response) -> Iterator[Offer | Rejection]:
        """Translate one reply.

        Raises:
            ProviderError: it cannot be read.
        """
        url = str(reply.request.url)
        others = self._page_offers if url.startswith(PAGE_FEEDS_URL) else self._file_offers
        yield from self._readers.get(url, others)(reply)

    def spot_offers(self) -> Iterator[Offer | Rejection]:
        """Translate the spot feed, once everything was read."""
        if self._spot is None:
            return
        if self._advisor is None:
            detail = "the Spot Advisor could not be read: no interruption rate is known"
            yield rejection(SPOT_ADVISOR_URL, Problem("interruptions_unknown", detail))
        feed, reply = self._spot
        yield from offers_in_spot_feed(
            feed,
            reply,
            self._specs,
            regions=self._regions,
            interruptions=interruptions_in(self._advisor) if self._advisor else {},
        )

    def _untold_regions(self, reply: httpx.Response) -> Iterator[Rejection]:
        index = parse(RegionIndex, reply)
        for region in self._filed:
            problem = region_problem(region, index.regions)
            if problem is not None:
                yield rejection(region, problem)

    def _untold_savings(self, reply: httpx.Response) -> Iterator[Rejection]:
        told = savings_paths(reply)
        for region in self._filed:
            if region not in told and not is_elsewhere(region):
                detail = "the savings plan index has no such region"
                yield rejection(f"{region}@savings_plan", Problem("region_not_listed", detail))

    def _learn_places(self, reply: httpx.Response) -> Iterator[Rejection]:
        self._places = places_of(reply)
        return iter(())

    def _learn_interruptions(self, reply: httpx.Response) -> Iterator[Rejection]:
        self._advisor = parse(SpotAdvisor, reply)
        return iter(())

    def _keep_spot(self, reply: httpx.Response) -> Iterator[Rejection]:
        self._spot = parse(SpotFeed, reply), reply
        return iter(())

    def _block_offers(self, reply: httpx.Response) -> Iterator[Offer | Rejection]:
        return offers_in_page(reply, self._places, self._specs, self._regions)

    def _page_offers(self, reply: httpx.Response) -> Iterator[Offer | Rejection]:
        name = reply.request.url.path.split("/")[_LOCATION_IN_PATH]
        region = self._places.code(name)
        if region is None:
            yield rejection(name, Problem("unknown_region", "no list names this location"))
            return
        rows: list[PriceRow] = []
        for row in price_page.accelerated_rows(reply, region):
            if isinstance(row, Unreadable):
                yield rejection(f"{region}/unreadable", Problem(row.reason, row.detail))
            else:
                rows.append(row)
        yield from offers_in_price_list(rows, reply, self._specs)

    def _file_offers(self, reply: httpx.Response) -> Iterator[Offer | Rejection]:
        path = reply.request.url.path
        if path.startswith(SAVINGS_FILES):
            yield from offers_in_savings_file(reply, self._plain, self._specs)
            return
        rows = (price_json if path.endswith(".json") else price_csv).accelerated_rows(reply)
        yield from offers_in_price_list(rows, reply, self._specs, plain=self._plain)


def region_problem(region: str, files: Files) -> Problem | None:
    """Say why a region's price file is not asked for."""
    if is_elsewhere(region):
        detail = "GovCloud and China have price lists and accounts of their own"
        return Problem("other_partition", detail)
    if region not in files:
        return Problem("region_not_listed", "the EC2 region index has no such region")
    return None


def savings_paths(reply: httpx.Response) -> Mapping[str, str]:
    """Read the paths of the savings plan files by region.

    Raises:
        ProviderError: the index has another form.
    """
    rows = parse(SavingsIndex, reply).regions
    return {row.region: row.version_path for row in rows if not isinstance(row, Unreadable)}
