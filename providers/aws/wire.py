"""What AWS sends, in its own words, and the addresses that it sends it from.

Price files come as CSV and as JSON with other names for the same columns; both readers make
`PriceRow`s. All their values are text, prices too.
"""

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

import httpx
from pydantic import BaseModel, Field

from broker.domain.errors import ProviderError
from broker.domain.quantities import quantize_usd
from providers.kit.parse import Row

PRICE_HOST = "https://pricing.us-east-1.amazonaws.com"
EC2_FILES = "/offers/v1.0/aws/AmazonEC2/"
REGION_INDEX_URL = f"{PRICE_HOST}{EC2_FILES}current/region_index.json"
SPOT_FEED_URL = "https://website.spot.ec2.aws.a2z.com/spot.json"
SPOT_ADVISOR_URL = "https://spot-bid-advisor.s3.amazonaws.com/spot-advisor-data.json"

USD = "USD"

_ACCELERATED_FAMILIES = frozenset({"GPU instance", "Machine Learning ASIC Instances"})
_COUNT = re.compile(r"[1-9]")
_ACCELERATED_TYPE = re.compile(r"(u-)?(p|g|gr|trn|inf|dl)\d")


class Problem(NamedTuple):
    """Why a row is no offer: a short code, and what was read."""

    reason: str
    detail: str


class RegionFiles(BaseModel):
    """Where the price file of one region lies; the version in the path never changes."""

    current_version_path: str = Field(alias="currentVersionUrl")


class RegionIndex(BaseModel):
    """The EC2 region index; its keys are region codes, local zones among them."""

    regions: dict[str, RegionFiles]


@dataclass(frozen=True, slots=True)
class Product:
    """What is sold, one SKU."""

    sku: str
    family: str
    region: str
    location_type: str
    instance_type: str
    instance_family: str
    vcpus: str
    memory: str
    storage: str
    gpus: str
    gpu_memory: str
    tenancy: str
    operating_system: str
    licence: str
    preinstalled: str
    operation: str
    capacity_status: str
    market_option: str


@dataclass(frozen=True, slots=True)
class PriceRow:
    """One price of a product: a term has one row, or two where a part is paid upfront."""

    product: Product
    term_type: str
    offer_term_code: str
    effective_date: str
    starting_range: str
    ending_range: str
    unit: str
    price: str
    currency: str
    lease: str
    purchase_option: str
    offering_class: str


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


def is_accelerated(instance_type: str, instance_family: str = "", gpus: str = "") -> bool:
    """Tell whether a type has accelerators, by its attributes or by how AWS names families."""
    return bool(
        instance_type
        and (
            _COUNT.search(gpus)
            or instance_family in _ACCELERATED_FAMILIES
            or _ACCELERATED_TYPE.match(instance_type)
        )
    )


def positive_usd(text: str) -> Decimal | Problem:
    """Read a price in dollars; zero is a placeholder at AWS, never a price."""
    try:
        usd = Decimal(text.strip())
        rounded = quantize_usd(usd)
    except InvalidOperation:  # no number, none that is finite, or one beyond all prices
        return Problem("unreadable_price", f"price {text!r} is no amount")
    if usd.is_nan():
        return Problem("unreadable_price", f"price {text!r} is no amount")
    if usd < 0:
        return Problem("negative_price", f"price {text!r}")
    if rounded == 0:
        return Problem("zero_price", f"price {text!r}")
    return usd


def unreadable_file(reply: httpx.Response, why: str) -> ProviderError:
    """Make the error of a price file that is cut short or has another form."""
    url = reply.request.url
    return ProviderError(
        f"{url.host}{url.path}: the price file cannot be read ({why})",
        hint="try again; if it stays, the file's form has changed and gpubroker must follow",
    )
