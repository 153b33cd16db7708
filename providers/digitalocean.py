"""DigitalOcean GPU Droplets, and AMD Developer Cloud: the same API under another name and key.

Wire:  GET https://api.digitalocean.com/v2/sizes, 200 sizes a page by `page`, with a bearer key;
       https://api.devcloud.amd.com/v2/sizes with the key `amd_api_key`, where there is one: its
       failure leaves its region out and no more.
Units: USD per hour of the whole Droplet; `memory` in MB (2^20 bytes), disks in GiB or TiB,
       `gpu_info.vram` of all GPUs together.
Kinds: a slug that ends in -spot is a spot price, -contracted a price of a contract (refused: the
       list has no term), any other on demand. `price_monthly` is 744 hours, neither a discount nor
       a commitment, and is not read. Reserved prices are agreed with sales and in no list.
Quirks: `available` true beside empty `regions` means that the account may not have it; sizes
       without `gpu_info` have no GPU; a Droplet that is powered off costs the same; outgoing
       traffic above what a size includes is billed.
Assumed: what an account sees is what it can have; AMD Developer Cloud is in atl1.
"""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

import httpx
from pydantic import BaseModel

from broker.domain.errors import ProviderError
from broker.domain.offer import (
    Hardware,
    Offer,
    PriceKind,
    Quote,
    Rejection,
    SpotTerms,
    Virtualization,
)
from broker.specs.load import Specs, Unresolved
from providers.kit.access import Access
from providers.kit.adapter import provenance
from providers.kit.gpus import gpu_of
from providers.kit.parse import Row, Unreadable, parse
from providers.kit.parts import Missing

URL = "https://api.digitalocean.com/v2/sizes"
AMD_URL = "https://api.devcloud.amd.com/v2/sizes"
AMD_REGION = "atl1"
PAGE_ROWS = 200

_AMD_KEY = "amd_api_key"
_MB_PER_GIB = 1024
_GB_PER_UNIT = {"gib": 2**30 / 10**9, "tib": 2**40 / 10**9}
_SPOT, _CONTRACTED = "-spot", "-contracted"
_POWERED_OFF = "a Droplet is billed until it is destroyed, powered off too"
_AMD_ACCOUNT = "sold to accounts of AMD Developer Cloud only"


class _Amount(BaseModel):
    amount: Decimal
    unit: str


class _GpuInfo(BaseModel):
    count: int
    model: str
    vram: _Amount


class _Disk(BaseModel):
    type: str
    size: _Amount


class _Size(BaseModel):
    slug: str
    memory: float
    vcpus: float
    price_hourly: Decimal | None = None
    regions: list[str]
    available: bool
    gpu_info: _GpuInfo | None = None
    disk_info: list[_Disk] = []


class _Meta(BaseModel):
    total: int


class _Page(BaseModel):
    sizes: list[Row[_Size]]
    meta: _Meta


class DigitalOcean:
    """Adapter for the sizes of DigitalOcean and of AMD Developer Cloud."""

    name = "digitalocean"
    keys: tuple[str, ...] = ("api_key", _AMD_KEY)

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._access = access

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response | Missing]:
        """Ask for every page of sizes, then for AMD's where there is a key."""
        yield from _pages(http, URL, self._access.bearer())
        if self._access.key(_AMD_KEY) is None:
            return
        try:
            replies = tuple(_pages(http, AMD_URL, self._access.bearer(_AMD_KEY)))
        except ProviderError as failure:
            yield Missing(self.name, region=AMD_REGION, why=str(failure))
        else:
            yield from replies

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make an offer of each GPU size in each region that the account can have it in."""
        for reply in replies:
            for size in parse(_Page, reply).sizes:
                if isinstance(size, Unreadable):
                    yield self._rejection("a size", size.reason, size.detail)
                else:
                    yield from self._offers(size, reply)

    def _offers(self, size: _Size, reply: httpx.Response) -> Iterator[Offer | Rejection]:
        hardware, price = self._hardware(size), size.price_hourly
        if isinstance(hardware, Unresolved):
            yield self._rejection(size.slug, hardware.reason, hardware.detail)
            return
        if not price or price < 0:
            yield self._rejection(size.slug, "no_price", f"{price} an hour")
            return
        spot = size.slug.endswith(_SPOT)
        amd = reply.request.url.host == httpx.URL(AMD_URL).host
        for region in size.regions:
            yield Offer(
                provider=self.name,
                instance_type=size.slug,
                place=self._specs.place(self.name, region),
                price_kind=PriceKind.SPOT if spot else PriceKind.ON_DEMAND,
                hardware=hardware,
                usd_per_hour=price,
                quote=Quote(amount=price, currency="USD"),
                provenance=provenance(reply),
                spot=SpotTerms() if spot else None,
                warnings=(_POWERED_OFF, _AMD_ACCOUNT) if amd else (_POWERED_OFF,),
            )

    def _hardware(self, size: _Size) -> Hardware | Unresolved:
        """Describe a Droplet, or say why it cannot be had."""
        if size.gpu_info is None:
            return Unresolved("not_a_gpu", "the size has no GPU")
        if size.slug.endswith(_CONTRACTED):
            return Unresolved("contract_only", "the price of a contract whose term is unknown")
        if not size.available:
            return Unresolved("not_available", "the size is not available")
        if not size.regions:
            return Unresolved("no_region", "in no region for this account")
        gpu = self._gpu(size.slug, size.gpu_info)
        if isinstance(gpu, Unresolved):
            return gpu
        return self._specs.hardware(
            self.name,
            size.slug,
            gpu=gpu,
            gpu_count=Fraction(size.gpu_info.count),
            vcpus=size.vcpus,
            host_memory_gib=size.memory / _MB_PER_GIB,
            local_disk_gb=_disk_gb(size),
            virtualization=Virtualization.VM,
        )

    def _gpu(self, slug: str, stated: _GpuInfo) -> str | Unresolved:
        if stated.count <= 0:
            return Unresolved("not_a_gpu", f"{stated.count} GPUs")
        return gpu_of(
            self._specs,
            [stated.model],
            known=self._specs.node(self.name, slug),
            gpu_count=Fraction(stated.count),
            memory_gib=float(stated.vram.amount) / stated.count,
            provider=self.name,
        )

    def _rejection(self, subject: str, reason: str, detail: str) -> Rejection:
        return Rejection(provider=self.name, subject=subject, reason=reason, detail=detail)


def _pages(http: httpx.Client, url: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
    page, seen = 1, 0
    while True:
        asked = {"per_page": str(PAGE_ROWS), "page": str(page)}
        reply = http.get(url, params=asked, headers=headers)
        yield reply
        found = parse(_Page, reply)
        page, seen = page + 1, seen + len(found.sizes)
        if not found.sizes or seen >= found.meta.total:
            break


def _disk_gb(size: _Size) -> float | None:
    """Add up the disks inside the machine, boot and scratch; None where one cannot be read."""
    total_gb = 0.0
    for disk in size.disk_info:
        gb_per_unit = _GB_PER_UNIT.get(disk.size.unit.lower())
        if gb_per_unit is None:
            return None
        total_gb += float(disk.size.amount) * gb_per_unit
    return total_gb or None
