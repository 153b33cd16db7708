"""Rows of price lists as every reader of AWS makes them, and what is asked of a row first.

Price files come as CSV and as JSON with other names for the same columns, the on-demand page has a
feed of its own; all readers make `PriceRow`s. All their values are text, prices too.
"""

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

import httpx

from broker.domain.errors import ProviderError
from broker.domain.offer import Rejection
from broker.domain.quantities import quantize_usd

PROVIDER = "aws"
USD = "USD"
HOURLY = "Hrs"

_ACCELERATED_FAMILIES = frozenset({"GPU instance", "Machine Learning ASIC Instances"})
_COUNT = re.compile(r"[1-9]")
_ACCELERATED_TYPE = re.compile(r"(u-)?(p|g|gr|trn|inf|dl)\d")
_OTHER_PARTITIONS = ("us-gov-", "us-iso", "eu-iso", "eusc-", "cn-", "aws-cn")


class Problem(NamedTuple):
    """Why a row is no offer: a short code, and what was read."""

    reason: str
    detail: str


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


def is_elsewhere(region: str) -> bool:
    """Tell whether a region is in GovCloud, China or another partition: other prices, accounts."""
    return region.startswith(_OTHER_PARTITIONS)


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


def rejection(subject: str, problem: Problem) -> Rejection:
    """Say of a row what it is, and why it is no offer."""
    return Rejection(
        provider=PROVIDER, subject=subject, reason=problem.reason, detail=problem.detail
    )


def unreadable_file(reply: httpx.Response, why: str) -> ProviderError:
    """Make the error of a price file that is cut short or has another form."""
    url = reply.request.url
    return ProviderError(
        f"{url.host}{url.path}: the price file cannot be read ({why})",
        hint="try again; if it stays, the file's form has changed and gpubroker must follow",
    )
