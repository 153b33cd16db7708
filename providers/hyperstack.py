"""Hyperstack (NexGen Cloud): virtual machines on demand and on spot, with the best stock of all.

Wire:    https://infrahub-api.nexgencloud.com/v1, header `api_key`: GET /core/flavors has the types
         by GPU and region, GET /pricebook the rates (a bare list), GET /core/stocks what is free.
         No pages; 500 requests a minute for one address.
Units:   a rate is dollars per hour of one GPU, as text ("1.9", "0E-9" is none) or number, found by
         the GPU's name; the machine costs it times `gpu_count`, CPU, memory and disk are included.
         `ram` in GB, `disk` and `ephemeral` in GB; use is billed by the minute.
Kinds:   on demand; spot where the names of GPU and flavor end in -spot, with a rate and a stock of
         its own. Reserved machines are private contracts: the API has none, and the public "from"
         prices name no term, so there is no offer of them; a sheet can hold what was agreed.
Quirks:  `value` may be below `original_value` for one account or for a while: the offer has the
         list rate and tells the other; the price book has GPUs that no flavor sells; one flavor has
         another memory in another region (n3-H100-SXM5x8); `configurations` counts the machines of
         each size that could be started, all cut from the same GPUs; `available` is text ("200+");
         a GPU that the stock list leaves out is unknown, not sold out.
Assumed: prices are in US dollars, as no reply names a currency; "GB" of memory are GiB.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import httpx
from pydantic import BaseModel, Field, RootModel

from broker.domain.errors import ProviderError
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
from providers.kit.doors import place_near, stock_pool
from providers.kit.gpus import gpu_of
from providers.kit.parse import Row, Unreadable, parse

API = "https://infrahub-api.nexgencloud.com/v1"
FLAVORS = f"{API}/core/flavors"
RATES = f"{API}/pricebook"
STOCKS = f"{API}/core/stocks"

_SPOT = "-spot"
_VARIETY = re.compile(r"-(?:spot|bigroot|k8s)$", re.IGNORECASE)
_SIZE = re.compile(r"(\d+)x")
_BILLING_STEP_S = 60.0
_NO_COUNTS = "how many are free is not known: the stock list could not be read"


class _Flavor(BaseModel):
    name: str
    gpu: str = ""
    gpu_count: int
    cpu: float | None = None
    ram: float | None = None
    disk: float | None = None
    ephemeral: float | None = None
    stock_available: bool | None = None

    @property
    def is_spot(self) -> bool:
        """Say whether it may be taken away."""
        return self.gpu.endswith(_SPOT) or self.name.endswith(_SPOT)


class _Group(BaseModel):
    region_name: str
    flavors: list[Row[_Flavor]]


class _Flavors(BaseModel):
    data: list[Row[_Group]]


class _Rate(BaseModel):
    name: str
    value: Decimal
    original_value: Decimal


class _Rates(RootModel[list[Row[_Rate]]]):
    pass


class _Model(BaseModel):
    model: str
    available: str = ""
    configurations: dict[str, Row[int]] = Field(default_factory=dict)

    def sizes(self) -> dict[int, int]:
        """Count the machines that could be started, by the GPUs of one."""
        counts = ((_SIZE.fullmatch(size), free) for size, free in self.configurations.items())
        return {int(size[1]): free for size, free in counts if size and isinstance(free, int)}

    def machines(self, gpu_count: int) -> int | None:
        """Count the machines of a size that could be started, None where it is not said."""
        return self.sizes().get(gpu_count)

    def gpus(self) -> int | None:
        """Count the GPUs that are free for certain: those of the size that has most of them."""
        return max((size * free for size, free in self.sizes().items()), default=None)


class _Region(BaseModel):
    region: str
    models: list[Row[_Model]]


class _Stocks(BaseModel):
    stocks: list[Row[_Region]]


_Counts = Mapping[tuple[str, str], _Model]
"""The stock, by region and GPU."""


class Hyperstack:
    """Adapter for Hyperstack's flavors, price book and stock."""

    name = "hyperstack"
    keys: tuple[str, ...] = (API_KEY,)

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._access = access

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        """Ask for flavors and rates, and for the stock, which offers can do without."""
        headers = self._access.header("api_key")
        yield http.get(FLAVORS, headers=headers)
        yield http.get(RATES, headers=headers)
        with suppress(ProviderError):  # each offer says that its stock is not known
            yield http.get(STOCKS, headers=headers)

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make an offer of each flavor that its region has and that has a rate."""
        flavors, book, *stock = replies
        rates: dict[str, _Rate] = {}
        for rate in parse(_Rates, book).root:
            if isinstance(rate, Unreadable):
                yield self._rejection("a rate", rate.reason, rate.detail)
            else:
                rates[rate.name] = rate
        counts = None
        with suppress(ProviderError):  # as above: what cannot be read was not sent
            counts = _counts(stock[0]) if stock else None
        for group in parse(_Flavors, flavors).data:
            if isinstance(group, Unreadable):
                yield self._rejection("a group of flavors", group.reason, group.detail)
                continue
            for row in group.flavors:
                yield self._offer(row, group.region_name, rates, counts, reply=book)

    def _offer(
        self,
        row: _Flavor | Unreadable,
        region: str,
        rates: Mapping[str, _Rate],
        counts: _Counts | None,
        *,
        reply: httpx.Response,
    ) -> Offer | Rejection:
        if isinstance(row, Unreadable):
            return self._rejection(f"a flavor in {region}", row.reason, row.detail)
        subject = f"{row.name}/{region}"
        hardware = self._hardware(row)
        if isinstance(hardware, Unresolved):
            return self._rejection(subject, hardware.reason, hardware.detail)
        stock = (counts or {}).get((region, row.gpu))
        if row.stock_available is False or (stock and stock.machines(row.gpu_count) == 0):
            return self._rejection(subject, "no_capacity", "none can be started now")
        rate = rates.get(row.gpu)
        usd_per_gpu = max(rate.value, rate.original_value) if rate else Decimal(0)
        if rate is None or usd_per_gpu <= 0:
            return self._rejection(subject, "no_price", f"no rate of {row.gpu!r} in the price book")
        usd_per_hour = usd_per_gpu * row.gpu_count
        return Offer(
            provider=self.name,
            instance_type=row.name,
            place=place_near(self._specs, self.name, region, region.partition("-")[0]),
            price_kind=PriceKind.SPOT if row.is_spot else PriceKind.ON_DEMAND,
            hardware=hardware,
            usd_per_hour=usd_per_hour,
            quote=Quote(amount=usd_per_hour, currency="USD"),
            provenance=provenance(reply),
            billing=Billing(step_s=_BILLING_STEP_S),
            spot=SpotTerms() if row.is_spot else None,
            limits=_limits(row, region, stock),
            warnings=tuple(_warnings(rate, knows_stock=counts is not None)),
        )

    def _hardware(self, row: _Flavor) -> Hardware | Unresolved:
        if row.gpu_count < 1:
            return Unresolved("not_a_gpu", f"{row.gpu_count} GPUs")
        count = Fraction(row.gpu_count)
        plain_type = _VARIETY.sub("", row.name)
        gpu = gpu_of(
            self._specs,
            [row.gpu.removesuffix(_SPOT)],
            known=self._specs.node(self.name, plain_type),
            gpu_count=count,
            provider=self.name,
        )
        if isinstance(gpu, Unresolved):
            return gpu
        return self._specs.hardware(
            self.name,
            plain_type,
            gpu=gpu,
            gpu_count=count,
            vcpus=row.cpu,
            host_memory_gib=row.ram,
            local_disk_gb=(row.disk or 0) + (row.ephemeral or 0) or None,
            virtualization=Virtualization.VM,
        )

    def _rejection(self, subject: str, reason: str, detail: str) -> Rejection:
        return Rejection(provider=self.name, subject=subject, reason=reason, detail=detail)


def _counts(reply: httpx.Response) -> _Counts:
    """Read the stock; a row that cannot be read is not known."""
    return {
        (region.region, model.model): model
        for region in parse(_Stocks, reply).stocks
        if not isinstance(region, Unreadable)
        for model in region.models
        if not isinstance(model, Unreadable)
    }


def _limits(row: _Flavor, region: str, stock: _Model | None) -> Limits:
    machines = stock.machines(row.gpu_count) if stock else None
    return Limits(
        stock_nodes=machines,
        max_nodes=machines,
        stock_level=stock.available or None if stock else None,
        stock_pool=stock_pool("hyperstack", row.name, region),
        stock_gpus=stock.gpus() if stock else None,
    )


def _warnings(rate: _Rate, *, knows_stock: bool) -> Iterator[str]:
    if rate.value < rate.original_value:
        yield f"the account's rate is {rate.value} per GPU now, list {rate.original_value}"
    if not knows_stock:
        yield _NO_COUNTS
