"""One row and one page of Azure's price list, and which rows are no Linux price of now.

Windows, Cloud Services, Dev/Test and Low Priority meters carry the same `armSkuName` as the Linux
VM; names alone tell them apart, and one product abbreviates Windows to "Win". A size named Promo is
the one without the name at a price for a limited time. `isPrimaryMeterRegion` is false on valid
rows, so it decides nothing.
"""

import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from broker.domain.quantities import Instant
from providers.kit.parse import Row

CONSUMPTION, RESERVATION = "Consumption", "Reservation"
SERVICE = "Virtual Machines"

_WINDOWS = re.compile(r"\bWin(dows)?\b")
_CLOUD_SERVICES = re.compile(r"\bCloud ?Services\b")
_CANARY_REGION = re.compile(r"euap$|^brazilus$")


class Rate(BaseModel):
    """A savings plan's price of the row's size, per hour."""

    term: str
    retail_price: Decimal = Field(alias="retailPrice")


class Meter(BaseModel):
    """One row; what is not read here is ignored."""

    model_config = ConfigDict(alias_generator=to_camel)

    type: str
    service_name: str
    product_name: str
    sku_name: str
    meter_name: str
    arm_sku_name: str
    arm_region_name: str
    currency_code: str
    unit_of_measure: str
    tier_minimum_units: Decimal = Decimal(0)
    retail_price: Decimal
    effective_start_date: Instant
    effective_end_date: Instant | None = None
    reservation_term: str | None = None
    savings_plan: tuple[Row[Rate], ...] | None = None


class Page(BaseModel):
    """A page of rows with the link to the next one."""

    meters: list[Row[Meter]] = Field(alias="Items")
    next_page: str | None = Field(None, alias="NextPageLink")


_REFUSALS: tuple[tuple[str, Callable[[Meter], bool]], ...] = (
    ("other_service", lambda meter: meter.service_name != SERVICE),
    ("no_instance_type", lambda meter: not meter.arm_sku_name),
    ("dev_test_price", lambda meter: meter.type == "DevTestConsumption"),
    ("unknown_price_type", lambda meter: meter.type not in (CONSUMPTION, RESERVATION)),
    ("windows", lambda meter: bool(_WINDOWS.search(meter.product_name))),
    ("cloud_services", lambda meter: bool(_CLOUD_SERVICES.search(meter.product_name))),
    ("dedicated_host", lambda meter: "Dedicated" in meter.product_name),
    ("promotional_size", lambda meter: "_Promo" in meter.arm_sku_name),
    ("low_priority", lambda meter: "Low Priority" in f"{meter.sku_name} {meter.meter_name}"),
    ("ambiguous_spot", lambda meter: ("Spot" in meter.sku_name) != ("Spot" in meter.meter_name)),
    ("canary_region", lambda meter: bool(_CANARY_REGION.search(meter.arm_region_name))),
    ("not_in_usd", lambda meter: meter.currency_code != "USD"),
    ("unknown_unit", lambda meter: meter.unit_of_measure != "1 Hour"),
    ("volume_tier", lambda meter: meter.tier_minimum_units != 0),
)
"""Why a row is no offer; the first that applies is the reason."""


def refusal(meter: Meter, now: datetime) -> str:
    """Say why a row is no offer, or is none at this instant; some rows end before they start."""
    for reason, applies in _REFUSALS:
        if applies(meter):
            return reason
    if meter.effective_end_date is not None and meter.effective_end_date <= now:
        return "expired"
    return "not_yet_effective" if meter.effective_start_date > now else ""
