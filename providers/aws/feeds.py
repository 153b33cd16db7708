"""The small replies of AWS: where they come from, and their fields as they are called there.

The indexes name the price files. The pricing pages' own feeds and the Spot Advisor are not
documented, so each of them may be missing.
"""

import gzip
import zlib
from typing import TypeVar

import httpx
from pydantic import BaseModel, Field, RootModel

from providers.aws.wire import unreadable_file
from providers.kit.parse import Row, parse

PRICE_HOST = "https://pricing.us-east-1.amazonaws.com"
EC2_FILES = "/offers/v1.0/aws/AmazonEC2/"
SAVINGS_FILES = "/savingsPlan/v1.0/aws/AWSComputeSavingsPlan/"
REGION_INDEX_URL = f"{PRICE_HOST}{EC2_FILES}current/region_index.json"
SAVINGS_INDEX_URL = f"{PRICE_HOST}{SAVINGS_FILES}current/region_index.json"
SPOT_FEED_URL = "https://website.spot.ec2.aws.a2z.com/spot.json"
SPOT_ADVISOR_URL = "https://spot-bid-advisor.s3.amazonaws.com/spot-advisor-data.json"
LOCATIONS_URL = "https://b0.p.awsstatic.com/locations/1.0/aws/current/locations.json"
PAGE_FEEDS_URL = (
    "https://b0.p.awsstatic.com/pricing/2.0/meteredUnitMaps/ec2/USD/current"
    "/ec2-ondemand-without-sec-sel/"
)
BLOCKS_URL = "https://aws.amazon.com/ec2/capacityblocks/pricing/"

_GZIP = b"\x1f\x8b"
_MODEL = TypeVar("_MODEL", bound=BaseModel)


class RegionFiles(BaseModel):
    """Where the price file of one region lies; the version in the path never changes."""

    current_version_path: str = Field(alias="currentVersionUrl")


class RegionIndex(BaseModel):
    """The EC2 region index; its keys are region codes, local zones and bogus ones among them."""

    regions: dict[str, Row[RegionFiles]]


class SavingsFiles(BaseModel):
    """Where the savings plans of one region lie."""

    region: str = Field(alias="regionCode")
    version_path: str = Field(alias="versionUrl")


class SavingsIndex(BaseModel):
    """The region index of the savings plans: a list, where that of EC2 is an object."""

    regions: list[Row[SavingsFiles]]


class Location(BaseModel):
    """A region or zone as the pricing pages call it: "EU (Frankfurt)" for eu-central-1."""

    name: str
    code: str
    type: str


class Locations(RootModel[dict[str, Row[Location]]]):
    """All locations; the keys are names again."""


class FeedManifest(BaseModel):
    """What a feed of the on-demand page says of itself."""

    currency: str = Field(alias="currencyCode")
    published_at: str = Field("", alias="hawkFilePublicationDate")


class FeedRow(BaseModel):
    """One machine of the on-demand page; the feed knows neither GPUs nor SKUs."""

    rate_code: str = Field(alias="rateCode")
    price: str
    instance_type: str = Field(alias="Instance Type")
    instance_family: str = Field("", alias="Instance Family")
    vcpus: str = Field("", alias="vCPU")
    memory: str = Field("", alias="Memory")
    storage: str = Field("", alias="Storage")
    operating_system: str = Field(alias="Operating System")
    licence: str = Field(alias="License Model")
    preinstalled: str = Field("", alias="Pre Installed S/W")


class PageFeed(BaseModel):
    """The feed of the on-demand page for one location and one operating system."""

    manifest: FeedManifest
    regions: dict[str, dict[str, Row[FeedRow]]]


class SpotValue(BaseModel):
    """The price of one operating system; text that is no number means that there is none."""

    name: str
    prices: dict[str, str]


class SpotSize(BaseModel):
    """One instance type of the spot feed."""

    size: str
    values: list[SpotValue] = Field(alias="valueColumns")


class SpotFamily(BaseModel):
    """A group of instance types."""

    sizes: list[Row[SpotSize]]


class SpotRegion(BaseModel):
    """One region of the spot feed, the oldest ones by names of their own."""

    region: str
    families: list[SpotFamily] = Field(alias="instanceTypes")


class SpotConfig(BaseModel):
    """The body of the spot feed."""

    rate: str
    regions: list[SpotRegion]


class SpotFeed(BaseModel):
    """The public spot price feed: one price for a type in a region, over all zones."""

    config: SpotConfig


class AdvisorRange(BaseModel):
    """A bucket of interruption rates. The feed's `max` does not match the label; we read that."""

    index: int
    label: str


class AdvisorEntry(BaseModel):
    """The bucket of one type."""

    range_index: int = Field(alias="r")


class SpotAdvisor(BaseModel):
    """The Spot Advisor: region → operating system → instance type."""

    ranges: list[AdvisorRange]
    spot_advisor: dict[str, dict[str, dict[str, Row[AdvisorEntry]]]]


def parse_feed(model: type[_MODEL], reply: httpx.Response) -> _MODEL:
    """Read a reply of the pricing pages' store, which sends gzip whether it says so or not.

    Raises:
        ProviderError: it cannot be unpacked, is no JSON or has another form.
    """
    if not reply.content.startswith(_GZIP):
        return parse(model, reply)
    try:
        content = gzip.decompress(reply.content)
    except (OSError, EOFError, zlib.error) as cause:
        raise unreadable_file(reply, str(cause)) from cause
    return parse(model, httpx.Response(200, content=content, request=reply.request))
