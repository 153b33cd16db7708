"""What the Cloud Billing Catalog sends: a SKU, and the price of one unit of it for an hour.

A SKU that this reads without a problem has one price above zero, in dollars, in the unit that its
kind of part is sold by. A price is `units` whole dollars (a string) and `nanos` billionths of one;
a SKU that lacks either has no price, as half of one is a wrong one.
"""

from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from broker.domain.quantities import HOURS_PER_MONTH, Instant
from providers.kit.parse import Row

SKUS_URL = "https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus"
"""The SKUs of Compute Engine; the id is that of the service."""

KEY_HEADER = "x-goog-api-key"
USD = "USD"


class Problem(NamedTuple):
    """Why a SKU or a machine has no price: a short code, and what was read."""

    reason: str
    detail: str


class PartKind(StrEnum):
    """What a part of a machine is."""

    GPU = "gpu"
    CORE = "core"
    RAM = "ram"
    DISK = "disk"


_UNITS = {
    PartKind.GPU: "h",
    PartKind.CORE: "h",
    PartKind.RAM: "GiBy.h",
    PartKind.DISK: "GiBy.mo",
}


class _Wire(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)


class UnitPrice(_Wire):
    """An amount of money."""

    currency_code: str
    units: int
    nanos: int

    @property
    def amount(self) -> Decimal:
        """Join whole units and billionths."""
        return self.units + Decimal(self.nanos).scaleb(-9)


class Rate(_Wire):
    """The price from an amount of use on."""

    start_usage_amount: Decimal = Decimal(0)
    unit_price: UnitPrice


class PricingExpression(_Wire):
    """The unit that is charged for, and its rates."""

    usage_unit: str
    tiered_rates: tuple[Rate, ...]


class PricingInfo(_Wire):
    """A price and since when it holds; Google gives about the time of the call."""

    effective_time: Instant | None = None
    pricing_expression: PricingExpression


class Category(_Wire):
    """How a SKU is filed; only the usage type is of use."""

    usage_type: str


class Sku(_Wire):
    """One thing that is charged for, in one or more regions."""

    sku_id: str = ""
    description: str
    category: Category
    service_regions: tuple[str, ...]
    pricing_info: tuple[PricingInfo, ...]

    @property
    def subject(self) -> str:
        """Name the SKU for a person."""
        return f"{self.description} ({self.sku_id or 'no id'})"


class Page(_Wire):
    """A page of the catalog; the last one has no token of a next."""

    skus: list[Row[Sku]]
    next_page_token: str = ""


class NextPage(_Wire):
    """What is read of a page to ask for the next."""

    next_page_token: str = ""


class ListPrice(NamedTuple):
    """Dollars for an hour of one unit: a GPU, a core, a GiB."""

    usd: Decimal
    effective_at: Instant | None


def list_price(sku: Sku, kind: PartKind) -> ListPrice | Problem:
    """Read the newest price of a SKU; disk is charged by the month, of 730 hours."""
    if not sku.pricing_info:
        return Problem("no_price", "no pricing info")
    info = sku.pricing_info[-1]  # the catalog orders them by time
    found = _single_rate(info.pricing_expression, kind)
    if isinstance(found, Problem):
        return found
    hours = HOURS_PER_MONTH if kind is PartKind.DISK else Decimal(1)
    return ListPrice(found / hours, info.effective_time)


def _single_rate(expression: PricingExpression, kind: PartKind) -> Decimal | Problem:
    if expression.usage_unit != _UNITS[kind]:
        return Problem(
            "unexpected_unit", f"{expression.usage_unit!r}; a {kind} is sold by {_UNITS[kind]!r}"
        )
    rates = expression.tiered_rates
    if len(rates) > 1:
        tiers = ", ".join(f"{one.unit_price.amount} from {one.start_usage_amount}" for one in rates)
        return Problem("tiered_price", tiers)
    if not rates:
        return Problem("no_price", "no rate")
    price = rates[0].unit_price
    if price.currency_code != USD:
        return Problem("other_currency", f"{price.amount} {price.currency_code!r}, not dollars")
    if price.amount <= 0:
        return Problem("no_price", f"{price.amount} {price.currency_code}")
    return price.amount
