"""Scaleway: the public catalog of each zone, in euros, with a list of what is in stock beside it.

Wire:  GET https://api.scaleway.com/instance/v1/zones/ZONE/products/servers/availability, then
       .../products/servers, both by `page` and `per_page`; the number of rows is in the header
       `X-Total-Count`. No key; one that is set goes along as `X-Auth-Token`.
Units: EUR per hour of the whole node, before tax, in dollars at the rate of the day (the quote is
       kept); `ram`, `gpu_memory` (of one GPU) and `scratch_storage_max_size` are bytes; use is
       billed by the minute, RENDER-S by the hour.
Kinds: on demand only. `monthly_price` is 730 hours of it, neither a discount nor a commitment, and
       is not read; savings plans and reserved machines are agreed with sales and in no list.
Quirks: `servers` is a map of types by name; the name of a type has its GPUs before their memory
       (H100-SXM-8-80G); `availability` is of the zone: available, scarce, or shortage, and a type
       in shortage is shown without stock; a type with a `mig_profile` is a part of a GPU and is
       refused, as is one at its `end_of_service`. The boot volume and a public IPv4 address cost
       extra, and are in no price of the catalog.
Assumed: the zones of ZONES are the ones with GPUs (seen 2026-10-01); the setting `regions`, a list
       of zones or of regions that have some of these, overrides them. A type that the list of
       stock does not name may be had.
"""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

import httpx
from pydantic import BaseModel

from broker.domain.errors import ProviderError
from broker.domain.offer import (
    Billing,
    Hardware,
    Limits,
    Offer,
    PriceKind,
    Rejection,
    Virtualization,
)
from broker.specs.load import Specs, Unresolved
from providers.kit.access import Access
from providers.kit.adapter import provenance
from providers.kit.currency import Rates, in_usd
from providers.kit.gpus import gpu_of
from providers.kit.parse import Row, Unreadable, parse
from providers.kit.parts import Missing, unless_all_missing

ZONES = ("fr-par-2", "fr-par-1", "pl-waw-2")
PAGE_ROWS = 100

_ROOT = "https://api.scaleway.com/instance/v1/zones"
_SERVERS = "products/servers"
_AVAILABILITY = "products/servers/availability"
_SHORTAGE = "shortage"
_BYTES_PER_GB = 10**9
_BYTES_PER_GIB = 2**30
_STEP_S = 60.0
_HOURLY_STEP_S = {"RENDER-S": 3600.0}
_EXTRAS = "the boot volume and a public IPv4 address are billed on top"


class _GpuInfo(BaseModel):
    gpu_name: str
    gpu_memory: int


class _Server(BaseModel):
    hourly_price: Decimal | None = None
    ncpus: float | None = None
    ram: int | None = None
    gpu: int
    gpu_info: _GpuInfo | None = None
    mig_profile: str | None = None
    scratch_storage_max_size: int | None = None
    end_of_service: bool = False


class _Stock(BaseModel):
    availability: str


class _Servers(BaseModel):
    servers: dict[str, Row[_Server]]


class _Availability(BaseModel):
    servers: dict[str, Row[_Stock]]


class _Counted(BaseModel):
    servers: dict[str, object]


class Scaleway:
    """Adapter for Scaleway's catalog of instance types, zone by zone."""

    name = "scaleway"
    keys: tuple[str, ...] = ("api_key",)

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        named = (zone for one in access.regions for zone in _zones_of(one))
        self._zones = tuple(dict.fromkeys(named)) or ZONES
        self._access = access

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response | Missing]:
        """Ask for the stock and the types of each zone; one that fails is missing alone.

        Raises:
            ProviderError: no zone can be had.
        """
        yield from unless_all_missing(self._each_zone(http))

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make an offer of each GPU type of each zone; the stock of a zone precedes its types."""
        rates, stock = Rates(), dict[tuple[str, str], str]()
        for reply in replies:
            zone = _zone_of(reply)
            if reply.request.url.path.endswith(_AVAILABILITY):
                for name, known in parse(_Availability, reply).servers.items():
                    if isinstance(known, _Stock):
                        stock[zone, name] = known.availability
                continue
            for name, server in parse(_Servers, reply).servers.items():
                yield self._offer(
                    name, server, stock=stock.get((zone, name)), reply=reply, rates=rates
                )

    def _each_zone(self, http: httpx.Client) -> Iterator[httpx.Response | Missing]:
        for zone in self._zones:
            try:
                replies: Sequence[httpx.Response] = tuple(self._zone(http, zone))
            except ProviderError as failure:
                yield Missing(self.name, region=_region(zone), why=str(failure))
            else:
                yield from replies

    def _zone(self, http: httpx.Client, zone: str) -> Iterator[httpx.Response]:
        headers = self._access.header("X-Auth-Token")
        for path in (_AVAILABILITY, _SERVERS):
            page, seen = 1, set[str]()
            while True:
                asked = {"page": str(page), "per_page": str(PAGE_ROWS)}
                reply = http.get(f"{_ROOT}/{zone}/{path}", params=asked, headers=headers)
                yield reply
                rows = parse(_Counted, reply).servers.keys()
                if rows and rows <= seen:
                    raise ProviderError(
                        f"{_ROOT}/{zone}/{path}: page {page} has the rows of an earlier one",
                        hint="try again; if it stays, the provider's API has changed",
                    )
                seen |= rows
                if not rows or not _more(reply, rows=len(rows), seen=len(seen)):
                    break
                page += 1

    def _offer(
        self,
        name: str,
        server: _Server | Unreadable,
        *,
        stock: str | None,
        reply: httpx.Response,
        rates: Rates,
    ) -> Offer | Rejection:
        zone, stamps = _zone_of(reply), provenance(reply)
        subject = f"{name}/{zone}"
        if isinstance(server, Unreadable):
            return self._rejection(subject, server.reason, server.detail)
        hardware = self._hardware(name, server)
        if isinstance(hardware, Unresolved):
            return self._rejection(subject, hardware.reason, hardware.detail)
        price = server.hourly_price
        quote = (
            rates.quote(price, "EUR", stamps.observed_at.date()) if price and price > 0 else None
        )
        if quote is None:
            return self._rejection(subject, "no_price", f"EUR {price} an hour")
        return Offer(
            provider=self.name,
            instance_type=name,
            place=self._specs.place(self.name, _region(zone), zone),
            price_kind=PriceKind.ON_DEMAND,
            hardware=hardware,
            usd_per_hour=in_usd(quote),
            quote=quote,
            provenance=stamps,
            billing=Billing(step_s=_HOURLY_STEP_S.get(name, _STEP_S)),
            limits=Limits(stock_level=stock, stock_nodes=0 if stock == _SHORTAGE else None),
            warnings=(_EXTRAS,),
        )

    def _hardware(self, name: str, server: _Server) -> Hardware | Unresolved:
        gpu, disk_bytes = self._gpu(name, server), server.scratch_storage_max_size
        if isinstance(gpu, Unresolved):
            return gpu
        return self._specs.hardware(
            self.name,
            name,
            gpu=gpu,
            gpu_count=Fraction(server.gpu),
            vcpus=server.ncpus,
            host_memory_gib=server.ram / _BYTES_PER_GIB if server.ram else None,
            local_disk_gb=disk_bytes / _BYTES_PER_GB if disk_bytes else None,
            virtualization=Virtualization.VM,
        )

    def _gpu(self, name: str, server: _Server) -> str | Unresolved:
        """Find the GPU of a type, or say why the type is no offer."""
        if server.gpu <= 0:
            return Unresolved("not_a_gpu", "the type has no GPU")
        if server.mig_profile:
            return Unresolved("mig_slice", f"{server.mig_profile} of a GPU")
        if server.end_of_service:
            return Unresolved("end_of_service", "no new machine of the type can be had")
        stated, known = server.gpu_info, self._specs.node(self.name, name)
        return gpu_of(
            self._specs,
            [stated.gpu_name if stated else known.gpu if known else ""],
            known=known,
            gpu_count=Fraction(server.gpu),
            memory_gib=stated.gpu_memory / _BYTES_PER_GIB if stated else None,
            provider=self.name,
        )

    def _rejection(self, subject: str, reason: str, detail: str) -> Rejection:
        return Rejection(provider=self.name, subject=subject, reason=reason, detail=detail)


def _more(reply: httpx.Response, *, rows: int, seen: int) -> bool:
    """Tell whether rows are left: by the count in the header, else by how full the page is."""
    total = reply.headers.get("X-Total-Count", "")
    return seen < int(total) if total.isdigit() else rows >= PAGE_ROWS


def _zone_of(reply: httpx.Response) -> str:
    return reply.request.url.path.split("/zones/")[1].split("/")[0]


def _zones_of(name: str) -> tuple[str, ...]:
    """Give the zones of a region with GPUs; any other name is that of a zone."""
    return tuple(zone for zone in ZONES if _region(zone) == name) or (name,)


def _region(zone: str) -> str:
    """Give the region of a zone: fr-par of fr-par-2."""
    return zone.rpartition("-")[0]
