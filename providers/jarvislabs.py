"""JarvisLabs: GPUs by the hour as containers and virtual machines, in India and in Europe.

Wire:    bearer token. GET https://backendn.jarvislabs.net/misc/ tells by `success` whether the
         account pays in rupees, .../misc/server_meta lists the pools of all regions, in one page;
         nothing without a key.
Units:   price, cores and RAM (GB) of ONE GPU, in the currency of the ACCOUNT: rupees are converted
         at the rate of the day, with the quote kept. `currency` beside the prices, where it stands
         there, says more than the other answer; prices of no known currency are no prices.
Kinds:   on demand; spot for containers alone, though rows of virtual machines carry its price.
Quirks:  a pool gives 1, 2, 4 or 8 GPUs up to `num_gpus` (1 where it is absent); Europe gives single
         GPUs, and the counts of free ones there are not to be believed. Containers and virtual
         machines of one GPU in one region are the same pool, listed twice; `workload_type` null
         tells neither. One card has two names (RTX-PRO6000, RTX PRO 6000). Numbers may be texts,
         empty or no numbers. A region that the vendor's own client does not know cannot be used.
         "A100" is sold in two forms that the name does not tell apart.
Assumed: disk is billed apart, 0.10 USD for a GB and month by the price page of 2026-09-20.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

import httpx
from pydantic import BaseModel, BeforeValidator

from broker.domain.offer import (
    Billing,
    Hardware,
    Limits,
    Offer,
    PriceKind,
    Quote,
    Rejection,
    SpotTerms,
    Virtualization,
)
from broker.specs.load import Specs, Unresolved
from providers.kit.access import API_KEY, Access
from providers.kit.adapter import provenance
from providers.kit.currency import Rates, in_usd
from providers.kit.duplicates import cheapest
from providers.kit.parse import Row, Unreadable, parse

API = "https://backendn.jarvislabs.net/misc/"
GPU_COUNTS = (1, 2, 4, 8)
LARGEST = {"india-noida-01": 8, "india-chennai-01": 8, "europe-01": 1}
"""The regions that can be used, with the most GPUs of one machine there."""
UNTRUSTED_STOCK = frozenset({"europe-01"})

_META = "server_meta"
_GIB_PER_GB = 10**9 / 2**30
_BILLING_STEP_S = 60.0
_MACHINES = {"container": Virtualization.CONTAINER, "vm": Virtualization.VM}


def _blank_is_none(value: object) -> object:
    return None if isinstance(value, str) and not value.strip() else value


_Blank = BeforeValidator(_blank_is_none)
_Number = Annotated[float | None, _Blank]
_Count = Annotated[int | None, _Blank]
_Price = Annotated[Decimal | None, _Blank]


class _Account(BaseModel):
    """Whether the account pays in rupees; the field is also spelled with one c."""

    success: bool | None = None
    sucess: bool | None = None


class _Pool(BaseModel):
    gpu_type: str
    region: str | None = None
    num_free_devices: _Count = None
    effective_num_free_devices: _Count = None
    spot_num_free_devices: _Count = None
    price_per_hour: _Price = None
    spot_price: _Price = None
    vram: _Number = None
    cpus_per_gpu: _Number = None
    ram_per_gpu: _Number = None
    workload_type: str | None = None
    num_gpus: _Count = None


class _Meta(BaseModel):
    currency: str | None = None
    server_meta: list[Row[_Pool]]


@dataclass(frozen=True, slots=True)
class _Paid:
    """What prices are in, and the day on which they were read."""

    currency: str
    on: date


@dataclass(frozen=True, slots=True)
class _Sale:
    """One way to buy from a pool: the price of one GPU, in the account's currency."""

    kind: PriceKind
    price: Decimal
    free: int
    pool: int
    """GPUs that are free in any kind; `free` of them can be had in this one."""


class JarvisLabs:
    """Adapter for JarvisLabs' pools."""

    name = "jarvislabs"
    keys: tuple[str, ...] = (API_KEY,)

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._access = access
        self._rates = Rates()

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        """Ask what the account pays in, then for the pools."""
        headers = self._access.bearer()
        yield http.get(API, headers=headers)
        yield http.get(f"{API}{_META}", headers=headers)

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make offers of each pool, one for each count and price kind."""
        account = ""
        for reply in replies:
            if not reply.request.url.path.endswith(_META):
                account = _currency(parse(_Account, reply))
                continue
            meta = parse(_Meta, reply)
            on = provenance(reply).observed_at.date()
            paid = _Paid(meta.currency or account, on)
            yield from cheapest(
                one for row in meta.server_meta for one in self._offers(row, paid, reply)
            )

    def _offers(
        self, row: _Pool | Unreadable, paid: _Paid, reply: httpx.Response
    ) -> Iterator[Offer | Rejection]:
        if isinstance(row, Unreadable):
            yield self._rejection("a pool", row.reason, row.detail)
            return
        subject = f"{row.gpu_type} in {row.region} ({row.workload_type})"
        unit = self._quote(Decimal(1), paid)
        if unit is None:
            yield self._rejection(subject, "unknown_currency", f"currency {paid.currency!r}")
            return
        if row.region not in LARGEST:
            yield self._rejection(subject, "unknown_region", f"region {row.region!r}")
            return
        gpu = self._specs.resolve_gpu(row.gpu_type, memory_gib=row.vram, provider=self.name)
        if isinstance(gpu, Unresolved):
            yield self._rejection(subject, gpu.reason, gpu.detail)
            return
        for sale in _sales(row):
            if isinstance(sale, _Sale):
                yield from self._sized(row, row.region, gpu, sale, unit=unit, reply=reply)
            else:
                yield self._rejection(subject, *sale)

    def _sized(
        self,
        row: _Pool,
        region: str,
        gpu: str,
        sale: _Sale,
        *,
        unit: Quote,
        reply: httpx.Response,
    ) -> Iterator[Offer]:
        """Make an offer of each count that one machine can have."""
        pool = f"{self.name}/{region}/{gpu}"
        largest = min(LARGEST[region], row.num_gpus or 1, sale.free)
        for count in (count for count in GPU_COUNTS if count <= largest):
            quote = unit.model_copy(update={"amount": sale.price * count})
            yield Offer(
                provider=self.name,
                instance_type=_instance_type(row, count),
                place=self._specs.place(self.name, region),
                price_kind=sale.kind,
                hardware=self._hardware(row, gpu, count),
                usd_per_hour=in_usd(quote),
                quote=quote,
                provenance=provenance(reply),
                tier=row.workload_type or "",
                billing=Billing(step_s=_BILLING_STEP_S),
                spot=SpotTerms() if sale.kind is PriceKind.SPOT else None,
                limits=_limits(sale, pool, count, trusted=region not in UNTRUSTED_STOCK),
                warnings=("disk is billed apart, by the GB and month",),
            )

    def _hardware(self, row: _Pool, gpu: str, count: int) -> Hardware:
        return self._specs.hardware(
            self.name,
            _instance_type(row, count),
            gpu=gpu,
            gpu_count=Fraction(count),
            vcpus=_times(row.cpus_per_gpu, count),
            host_memory_gib=_times(row.ram_per_gpu, count * _GIB_PER_GB),
            virtualization=_MACHINES.get(row.workload_type or "", Virtualization.UNKNOWN),
        )

    def _quote(self, amount: Decimal, paid: _Paid) -> Quote | None:
        """Quote an amount as it is paid; None where its currency is not known."""
        if paid.currency == "USD":
            return Quote(amount=amount, currency=paid.currency)
        return self._rates.quote(amount, paid.currency, paid.on)

    def _rejection(self, subject: str, reason: str, detail: str) -> Rejection:
        return Rejection(provider=self.name, subject=subject, reason=reason, detail=detail)


def _currency(account: _Account) -> str:
    """Name the currency of an account; empty where the answer does not say."""
    pays_rupees = account.sucess if account.success is None else account.success
    return "" if pays_rupees is None else "INR" if pays_rupees else "USD"


def _sales(row: _Pool) -> Iterator[_Sale | tuple[str, str]]:
    """Tell how a pool sells, and why not: reason and detail."""
    free = row.effective_num_free_devices
    free = row.num_free_devices if free is None else free
    firm = free or 0
    yield _sale(PriceKind.ON_DEMAND, row.price_per_hour, free, pool=firm)
    if row.spot_price is None:
        return
    if row.workload_type == "vm":
        detail = f"{row.spot_price} stands there, but virtual machines have no spot"
        yield "not_sold", detail
        return
    free = row.num_free_devices if row.spot_num_free_devices is None else row.spot_num_free_devices
    yield _sale(PriceKind.SPOT, row.spot_price, free, pool=firm)


def _sale(
    kind: PriceKind, price: Decimal | None, free: int | None, *, pool: int
) -> _Sale | tuple[str, str]:
    if price is None or price <= 0:
        return "no_price", f"{kind}: the price is {price}"
    if not free or free < 0:
        return "no_capacity", f"{kind}: {free} are free"
    return _Sale(kind, price, free, pool=max(free, pool))


def _limits(sale: _Sale, pool: str, count: int, *, trusted: bool) -> Limits:
    """Count the pool for all kinds alike, as they share it; fewer on spot bound spot alone."""
    if not trusted:
        return Limits(stock_level="available", stock_pool=pool)
    most = sale.free // count if sale.free < sale.pool else None
    return Limits(stock_pool=pool, stock_gpus=sale.pool, max_nodes=most)


def _instance_type(row: _Pool, count: int) -> str:
    return f"{count}x {row.gpu_type}"


def _times(of_one: float | None, count: float) -> float | None:
    return of_one * count if of_one else None
