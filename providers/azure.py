"""Azure: the public Retail Prices API lists every meter of every virtual machine, a page at a time.

Wire:   GET https://prices.azure.com/api/retail/prices, no key; pages of 1000 rows, each linking
        the next by `NextPageLink`; one question a GPU series, about 20 pages in all. Only
        api-version 2023-01-01-preview carries the savings plans.
Units:  dollars per hour of the whole VM, except reservations: their `retailPrice` is the total of
        the term, though `unitOfMeasure` says "1 Hour" there too. Savings plans are per hour.
Quirks: Windows, Cloud Services, Dev/Test and Low Priority meters carry the same `armSkuName` as
        the Linux VM; names alone tell them apart, and one product abbreviates Windows to "Win".
        `isPrimaryMeterRegion` is false on valid rows, so it decides nothing. Pages repeat rows.
        Several live meters may price one size: the newest start counts, of equals the dearer.
        Ten quick requests earn a block of a minute: requests are spaced as the headers ask.
        The API knows no GPUs: model and count come from the table of instance types. Zones,
        stock, quota and eviction rates need a subscription's credentials.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

import httpx
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from broker.domain.errors import ProviderError
from broker.domain.offer import Commitment, Offer, Payment, PriceKind, Quote, Rejection, SpotTerms
from broker.domain.quantities import HOURS_PER_MONTH, Instant, quantize_usd
from broker.specs.load import NodeFacts, Specs
from providers.kit.access import Access
from providers.kit.adapter import provenance
from providers.kit.parse import Row, Unreadable, parse

API = httpx.URL("https://prices.azure.com/api/retail/prices")
API_VERSION = "2023-01-01-preview"
SERIES = ("Standard_ND", "Standard_NC", "Standard_NV")
"""Prefixes of the sizes with GPUs for compute; NG (gaming) and NP (FPGA) are left out."""

SPOT_NOTICE_S = 30.0
PAUSE_S = 3.0
BLOCK_S = 60.0

_REMAINING = "x-ms-ratelimit-remaining-retailPrices-requests"
_RETRY_AFTER = "x-ms-ratelimit-retailPrices-retry-after"
_HOSTS = ("https://prices.azure.com/", "https://prices.azure.com:443/")
_SERVICE = "Virtual Machines"
_CONSUMPTION, _RESERVATION = "Consumption", "Reservation"
_MONTHS = {"1 Year": 12, "3 Years": 36, "5 Years": 60}
_WINDOWS = re.compile(r"\bWin(dows)?\b")
_CLOUD_SERVICES = re.compile(r"\bCloud ?Services\b")
_CANARY_REGION = re.compile(r"euap$|^brazilus$")


class _Rate(BaseModel):
    """A savings plan's price of the row's size, per hour."""

    term: str
    retail_price: Decimal = Field(alias="retailPrice")


class _Meter(BaseModel):
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
    savings_plan: tuple[_Rate, ...] | None = None


class _Page(BaseModel):
    meters: list[Row[_Meter]] = Field(alias="Items")
    next_page: str | None = Field(None, alias="NextPageLink")


@dataclass(frozen=True, slots=True)
class _Price:
    """What one row charges on one set of terms, in dollars and words of the wire."""

    kind: PriceKind
    quoted: Decimal
    term: str | None = None

    @property
    def commitment(self) -> Commitment | None:
        """Read the term; None where there is none, or one that is not known."""
        months = _MONTHS.get(self.term or "")
        return Commitment(term_months=months, payment=Payment.NO_UPFRONT) if months else None

    @property
    def usd_per_hour(self) -> Decimal:
        """Spread a reservation's total over the hours of its term."""
        if self.kind is PriceKind.RESERVED and self.commitment:
            return quantize_usd(self.quoted / (self.commitment.term_months * HOURS_PER_MONTH))
        return quantize_usd(self.quoted)


class AzureCloud:
    """Adapter for Azure's public price list. `pause` waits between requests, in seconds.

    A reservation may be paid at the start or by the month, at the same total: it is offered as
    paid without upfront, at total ÷ (months × 730) dollars per hour.
    A savings plan commits dollars per hour over all compute; the offer is the rate of this size.
    """

    name = "azure"
    keys: tuple[str, ...] = ()

    def __init__(
        self, specs: Specs, access: Access, *, pause: Callable[[float], None] = time.sleep
    ) -> None:
        del access  # the price list is public
        self._specs = specs
        self._pause = pause

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        """Ask for all pages of each GPU series, one after the other.

        Raises:
            ProviderError: a page links to another host, or to a page that was already read.
        """
        wait_s = 0.0
        for series in SERIES:
            page: httpx.URL | None = first_page(series)
            read: set[httpx.URL] = set()
            while page is not None:
                if wait_s:
                    self._pause(wait_s)
                reply = http.get(page)
                yield reply
                read.add(page)
                wait_s = _pause_after_s(reply)
                page = _next_page(reply, read)

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make an offer of each current Linux price of a known GPU size; refuse the other rows.

        Raises:
            ProviderError: a page is no list of prices.
        """
        kept: dict[str, Offer] = {}
        for page, reply in enumerate(replies, start=1):
            for line, meter in enumerate(parse(_Page, reply).meters, start=1):
                if isinstance(meter, Unreadable):
                    yield self._refused(f"page {page}, row {line}", meter.reason, meter.detail)
                    continue
                for made in self._translate(meter, reply):
                    yield from self._keep(made, kept)
        yield from kept.values()

    def _translate(self, meter: _Meter, reply: httpx.Response) -> Iterator[Offer | Rejection]:
        reason = _refusal(meter, provenance(reply).observed_at)
        node = self._specs.node(self.name, meter.arm_sku_name)
        if reason or node is None:
            reason = reason or "unknown_instance_type"
            yield self._refused(_subject(meter), reason, _detail(meter))
            return
        for price in _prices(meter):
            yield self._offer(price, meter, node, reply)

    def _offer(
        self, price: _Price, meter: _Meter, node: NodeFacts, reply: httpx.Response
    ) -> Offer | Rejection:
        if price.term is not None and price.commitment is None:
            return self._refused(_subject(meter), "unknown_term", f"{price.kind} {price.term!r}")
        if price.usd_per_hour <= 0:
            return self._refused(_subject(meter), "no_price", f"{price.kind} {price.quoted} USD")
        spot = SpotTerms(notice_s=SPOT_NOTICE_S) if price.kind is PriceKind.SPOT else None
        seen = provenance(reply, meter.effective_start_date)
        return Offer(
            provider=self.name,
            instance_type=meter.arm_sku_name,
            place=self._specs.place(self.name, meter.arm_region_name.lower()),
            price_kind=price.kind,
            hardware=self._specs.hardware(
                self.name, meter.arm_sku_name, gpu=node.gpu, gpu_count=node.gpu_count
            ),
            usd_per_hour=price.usd_per_hour,
            quote=Quote(amount=price.quoted, currency=meter.currency_code),
            provenance=seen.model_copy(update={"valid_until": meter.effective_end_date}),
            commitment=price.commitment,
            spot=spot,
        )

    def _keep(self, made: Offer | Rejection, kept: dict[str, Offer]) -> Iterator[Rejection]:
        """Note an offer; of two with one key, keep the newest, of equals the dearer."""
        if isinstance(made, Rejection):
            yield made
            return
        rival = kept.setdefault(made.key, made)
        if rival is made:
            return
        loser, kept[made.key] = sorted((made, rival), key=_precedence)
        reason = "repeated_row" if _precedence(made) == _precedence(rival) else "duplicate_key"
        detail = f"{_priced(loser)}; kept is {_priced(kept[made.key])}"
        yield self._refused(loser.key, reason, detail)

    def _refused(self, subject: str, reason: str, detail: str) -> Rejection:
        return Rejection(provider=self.name, subject=subject, reason=reason, detail=detail)


def first_page(series: str) -> httpx.URL:
    """Write the question for all prices of the sizes whose name has this prefix."""
    wanted = f"serviceName eq '{_SERVICE}' and contains(armSkuName, '{series}')"
    return API.copy_with(
        params={"api-version": API_VERSION, "currencyCode": "USD", "$filter": wanted}
    )


def _next_page(reply: httpx.Response, read: set[httpx.URL]) -> httpx.URL | None:
    link = parse(_Page, reply).next_page
    if not link:
        return None
    page = httpx.URL(link) if link.startswith(_HOSTS) else None
    if page is None or page in read:
        raise ProviderError(
            f"azure: NextPageLink {link!r} leads to another host or back to a page already read",
            hint="try again; if it stays, the provider's API has changed and gpubroker must follow",
        )
    return page


def _pause_after_s(reply: httpx.Response) -> float:
    """Space requests as the headers ask; a reply without them (a recording) asks for no pause."""
    remaining = reply.headers.get(_REMAINING)
    if remaining is None:
        return 0.0
    if remaining.isdecimal() and int(remaining) > 0:
        return PAUSE_S
    asked = reply.headers.get(_RETRY_AFTER, "")
    return float(asked) if asked.isdecimal() else BLOCK_S


_REFUSALS: tuple[tuple[str, Callable[[_Meter], bool]], ...] = (
    ("other_service", lambda meter: meter.service_name != _SERVICE),
    ("no_instance_type", lambda meter: not meter.arm_sku_name),
    ("dev_test_price", lambda meter: meter.type == "DevTestConsumption"),
    ("unknown_price_type", lambda meter: meter.type not in (_CONSUMPTION, _RESERVATION)),
    ("windows", lambda meter: bool(_WINDOWS.search(meter.product_name))),
    ("cloud_services", lambda meter: bool(_CLOUD_SERVICES.search(meter.product_name))),
    ("dedicated_host", lambda meter: "Dedicated" in meter.product_name),
    ("low_priority", lambda meter: "Low Priority" in f"{meter.sku_name} {meter.meter_name}"),
    ("ambiguous_spot", lambda meter: ("Spot" in meter.sku_name) != ("Spot" in meter.meter_name)),
    ("canary_region", lambda meter: bool(_CANARY_REGION.search(meter.arm_region_name))),
    ("not_in_usd", lambda meter: meter.currency_code != "USD"),
    ("unknown_unit", lambda meter: meter.unit_of_measure != "1 Hour"),
    ("volume_tier", lambda meter: meter.tier_minimum_units != 0),
)
"""Why a row is no offer; the first that applies is the reason."""


def _refusal(meter: _Meter, now: datetime) -> str:
    """Say why a row is no offer, or is none at this instant; some rows end before they start."""
    for reason, applies in _REFUSALS:
        if applies(meter):
            return reason
    if meter.effective_end_date is not None and meter.effective_end_date <= now:
        return "expired"
    return "not_yet_effective" if meter.effective_start_date > now else ""


def _subject(meter: _Meter) -> str:
    return f"{meter.arm_sku_name}/{meter.arm_region_name}: {meter.meter_name} ({meter.type})"


def _detail(meter: _Meter) -> str:
    until = f" until {meter.effective_end_date:%Y-%m-%d}" if meter.effective_end_date else ""
    price = f"{meter.retail_price} {meter.currency_code} per {meter.unit_of_measure}"
    return f"{meter.product_name}: {price} from {meter.effective_start_date:%Y-%m-%d}{until}"


def _prices(meter: _Meter) -> Iterator[_Price]:
    """List the terms of a row: one, or on demand with the savings plans of the size."""
    if meter.type == _RESERVATION:
        yield _Price(PriceKind.RESERVED, meter.retail_price, meter.reservation_term or "")
    elif "Spot" in meter.meter_name:
        yield _Price(PriceKind.SPOT, meter.retail_price)
    else:
        yield _Price(PriceKind.ON_DEMAND, meter.retail_price)
        for rate in meter.savings_plan or ():
            yield _Price(PriceKind.SAVINGS_PLAN, rate.retail_price, rate.term)


def _precedence(offer: Offer) -> tuple[datetime | None, Decimal]:
    return offer.provenance.effective_at, offer.usd_per_hour


def _priced(offer: Offer) -> str:
    return f"{offer.usd_per_hour} USD/h from {offer.provenance.effective_at:%Y-%m-%d}"
