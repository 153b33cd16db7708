"""Shadeform: machines of some twenty clouds behind one API, at the clouds' own prices.

Wire:    GET https://api.shadeform.ai/v1/instances/types; one reply, no pages. The header X-API-KEY
         is documented, though public clients are answered without it.
Units:   `hourly_price` of a type is in whole US cents per hour of the whole machine; the price
         that a spot entry of `availability` has of its own is in dollars, as text. Memory of the
         host and of one GPU in GB; use is billed by the second.
Kinds:   on demand, and spot where an entry says `rental_type` spot. Reserved machines and clusters
         are agreed with sales and in no list.
Quirks:  a region may stand twice, once for each rental type; an entry that is not `available` is
         no offer; the suffixes of types are no GPUs (A6000-plus, -80G-DGX, x8-2); `interconnect`
         names the wrong form for some types whose name says sxm, and `nvlink` is not to be relied
         on; CPU types and Gaudi stand in the same list; the region may be "any".
Doors:   a machine is `cloud`'s, and `cloud_instance_type` is the name that it has there: where the
         region is known to be one of that cloud's (doors.csv), both are one stock.
Assumed: prices are in US dollars, as the reply names no currency; an entry without a rental type
         is on demand; "GB" of host memory are GiB, as the clouds' own figures are the same.
"""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction

import httpx
from pydantic import BaseModel

from broker.domain.offer import (
    UNKNOWN_REGION,
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
from providers.kit.doors import place_near, read_doors, sold_singly
from providers.kit.gpus import gpu_of
from providers.kit.parse import Row, Unreadable, parse

URL = "https://api.shadeform.ai/v1/instances/types"

_CENTS = Decimal("0.01")
_ANYWHERE = "any"
_SXM = re.compile(r"sxm\d?", re.IGNORECASE)
_CODE = re.compile(r"[A-Z]{2,3}")
"""Of a country, with which most display names begin; the others end with its name."""
_DEPLOYED = {
    "vm": Virtualization.VM,
    "container": Virtualization.CONTAINER,
    "baremetal": Virtualization.BARE_METAL,
}


class _Configuration(BaseModel):
    gpu_type: str
    num_gpus: int
    vram_per_gpu_in_gb: float | None = None
    interconnect: str | None = None
    memory_in_gb: float | None = None
    vcpus: float | None = None
    storage_in_gb: float | None = None


class _Entry(BaseModel):
    region: str
    available: bool
    display_name: str = ""
    rental_type: str | None = None
    hourly_price: Decimal | None = None


class _Type(BaseModel):
    cloud: str
    shade_instance_type: str
    cloud_instance_type: str = ""
    configuration: _Configuration
    hourly_price: int | None = None
    deployment_type: str = ""
    availability: list[Row[_Entry]]

    @property
    def name(self) -> str:
        """Name the type as nobody else does: its cloud and Shadeform's name for it."""
        return f"{self.cloud}_{self.shade_instance_type}"


class _Reply(BaseModel):
    instance_types: list[Row[_Type]]


class Shadeform:
    """Adapter for Shadeform's list of instance types."""

    name = "shadeform"
    keys: tuple[str, ...] = (API_KEY,)

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._access = access
        self._doors = read_doors(specs.providers)

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        """Ask for the single list."""
        yield http.get(URL, headers=self._access.header("X-API-KEY"))

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make an offer of each entry that can be had now."""
        for reply in replies:
            for row in parse(_Reply, reply).instance_types:
                if isinstance(row, Unreadable):
                    yield self._rejection("a type", row.reason, row.detail)
                else:
                    yield from self._offers(row, reply)

    def _offers(self, row: _Type, reply: httpx.Response) -> Iterator[Offer | Rejection]:
        hardware = self._hardware(row)
        if isinstance(hardware, Rejection):
            yield hardware
            return
        if not row.availability:
            yield self._rejection(row.name, "no_capacity", "no region is listed")
        for entry in row.availability:
            if isinstance(entry, Unreadable):
                yield self._rejection(row.name, entry.reason, entry.detail)
            elif not entry.available:
                subject = f"{row.name}/{entry.region}"
                yield self._rejection(subject, "no_capacity", "listed as not available")
            else:
                yield self._offer(row, entry, hardware, reply)

    def _offer(
        self, row: _Type, entry: _Entry, hardware: Hardware, reply: httpx.Response
    ) -> Offer | Rejection:
        priced = _price(row, entry)
        if isinstance(priced, Unresolved):
            return self._rejection(f"{row.name}/{entry.region}", priced.reason, priced.detail)
        kind, usd_per_hour = priced
        door = self._doors.behind(self.name, row.cloud, entry.region)
        region = UNKNOWN_REGION if entry.region.lower() == _ANYWHERE else entry.region
        return Offer(
            provider=self.name,
            instance_type=row.name,
            place=place_near(self._specs, self.name, region, _words(entry.display_name)),
            price_kind=kind,
            hardware=hardware,
            usd_per_hour=usd_per_hour,
            quote=Quote(amount=usd_per_hour, currency="USD"),
            provenance=provenance(reply),
            operator=door.operator,
            billing=Billing(step_s=1),
            spot=SpotTerms() if kind is PriceKind.SPOT else None,
            limits=Limits(stock_pool=door.pool(row.cloud_instance_type)),
        )

    def _hardware(self, row: _Type) -> Hardware | Rejection:
        """Take what the cloud's own type is known for, else Shadeform's, else what the row says."""
        stated = row.configuration
        count = Fraction(stated.num_gpus)
        if count < 1:
            return self._rejection(row.name, "not_a_gpu", f"{count} GPUs")
        cloud, name = self._specs.providers.of(row.cloud), row.cloud_instance_type
        if self._specs.node(cloud, name) is None:
            cloud, name = self.name, row.name
        gpu = gpu_of(
            self._specs,
            _spellings(row),
            known=self._specs.node(cloud, name),
            gpu_count=count,
            memory_gib=stated.vram_per_gpu_in_gb,
            provider=self.name,
        )
        if isinstance(gpu, Unresolved):
            return self._rejection(row.name, gpu.reason, gpu.detail)
        hardware = self._specs.hardware(
            cloud,
            name,
            gpu=gpu,
            gpu_count=count,
            vcpus=stated.vcpus,
            host_memory_gib=stated.memory_in_gb,
            local_disk_gb=stated.storage_in_gb,
            virtualization=_DEPLOYED.get(row.deployment_type, Virtualization.UNKNOWN),
        )
        return sold_singly(hardware)

    def _rejection(self, subject: str, reason: str, detail: str) -> Rejection:
        return Rejection(provider=self.name, subject=subject, reason=reason, detail=detail)


def _price(row: _Type, entry: _Entry) -> tuple[PriceKind, Decimal] | Unresolved:
    """Read the kind and the dollars of an entry: its own price counts for spot and for no other."""
    of_type = (row.hourly_price or 0) * _CENTS
    match entry.rental_type:
        case "spot":
            kind, usd = PriceKind.SPOT, entry.hourly_price or Decimal(0)
        case None | "on_demand":
            if entry.hourly_price is not None and entry.hourly_price != of_type:
                detail = (
                    f"{entry.hourly_price} beside {of_type} of the type, and not said to be spot"
                )
                return Unresolved("contradicting_prices", detail)
            kind, usd = PriceKind.ON_DEMAND, of_type
        case other:
            return Unresolved("unknown_price_kind", f"rental type {other!r}")
    return (kind, usd) if usd > 0 else Unresolved("no_price", f"{kind} {usd}")


def _spellings(row: _Type) -> Iterator[str]:
    """Name the GPU with its form, which a type's name tells better than `interconnect`."""
    model = row.configuration.gpu_type
    named = _SXM.search(f"{row.shade_instance_type} {row.cloud_instance_type} {model}")
    form = named[0] if named else row.configuration.interconnect
    if form:
        yield f"{_SXM.sub('', model).strip('-_ ')} {form}"
    if not named:
        yield model


def _words(display_name: str) -> str:
    """Write "US, Wichita, KS" and "Des Moines, USA" as places are read: state, then country."""
    parts = [part.strip() for part in display_name.split(",") if part.strip()]
    if len(parts) > 1 and _CODE.fullmatch(parts[0]):
        return f"{parts[-1]}, {parts[0]}"
    return ", ".join(parts[-2:])
