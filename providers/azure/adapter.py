"""Azure: the public Retail Prices API lists every meter of every virtual machine, a page at a time.

Wire:   GET https://prices.azure.com/api/retail/prices, no key; pages of 1000 rows, each linking
        the next by `NextPageLink`; one question a GPU series, about 20 pages in all. Only
        api-version 2023-01-01-preview carries the savings plans.
Units:  dollars per hour of the whole VM, except reservations: their `retailPrice` is the total of
        the term, though `unitOfMeasure` says "1 Hour" there too. Savings plans are per hour.
Kinds:  on demand, spot, reservations of 1, 3 and 5 years, savings plans of 1 and 3 years, which
        cover all compute in all regions (scope `compute`).
Quirks: pages repeat rows. Several live meters may price one size: the newest start counts, of
        equals the dearer. Ten quick requests earn a block of a minute: requests are spaced as the
        headers ask. A series that fails leaves the others; what is missing is not told by region,
        so what was seen of it before stands. The API knows no GPUs: model and count come from the
        table of instance types, a size without a row there is no offer. Zones, stock, quota and
        eviction rates need a subscription's credentials.
Assumed: a reservation or savings plan is paid without upfront; the total is the same if it is paid
        at the start.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

import httpx

from broker.domain.errors import ProviderError
from broker.domain.offer import Commitment, Offer, Payment, PriceKind, Quote, Rejection, SpotTerms
from broker.domain.quantities import HOURS_PER_MONTH, quantize_usd
from broker.specs.load import NodeFacts, Specs
from providers.azure.pages import SERIES, Pace, pages
from providers.azure.wire import RESERVATION, Meter, Page, refusal
from providers.kit.access import Access
from providers.kit.adapter import provenance
from providers.kit.parse import Unreadable, parse
from providers.kit.parts import Missing, unless_all_missing

SPOT_NOTICE_S = 30.0

_MONTHS = {"1 Year": 12, "3 Years": 36, "5 Years": 60}
_ALL_COMPUTE = "compute"


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
        if months is None:
            return None
        scope = _ALL_COMPUTE if self.kind is PriceKind.SAVINGS_PLAN else ""
        return Commitment(term_months=months, payment=Payment.NO_UPFRONT, scope=scope)

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

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response | Missing]:
        """Ask for all pages of each GPU series, one after the other.

        Raises:
            ProviderError: no page of any series can be had.
        """
        return unless_all_missing(self._series(http))

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make an offer of each current Linux price of a known GPU size; refuse the other rows.

        Raises:
            ProviderError: a page is no list of prices.
        """
        kept: dict[str, Offer] = {}
        for page, reply in enumerate(replies, start=1):
            for line, meter in enumerate(parse(Page, reply).meters, start=1):
                if isinstance(meter, Unreadable):
                    yield self._refused(f"page {page}, row {line}", meter.reason, meter.detail)
                    continue
                for made in self._translate(meter, reply):
                    yield from self._keep(made, kept)
        yield from kept.values()

    def _series(self, http: httpx.Client) -> Iterator[httpx.Response | Missing]:
        pace = Pace(self._pause)
        for series in SERIES:
            try:
                yield from pages(http, series, pace)
            except ProviderError as failure:
                yield Missing(self.name, why=f"sizes {series}*: {failure}")

    def _translate(self, meter: Meter, reply: httpx.Response) -> Iterator[Offer | Rejection]:
        reason = refusal(meter, provenance(reply).observed_at)
        node = self._specs.node(self.name, meter.arm_sku_name)
        if reason or node is None:
            reason = reason or "unknown_instance_type"
            yield self._refused(_subject(meter), reason, _detail(meter))
            return
        for price in _prices(meter):
            if isinstance(price, Unreadable):
                detail = f"a savings plan: {price.detail}"
                yield self._refused(_subject(meter), price.reason, detail)
            else:
                yield self._offer(price, meter, node, reply)

    def _offer(
        self, price: _Price, meter: Meter, node: NodeFacts, reply: httpx.Response
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


def _subject(meter: Meter) -> str:
    return f"{meter.arm_sku_name}/{meter.arm_region_name}: {meter.meter_name} ({meter.type})"


def _detail(meter: Meter) -> str:
    until = f" until {meter.effective_end_date:%Y-%m-%d}" if meter.effective_end_date else ""
    price = f"{meter.retail_price} {meter.currency_code} per {meter.unit_of_measure}"
    return f"{meter.product_name}: {price} from {meter.effective_start_date:%Y-%m-%d}{until}"


def _prices(meter: Meter) -> Iterator[_Price | Unreadable]:
    """List the terms of a row: one, or on demand with the savings plans of the size."""
    if meter.type == RESERVATION:
        yield _Price(PriceKind.RESERVED, meter.retail_price, meter.reservation_term or "")
    elif "Spot" in meter.meter_name:
        yield _Price(PriceKind.SPOT, meter.retail_price)
    else:
        yield _Price(PriceKind.ON_DEMAND, meter.retail_price)
        for rate in meter.savings_plan or ():
            if isinstance(rate, Unreadable):
                yield rate
            else:
                yield _Price(PriceKind.SAVINGS_PLAN, rate.retail_price, rate.term)


def _precedence(offer: Offer) -> tuple[datetime | None, Decimal]:
    return offer.provenance.effective_at, offer.usd_per_hour


def _priced(offer: Offer) -> str:
    return f"{offer.usd_per_hour} USD/h from {offer.provenance.effective_at:%Y-%m-%d}"
