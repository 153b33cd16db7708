"""Mithril: virtual machines by auction, and reservations of hours to weeks.

Wire:    bearer token. GET https://api.mithril.ai/v2/instance-types lists the types, .../v2/spot/
         availability the auctions (one for each type and region), and .../v2/pricing/current?
         instance_type=&region= the prices of one of them; nothing without a key. Lists of these
         kinds have no pages.
Units:   US cents per hour of the whole instance, integers; memory of one GPU, RAM and disk in GB.
Kinds:   the auction's price is spot: every bid above it is served, and all pay it, not their bid;
         what a higher bid takes away is announced five minutes before. `reserved_price_cents` is a
         capacity block: from 3 hours to 2 weeks, by the hour, charged in full when it is made.
Quirks:  `minimum_price_cents` is the floor below which no bid is taken (in catalogs: 1.00 a GPU,
         also 1.50, 0.50 and 0.01). An auction that stands on its floor had no bids: such a price is
         no offer, and neither is one whose floor is not known. Prices may be null.
Assumed: the price of a reservation is that of a short one that starts now; the longest of the
         documentation is two weeks.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial

import httpx
from pydantic import BaseModel, RootModel

from broker.domain.errors import ProviderError
from broker.domain.offer import (
    Billing,
    Block,
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
from providers.kit.gpus import gpu_of
from providers.kit.parse import Row, Unreadable, parse
from providers.kit.parts import Missing, mark_unreadable, or_missing, unless_all_missing

API = "https://api.mithril.ai/v2"
SPOT_NOTICE_S = 300.0
SHORTEST_H, LONGEST_H = 3, 14 * 24
"""Hours that a reservation lasts at the least and at the most."""

_CENTS = Decimal("0.01")
_GIB_PER_GB = 10**9 / 2**30
_STEP_S = 3600.0


class _Type(BaseModel):
    fid: str
    name: str
    num_gpus: int = 0
    gpu_type: str | None = None
    gpu_memory_gb: float | None = None
    gpu_socket: str | None = None
    num_cpus: float | None = None
    ram_gb: float | None = None
    local_storage_gb: float | None = None


class _Auction(BaseModel):
    instance_type: str
    region: str
    capacity: int | None = None


class _Prices(BaseModel):
    spot_price_cents: Decimal | None = None
    reserved_price_cents: Decimal | None = None
    minimum_price_cents: Decimal | None = None
    available_capacity: int | None = None


class _Types(RootModel[list[Row[_Type]]]):
    pass


class _Auctions(RootModel[list[Row[_Auction]]]):
    pass


@dataclass(frozen=True, slots=True)
class _Sold:
    """An instance type in a region, with what it costs there."""

    name: str
    region: str
    hardware: Hardware
    prices: _Prices
    free: int | None


class Mithril:
    """Adapter for Mithril's auctions and reservations."""

    name = "mithril"
    keys: tuple[str, ...] = (API_KEY,)

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._access = access

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response | Missing]:
        """Ask for types and auctions, then for the prices of each auction."""
        headers = self._access.bearer()
        yield http.get(f"{API}/instance-types", headers=headers)
        auctions = http.get(f"{API}/spot/availability", headers=headers)
        yield auctions
        yield from unless_all_missing(self._prices(http, parse(_Auctions, auctions).root))

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make the offers of each auction; types and auctions come first."""
        pages = iter(replies)
        first, second = next(pages, None), next(pages, None)
        if first is None or second is None:
            return
        types: dict[str, tuple[_Type, Hardware]] = {}
        for row in parse(_Types, first).root:
            known = self._type(row)
            if isinstance(known, Rejection):
                yield known
            else:
                types[known[0].fid] = known
        capacity: dict[tuple[str, str], int | None] = {}
        for auction in parse(_Auctions, second).root:
            if isinstance(auction, Unreadable):
                yield self._rejection("an auction", auction.reason, auction.detail)
            else:
                capacity[auction.instance_type, auction.region] = auction.capacity
        for page in pages:
            yield from self._page(page, types, capacity)

    def _prices(
        self, http: httpx.Client, auctions: Iterable[_Auction | Unreadable]
    ) -> Iterator[httpx.Response | Missing]:
        """Ask what each auction costs; one that fails leaves its region as it was."""
        headers = self._access.bearer()
        for one in auctions:
            if isinstance(one, _Auction):
                where = {"instance_type": one.instance_type, "region": one.region}
                ask = partial(http.get, f"{API}/pricing/current", params=where, headers=headers)
                yield from or_missing(ask, Missing(self.name, region=one.region))

    def _type(self, row: _Type | Unreadable) -> tuple[_Type, Hardware] | Rejection:
        if isinstance(row, Unreadable):
            return self._rejection("an instance type", row.reason, row.detail)
        if row.num_gpus < 1:
            return self._rejection(row.name, "not_a_gpu", f"{row.num_gpus} GPUs")
        gpu = gpu_of(
            self._specs,
            (f"{row.gpu_type} {row.gpu_socket}", row.gpu_type or ""),
            known=self._specs.node(self.name, row.name),
            gpu_count=Fraction(row.num_gpus),
            memory_gib=row.gpu_memory_gb,
            provider=self.name,
        )
        if isinstance(gpu, Unresolved):
            return self._rejection(row.name, gpu.reason, gpu.detail)
        hardware = self._specs.hardware(
            self.name,
            row.name,
            gpu=gpu,
            gpu_count=Fraction(row.num_gpus),
            vcpus=row.num_cpus,
            host_memory_gib=None if row.ram_gb is None else row.ram_gb * _GIB_PER_GB,
            local_disk_gb=row.local_storage_gb or None,
            virtualization=Virtualization.VM,
        )
        return row, hardware

    def _page(
        self,
        page: httpx.Response,
        types: Mapping[str, tuple[_Type, Hardware]],
        capacity: Mapping[tuple[str, str], int | None],
    ) -> Iterator[Offer | Rejection]:
        asked = page.request.url.params
        fid, region = asked["instance_type"], asked["region"]
        if fid not in types:  # it was rejected, or is no public type
            yield self._rejection(f"{fid} in {region}", "unknown_instance_type", "see the types")
            return
        row, hardware = types[fid]
        try:
            prices = parse(_Prices, page)
        except ProviderError as failure:  # that region is missing, and no more
            mark_unreadable(page, failure)
            return
        free = prices.available_capacity
        sold = _Sold(
            name=row.name,
            region=region,
            hardware=hardware,
            prices=prices,
            free=capacity.get((fid, region)) if free is None else free,
        )
        for kind in (PriceKind.SPOT, PriceKind.CAPACITY_BLOCK):
            why = _unpriced(sold, kind)
            subject = f"{row.name} in {region} {kind}"
            yield self._rejection(subject, *why) if why else self._offer(sold, kind, page)

    def _offer(self, sold: _Sold, kind: PriceKind, page: httpx.Response) -> Offer:
        is_spot = kind is PriceKind.SPOT
        cents = sold.prices.spot_price_cents if is_spot else sold.prices.reserved_price_cents
        usd_per_hour = (cents or Decimal(0)) * _CENTS  # _unpriced has seen to it
        lengths_h = tuple(range(SHORTEST_H, LONGEST_H + 1))
        return Offer(
            provider=self.name,
            instance_type=sold.name,
            place=self._specs.place(self.name, sold.region),
            price_kind=kind,
            hardware=sold.hardware,
            usd_per_hour=usd_per_hour,
            quote=Quote(amount=usd_per_hour, currency="USD"),
            provenance=provenance(page),
            billing=Billing()
            if is_spot
            else Billing(minimum_h=SHORTEST_H, step_s=_STEP_S, prepaid=True),
            block=None if is_spot else Block(lengths_h=lengths_h),
            spot=SpotTerms(notice_s=SPOT_NOTICE_S) if is_spot else None,
            limits=Limits(stock_nodes=sold.free, max_nodes=sold.free),
            warnings=(_warning(sold.prices, is_spot=is_spot),),
        )

    def _rejection(self, subject: str, reason: str, detail: str) -> Rejection:
        return Rejection(provider=self.name, subject=subject, reason=reason, detail=detail)


def _unpriced(sold: _Sold, kind: PriceKind) -> tuple[str, str] | None:
    """Say why there is no offer of a kind: reason and detail."""
    prices = sold.prices
    is_spot = kind is PriceKind.SPOT
    cents = prices.spot_price_cents if is_spot else prices.reserved_price_cents
    if not cents or cents < 0:
        return "no_price", f"{cents} cents"
    floor = prices.minimum_price_cents
    if is_spot and floor is None:
        return "unknown_floor", f"{cents} cents, and no floor to tell a price from"
    if is_spot and floor is not None and cents <= floor:
        return "auction_floor", f"{cents} cents stand on the floor of {floor}"
    if sold.free is not None and sold.free < 1:
        return "no_capacity", "none is free now"
    return None


def _warning(prices: _Prices, *, is_spot: bool) -> str:
    if is_spot:
        floor = (prices.minimum_price_cents or Decimal(0)) * _CENTS
        return f"the auction's price now, {floor} at the least; it stops what bid less"
    return "charged in full when it is made; the price is quoted for each window"
