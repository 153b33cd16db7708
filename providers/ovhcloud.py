"""OVHcloud Public Cloud: two public price books, of France for Europe and Canada, and of the US.

Wire:  GET https://eu.api.ovh.com/v1/order/catalog/public/cloud?ovhSubsidiary=FR and the same at
       https://api.us.ovhcloud.com/1.0, each in one reply without pages. With `client_id` and
       `client_secret` of a service account, POST https://www.ovh.com/auth/oauth2/token gives a
       token for GET /v1/cloud/order/rule/availability: the regions of each plan code today.
Units: `price` is in 10^-8 of the currency, before tax, for the whole machine and the `intervalUnit`
       (hour, month); `gpu.memory.size` is of one GPU in GB, `memory.size` GiB, disks GB. Euros are
       in dollars at the rate of the day; the quote is kept, for an hour.
Kinds: FLAVOR.consumption is on demand by the hour. FLAVOR.monthly.postpaid is reserved for a month:
       a calendar month is paid whole, and there is no way back to hours. No spot. Savings plans
       are in no public list.
Quirks: codes of one flavor look alike (.3AZ, .LZ. and others are for special regions); machines
       with Windows (win-) have the licence in the price; flavors that are not active yet, or no
       more, stand in the book; managed services carry a GPU too and are no machines; the text
       beside a price says the same and refuses a wrong scale; each book has its own prices. A100,
       H200 are given without a form and are refused. IPv4 addresses cost extra.
Assumed: without a token, the regions of a flavor are those of REGIONS, as others listed them in
       2026; a flavor that is not in it has no known region and is shown, not planned with. The US
       book has the regions of a plan in itself.
Missing: the books of other subsidiaries, which have other prices for the same machines.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import MappingProxyType

import httpx
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from broker.domain.offer import (
    UNKNOWN_REGION,
    Commitment,
    Hardware,
    Offer,
    Payment,
    PriceKind,
    Rejection,
    Virtualization,
)
from broker.domain.quantities import HOURS_PER_MONTH, quantize_usd
from broker.specs.load import Specs, Unresolved
from providers.kit.access import Access
from providers.kit.adapter import provenance
from providers.kit.currency import Rates, in_usd
from providers.kit.gpus import gpu_of
from providers.kit.parse import Row, Unreadable, parse
from providers.kit.parts import Missing, or_missing

BOOK = "https://eu.api.ovh.com/v1/order/catalog/public/cloud"
US_BOOK = "https://api.us.ovhcloud.com/1.0/order/catalog/public/cloud"
PLACES = "https://eu.api.ovh.com/v1/cloud/order/rule/availability"
TOKEN = "https://www.ovh.com/auth/oauth2/token"  # noqa: S105 - an address
US_REGIONS = ("US-EAST-VA-1", "US-WEST-OR-1")

_VOLTA = ("BHS5", "DE1", "GRA7", "UK1", "WAW1")
REGIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "t1-le-": ("BHS5", "GRA9"),
        "t2-le-45": _VOLTA,
        "t2-le-90": _VOLTA,
        "t2-le-180": ("BHS5", "DE1", "WAW1"),
        "a100-": ("GRA11",),
        "h100-": ("GRA9", "GRA11"),
        "l4-": ("GRA11",),
        "l40s-": ("GRA11",),
    }
)
"""Regions by the start of a flavor's name: skypilot-catalog v6 and OVH inventories, 2026-05-20."""

_PER_UNIT = Decimal(10) ** 8
_HALF_A_CENT = Decimal("0.005")
_PRINTED = re.compile(r"(\d[\d.,\s]*)[.,](\d{2})(?!\d)")
_MACHINE, _ACTIVE, _WINDOWS, _REGION = "gpu", "active", "win-", "region"
_HOURLY, _MONTHLY = "consumption", "monthly.postpaid"
_CODE = re.compile(rf"(?P<flavor>[^.]+)\.(?P<mode>{_HOURLY}|{re.escape(_MONTHLY)})(?P<where>\..+)?")
_UNITS = {_HOURLY: ("hour", "none"), _MONTHLY: ("month", "none")}
_EXTRAS = "a public IPv4 address is billed on top"
_WHOLE_MONTHS = "each calendar month is paid whole; monthly billing cannot be turned back to hourly"
_LISTED = "the region is from a published list of 2026-05, not from the price book"


class _Wire(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)


class _Pricing(_Wire):
    price: int
    interval_unit: str
    formatted_price: str = ""


class _Sized(_Wire):
    size: float


class _Gpu(_Wire):
    model: str
    number: int
    memory: _Sized


class _Cpu(_Wire):
    cores: float


class _Disk(_Wire):
    capacity: float
    number: int


class _Storage(_Wire):
    disks: list[_Disk]


class _Os(_Wire):
    family: str


class _Technical(_Wire):
    gpu: _Gpu | None = None
    os: _Os | None = None
    cpu: _Cpu | None = None
    memory: _Sized | None = None
    storage: _Storage | None = None


class _Commercial(_Wire):
    brick: str | None = None


class _Blobs(_Wire):
    commercial: _Commercial | None = None
    technical: Row[_Technical | None] = None
    tags: list[str] | None = None


class _Configuration(_Wire):
    name: str
    values: list[str] | None = None


class _Addon(_Wire):
    plan_code: str
    pricings: list[Row[_Pricing]]
    configurations: list[_Configuration] | None = None
    blobs: _Blobs | None = None


class _Locale(_Wire):
    currency_code: str


class _Book(_Wire):
    locale: _Locale
    addons: list[Row[_Addon]]


class _PlanPlaces(_Wire):
    code: str
    regions: list[str]


class _Places(_Wire):
    plans: list[Row[_PlanPlaces]]


class _Token(BaseModel):
    access_token: str


@dataclass(frozen=True, slots=True)
class _Terms:
    """What a plan code and its one price say: of which flavor, for how long, at how much."""

    flavor: str
    monthly: bool
    special: bool
    price: Decimal

    @property
    def per_hour(self) -> Decimal:
        """Give the price of an hour, in the currency of the book."""
        return quantize_usd(self.price / HOURS_PER_MONTH) if self.monthly else self.price


@dataclass(frozen=True, slots=True)
class _OpenBook:
    """A book in reading, with the regions of each plan code today where a list was given."""

    reply: httpx.Response
    currency: str
    rates: Rates
    today: Mapping[str, list[str]] | None

    def regions(self, addon: _Addon, terms: _Terms) -> tuple[Iterable[str], bool]:
        """Give the regions of a plan, and whether they are those of the published list."""
        if self.reply.request.url.host == httpx.URL(US_BOOK).host:
            stated = [one.values or [] for one in addon.configurations or [] if one.name == _REGION]
            return [region for regions in stated for region in regions], False
        if self.today is not None:
            return self.today.get(addon.plan_code, []), False
        if terms.special:
            return [], False
        for start, published in REGIONS.items():
            if terms.flavor.startswith(start):
                return published, True
        return (UNKNOWN_REGION,), False


class OvhCloud:
    """Adapter for the public price books of OVHcloud."""

    name = "ovhcloud"
    keys: tuple[str, ...] = ("client_id", "client_secret")

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._access = access

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response | Missing]:
        """Ask for the regions, where there are keys, and for both books; the US may be missing."""
        if token := self._token(http):
            yield http.get(PLACES, params={"ovhSubsidiary": "FR"}, headers=token)
        yield http.get(BOOK, params={"ovhSubsidiary": "FR"})
        ask = partial(http.get, US_BOOK, params={"ovhSubsidiary": "US"})
        for part in or_missing(ask, Missing(self.name), partial(parse, _Book)):
            if isinstance(part, Missing):
                yield from (replace(part, region=region) for region in US_REGIONS)
            else:
                yield part

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make an offer of each GPU plan in each region; the list of regions comes first."""
        rates = Rates()
        today: Mapping[str, list[str]] | None = None
        for reply in replies:
            if reply.request.url.path == httpx.URL(PLACES).path:
                rows = parse(_Places, reply).plans
                today = {row.code: row.regions for row in rows if isinstance(row, _PlanPlaces)}
                continue
            read = parse(_Book, reply)
            book = _OpenBook(reply, read.locale.currency_code, rates, today)
            for addon in read.addons:
                if isinstance(addon, Unreadable):
                    yield self._rejection("a plan", addon.reason, addon.detail)
                elif _has_gpu(addon):
                    yield from self._offers(addon, book)

    def _token(self, http: httpx.Client) -> dict[str, str]:
        """Exchange the keys of a service account for a token; without both, the books suffice."""
        id_, secret = (self._access.key(name) for name in self.keys)
        if id_ is None or secret is None:
            return {}
        reply = http.post(
            TOKEN,
            data={"grant_type": "client_credentials", "scope": "all"},
            auth=(id_.get_secret_value(), secret.get_secret_value()),
        )
        return {"Authorization": f"Bearer {parse(_Token, reply).access_token}"}

    def _offers(self, addon: _Addon, book: _OpenBook) -> Iterator[Offer | Rejection]:
        terms = _terms(addon)
        if isinstance(terms, Unresolved):
            yield self._rejection(addon.plan_code, terms.reason, terms.detail)
            return
        hardware = self._hardware(addon, terms.flavor)
        if isinstance(hardware, Unresolved):
            yield self._rejection(addon.plan_code, hardware.reason, hardware.detail)
            return
        stamps = provenance(book.reply)
        quote = book.rates.quote(terms.per_hour, book.currency, stamps.observed_at.date())
        if quote is None:
            yield self._rejection(addon.plan_code, "unknown_currency", book.currency)
            return
        regions, listed = book.regions(addon, terms)
        if not regions:
            yield self._rejection(addon.plan_code, "no_region", "no region is known to have it")
        commitment = Commitment(term_months=1, payment=Payment.MONTHLY) if terms.monthly else None
        for region in regions:
            yield Offer(
                provider=self.name,
                instance_type=terms.flavor,
                place=self._specs.place(self.name, region),
                price_kind=PriceKind.RESERVED if terms.monthly else PriceKind.ON_DEMAND,
                hardware=hardware,
                usd_per_hour=in_usd(quote),
                quote=quote,
                provenance=stamps,
                commitment=commitment,
                warnings=_warnings(terms, listed=listed),
            )

    def _hardware(self, addon: _Addon, flavor: str) -> Hardware | Unresolved:
        technical = _technical(addon)
        if isinstance(technical, Unresolved):
            return technical
        if technical.os and technical.os.family != "linux":
            return Unresolved("windows", f"the price has a licence of {technical.os.family} in it")
        gpu, disks = technical.gpu, technical.storage.disks if technical.storage else []
        if gpu is None or gpu.number <= 0:
            return Unresolved("unreadable_row", "a machine with GPUs does not say which")
        model = gpu_of(
            self._specs,
            [gpu.model],
            known=self._specs.node(self.name, flavor),
            gpu_count=Fraction(gpu.number),
            memory_gib=gpu.memory.size,
            provider=self.name,
        )
        if isinstance(model, Unresolved):
            return model
        return self._specs.hardware(
            self.name,
            flavor,
            gpu=model,
            gpu_count=Fraction(gpu.number),
            vcpus=technical.cpu.cores if technical.cpu else None,
            host_memory_gib=technical.memory.size if technical.memory else None,
            local_disk_gb=sum(disk.capacity * disk.number for disk in disks) or None,
            virtualization=Virtualization.VM,
        )

    def _rejection(self, subject: str, reason: str, detail: str) -> Rejection:
        return Rejection(provider=self.name, subject=subject, reason=reason, detail=detail)


def _has_gpu(addon: _Addon) -> bool:
    """Tell a row with a GPU, a machine or a service; all others are of no interest."""
    technical = addon.blobs.technical if addon.blobs else None
    stated = isinstance(technical, _Technical) and technical.gpu is not None
    return stated or _brick(addon) == _MACHINE


def _brick(addon: _Addon) -> str | None:
    commercial = addon.blobs.commercial if addon.blobs else None
    return commercial.brick if commercial else None


def _technical(addon: _Addon) -> _Technical | Unresolved:
    technical = addon.blobs.technical if addon.blobs else None
    if isinstance(technical, Unreadable):
        return Unresolved(technical.reason, technical.detail)
    return technical or Unresolved("missing_field", "a machine with GPUs is not described")


def _terms(addon: _Addon) -> _Terms | Unresolved:
    """Read a plan code and its price, or say why the plan cannot be bought as a machine."""
    if _brick(addon) != _MACHINE:
        return Unresolved("managed_service", f"{_brick(addon)} is no machine")
    if _ACTIVE not in (tags := (addon.blobs.tags if addon.blobs else None) or []):
        return Unresolved("not_active", f"tags: {', '.join(tags) or 'none'}")
    code = _CODE.fullmatch(addon.plan_code)
    if code is None:
        return Unresolved("unknown_plan_code", "neither by the hour nor by the month")
    if code["flavor"].startswith(_WINDOWS):
        return Unresolved("windows", "the price has a Windows licence in it")
    price = _price(addon, code["mode"])
    if isinstance(price, Unresolved):
        return price
    return _Terms(
        flavor=code["flavor"],
        monthly=code["mode"] == _MONTHLY,
        special=code["where"] is not None,
        price=price,
    )


def _price(addon: _Addon, mode: str) -> Decimal | Unresolved:
    """Give the one price of a plan, which its own text must not contradict."""
    if len(addon.pricings) != 1:
        return Unresolved("several_prices", f"{len(addon.pricings)} prices")
    (pricing,) = addon.pricings
    if isinstance(pricing, Unreadable):
        return Unresolved(pricing.reason, pricing.detail)
    if pricing.interval_unit not in _UNITS[mode]:
        return Unresolved("unknown_unit", f"{mode} in {pricing.interval_unit!r}")
    price = pricing.price / _PER_UNIT
    if price <= 0:
        return Unresolved("no_price", f"{pricing.price}")
    printed = _PRINTED.search(pricing.formatted_price)
    if printed is not None:
        shown = Decimal(f"{re.sub(r'[^0-9]', '', printed[1])}.{printed[2]}")
        if abs(price - shown) > _HALF_A_CENT:
            return Unresolved("contradicts_its_text", f"{price} beside {pricing.formatted_price!r}")
    return price


def _warnings(terms: _Terms, *, listed: bool) -> tuple[str, ...]:
    monthly = (_WHOLE_MONTHS,) if terms.monthly else ()
    return (_EXTRAS, *monthly, _LISTED) if listed else (_EXTRAS, *monthly)
