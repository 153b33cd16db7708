"""OCI: Oracle's public price list, which names parts; a part is one GPU, a shape has several.

Wire:    GET https://apexapps.oracle.com/pls/apex/cetools/api/v1/products/?currencyCode=USD, no key:
         some 600 products in one reply. The server honours no other filter. Should a reply ever
         have a link "next", it is followed.
Units:   USD per GPU and hour, with the host's CPUs, memory and disks in it.
Kinds:   on demand; spot for the shapes that Oracle lets be preemptible, at half the list price by
         Oracle's rule. No committed price is public.
Quirks:  display names are written in many ways, so a part's number decides, and its name must
         still say what the number is known for. NVIDIA AI Enterprise licences have the category
         and the unit of a GPU (2.50 for an H100), Cloud@Customer machines the unit: both are
         other products. The list has no regions and no shapes: one price holds in all commercial
         regions, and which of them has a shape only an account can see. So the user names the
         regions (GPUBROKER_OCI_REGIONS); without them an offer's region is unknown, and it is
         shown and not planned with. Government regions have other prices.
Assumed: part B93544 ("E4") is that of BM.GPU.B4.8, as B92740 ("E3") is that of BM.GPU4.8; both cost
         the same. H100T (B109480) has no shape that was found.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType

import httpx
from pydantic import BaseModel, Field

from broker.domain.errors import ProviderError
from broker.domain.offer import (
    UNKNOWN_REGION,
    Offer,
    Place,
    PriceKind,
    Quote,
    Rejection,
    SpotTerms,
)
from broker.domain.quantities import Instant
from broker.specs.load import Specs
from providers.kit.access import Access
from providers.kit.adapter import provenance
from providers.kit.parse import Row, Unreadable, parse

URL = httpx.URL("https://apexapps.oracle.com/pls/apex/cetools/api/v1/products/?currencyCode=USD")

_METRIC = "GPU Per Hour"
_CATEGORIES = ("Compute - GPU", "Compute - GPU - Other")
_LICENCE = "nvidia ai enterprise"
_PAY_AS_YOU_GO = "PAY_AS_YOU_GO"
_PREEMPTIBLE = frozenset({"VM.GPU2.1", "VM.GPU3.1", "VM.GPU3.2", "VM.GPU3.4"})
"""Shapes with `allowPreemptible` in Oracle's cost estimator (2026-09-18); no other GPU shape."""
_PREEMPTIBLE_SHARE = Decimal("0.5")
_WORD = re.compile(r"[a-z0-9]+")
_HOUSE = re.compile(r"^(oracle cloud infrastructure|oci) ")
_WHERE = "the list has one price for all commercial regions and does not say which have the shape"


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the list: its display name in plain words, and the shapes that it prices."""

    name: str
    shapes: tuple[str, ...]


_PARTS: Mapping[str, _Part] = MappingProxyType(
    {
        "B88517": _Part("compute bare metal gpu standard x7", ("BM.GPU2.2",)),
        "B88518": _Part("compute virtual machine gpu standard x7", ("VM.GPU2.1",)),
        "B89734": _Part(
            "compute gpu standard v2", ("VM.GPU3.1", "VM.GPU3.2", "VM.GPU3.4", "BM.GPU3.8")
        ),
        "B92740": _Part("compute gpu e3", ("BM.GPU4.8",)),
        "B93544": _Part("compute gpu e4", ("BM.GPU.B4.8",)),
        "B95907": _Part("compute gpu a100 v2", ("BM.GPU.A100-v2.8",)),
        "B95909": _Part("compute gpu a10", ("VM.GPU.A10.1", "VM.GPU.A10.2", "BM.GPU.A10.4")),
        "B98415": _Part("compute gpu h100", ("BM.GPU.H100.8",)),
        "B109479": _Part("compute gpu l40s", ("BM.GPU.L40S.4",)),
        "B109485": _Part("compute gpu mi300x", ("BM.GPU.MI300X.8",)),
        "B110519": _Part("compute gpu h200", ("BM.GPU.H200.8",)),
        "B110978": _Part("compute gpu b200", ("BM.GPU.B200.8",)),
        "B110979": _Part("compute gpu gb200", ("BM.GPU.GB200.4",)),
        "B111758": _Part("compute gpu mi355x", ("BM.GPU.MI355X.8",)),
        "B112140": _Part("compute gpu gb300", ("BM.GPU.GB300.4",)),
        "B112237": _Part("compute gpu b300", ("BM.GPU.B300.8",)),
        "B112613": _Part("compute gpu rtx pro 6000", ("BM.GPU.RTXPRO.8",)),
    }
)
"""Oracle's cost estimator (2026-09-18) joins parts and shapes so; the rest of a shape is known."""


class _Price(BaseModel):
    model: str
    value: Decimal | None = None


class _Localization(BaseModel):
    currency: str = Field(alias="currencyCode")
    prices: list[_Price]


class _Product(BaseModel):
    part: str = Field(alias="partNumber")
    name: str = Field(alias="displayName")
    metric: str = Field(alias="metricName")
    category: str = Field(alias="serviceCategory")
    localizations: list[_Localization] = Field(default=[], alias="currencyCodeLocalizations")

    @property
    def words(self) -> str:
        """Write the name in plain words: lower case, one blank between two, without the house."""
        return _HOUSE.sub("", " ".join(_WORD.findall(self.name.lower())))


class _Link(BaseModel):
    rel: str
    href: str


class _Page(BaseModel):
    products: list[Row[_Product]] = Field(alias="items")
    updated_at: Instant | None = Field(default=None, alias="lastUpdated")
    links: list[_Link] = []


@dataclass(frozen=True, slots=True)
class _Refused:
    reason: str
    detail: str


class OracleCloud:
    """Adapter for Oracle's public price list; `access.regions` are those to offer its shapes in."""

    name = "oci"
    keys: tuple[str, ...] = ()

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._regions = access.regions or (UNKNOWN_REGION,)

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        """Ask for the list, and for the page that a reply links as the next one.

        Raises:
            ProviderError: a page links to another host, or to a page that was already read.
        """
        page: httpx.URL | None = URL
        read: set[httpx.URL] = set()
        while page is not None:
            if page in read or page.host != URL.host:
                raise ProviderError(
                    f"{URL.host}: a page links to {page}", hint="the price list may have changed"
                )
            read.add(page)
            reply = http.get(page)
            yield reply
            page = _next_page(reply)

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make an offer of each shape of a part, in each region that the user has named."""
        places: list[Place] = []
        for found in map(self._place, self._regions):
            if isinstance(found, Rejection):
                yield found
            else:
                places.append(found)
        for reply in replies:
            page = parse(_Page, reply)
            for product in page.products:
                if isinstance(product, Unreadable):
                    yield self._rejection("a product", product)
                elif _is_about_gpus(product):
                    yield from self._offers(product, places, reply=reply, at=page.updated_at)

    def _place(self, region: str) -> Place | Rejection:
        place = self._specs.place(self.name, region)
        if region == UNKNOWN_REGION:
            return place
        if place.country is None:
            detail = "no region of OCI has this name; GPUBROKER_OCI_REGIONS lists ids"
            return self._rejection(region, _Refused("unknown_region", detail))
        if place.partition != "commercial":
            detail = f"the list does not hold in a {place.partition} region"
            return self._rejection(region, _Refused("other_realm", detail))
        return place

    def _offers(
        self,
        product: _Product,
        places: Sequence[Place],
        *,
        reply: httpx.Response,
        at: datetime | None,
    ) -> Iterator[Offer | Rejection]:
        subject = f"{product.part}: {product.name}"
        usd = _other_product(product) or _usd_per_gpu_hour(product)
        if isinstance(usd, _Refused):
            yield self._rejection(subject, usd)
            return
        for shape in _PARTS[product.part].shapes:
            for place in places:
                yield self._offer(shape, usd, place, reply=reply, at=at)
                if shape in _PREEMPTIBLE:
                    half = usd * _PREEMPTIBLE_SHARE
                    yield self._offer(shape, half, place, reply=reply, at=at, is_spot=True)

    def _offer(
        self,
        shape: str,
        usd_per_gpu_hour: Decimal,
        place: Place,
        *,
        reply: httpx.Response,
        at: datetime | None,
        is_spot: bool = False,
    ) -> Offer | Rejection:
        facts = self._specs.node(self.name, shape)
        if facts is None:
            return self._rejection(shape, _Refused("unknown_shape", "the shape is in no table"))
        usd_per_hour = usd_per_gpu_hour * facts.gpu_count.numerator / facts.gpu_count.denominator
        half = ("half the list price, by Oracle's rule for preemptible instances",)
        return Offer(
            provider=self.name,
            instance_type=shape,
            place=place,
            price_kind=PriceKind.SPOT if is_spot else PriceKind.ON_DEMAND,
            hardware=self._specs.hardware(
                self.name, shape, gpu=facts.gpu, gpu_count=facts.gpu_count
            ),
            usd_per_hour=usd_per_hour,
            quote=Quote(amount=usd_per_hour, currency="USD"),
            provenance=provenance(reply, effective_at=at),
            spot=SpotTerms() if is_spot else None,
            warnings=(_WHERE, *(half if is_spot else ())),
        )

    def _rejection(self, subject: str, why: _Refused | Unreadable) -> Rejection:
        return Rejection(provider=self.name, subject=subject, reason=why.reason, detail=why.detail)


def _next_page(reply: httpx.Response) -> httpx.URL | None:
    links = parse(_Page, reply).links
    return next((URL.join(link.href) for link in links if link.rel == "next"), None)


def _is_about_gpus(product: _Product) -> bool:
    """Leave out the other products of the house, which are most of the list."""
    return product.metric == _METRIC or "gpu" in f"{product.category} {product.name}".lower()


def _other_product(product: _Product) -> _Refused | None:
    """Say why a product is no GPU of the public cloud, or none that is known."""
    if product.metric != _METRIC or product.category not in _CATEGORIES:
        return _Refused("other_product", f"{product.category!r}, {product.metric!r}")
    if _LICENCE in product.words:
        return _Refused("software_licence", "a licence that comes on top of the GPU")
    part = _PARTS.get(product.part)
    if part is None:
        return _Refused("unknown_part", "no shape is known that this part prices")
    if part.name != product.words:
        return _Refused("part_renamed", f"the part is known as {part.name!r}")
    return None


def _usd_per_gpu_hour(product: _Product) -> Decimal | _Refused:
    """Find the one price in dollars; none, zero or several are no price."""
    values = [
        price.value
        for one in product.localizations
        if one.currency == "USD"
        for price in one.prices
        if price.model == _PAY_AS_YOU_GO and price.value is not None
    ]
    if len(values) > 1:
        return _Refused("ambiguous_price", f"{', '.join(map(str, values))} USD for one part")
    if not values or not values[0].is_finite() or values[0] <= 0:
        said = f"{values[0]} USD" if values else "no price in dollars"
        return _Refused("no_price", f"{said} for pay as you go")
    return values[0]
