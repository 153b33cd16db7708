"""The adapter: asks for types and stock, and joins them into offers."""

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

import httpx

from broker.domain.offer import (
    Commitment,
    Hardware,
    Limits,
    Offer,
    Payment,
    Place,
    PriceKind,
    Quote,
    Rejection,
    SpotTerms,
    Virtualization,
)
from broker.domain.quantities import HOURS_PER_MONTH
from broker.specs.load import Specs, Unresolved
from providers.kit.access import Access
from providers.kit.adapter import provenance
from providers.kit.parse import Unreadable
from providers.runpod.prices import NAME, Price, Sold, Tier, rejection, sold
from providers.runpod.wire import (
    STOCK_QUERY,
    TYPES_QUERY,
    URL,
    GpuType,
    Stock,
    Types,
    Where,
    asked_for,
    stock_in,
    stock_variables,
    types_in,
)

_GIB_PER_GB = 10**9 / 2**30
_SLICE = re.compile(r"\bMIG\b")
_DATA_CENTER = re.compile(r"(?P<area>[A-Z]{2,3})-(?P<place>[A-Z]+)-\d+")
_COUNTRY_LETTERS = 2
_CONTINENTS = {"EU": "eu", "EUR": "eu", "AP": "ap", "SEA": "ap", "OC": "oc"}

_Catalogue = Mapping[tuple[str, Tier], Sold]


class RunPod:
    """Adapter for RunPod's pods, secure and community cloud."""

    name = NAME
    keys: tuple[str, ...] = ("api_key",)

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._access = access

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        """Ask for the types, then for the stock of each place that they name."""
        reply = self._ask(http, TYPES_QUERY, {})
        yield reply
        types = types_in(reply)
        for center in types.data_centers:
            if center.listed:
                where = Where(secureCloud=True, dataCenterId=center.id)
                yield self._ask(http, STOCK_QUERY, stock_variables(where))
        for country in types.country_codes:
            if country:
                where = Where(secureCloud=False, countryCode=country)
                yield self._ask(http, STOCK_QUERY, stock_variables(where))

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make an offer of each price, count and place with stock; the types come first."""
        pages = iter(replies)
        first = next(pages, None)
        if first is None:
            return
        catalogue: dict[tuple[str, Tier], Sold] = {}
        for entry in self._sold(types_in(first)):
            if isinstance(entry, Sold):
                catalogue[entry.id, entry.tier] = entry
            else:
                yield entry
        stocked: set[tuple[str, Tier]] = set()
        for page in pages:
            yield from self._page(page, catalogue, stocked)
        for key, one in catalogue.items():
            if one.prices and key not in stocked:
                yield rejection(f"{one.id} {one.tier}", "no_capacity", "no place has it now")

    def _ask(
        self, http: httpx.Client, query: str, variables: Mapping[str, object]
    ) -> httpx.Response:
        headers = self._access.bearer()
        return http.post(URL, json={"query": query, "variables": variables}, headers=headers)

    def _sold(self, types: Types) -> Iterator[Sold | Rejection]:
        for row in types.gpu_types:
            if isinstance(row, Unreadable):
                yield rejection("a GPU type", row.reason, row.detail)
                continue
            gpu = self._gpu(row)
            if isinstance(gpu, Unresolved):
                yield rejection(row.id, gpu.reason, gpu.detail)
                continue
            for tier in Tier:
                entry, refused = sold(row, tier, gpu)
                yield entry
                yield from refused

    def _gpu(self, row: GpuType) -> str | Unresolved:
        if _SLICE.search(row.id):
            return Unresolved("mig_slice", f"{row.id!r} is a part of a GPU")
        return self._specs.resolve_gpu(row.id, memory_gib=row.memory_in_gb, provider=NAME)

    def _page(
        self, page: httpx.Response, catalogue: _Catalogue, stocked: set[tuple[str, Tier]]
    ) -> Iterator[Offer | Rejection]:
        """Make the offers of one place; note in `stocked` what it has."""
        where = asked_for(page)
        tier = Tier.SECURE if where.secure_cloud else Tier.COMMUNITY
        place = self._place(where)
        for row in stock_in(page).gpu_types:
            if isinstance(row, Unreadable):
                yield rejection(f"stock in {place.region}", row.reason, row.detail)
                continue
            one = catalogue.get((row.id, tier))
            if one is None:  # its type was rejected
                continue
            for count, stock in row.counts():
                if one.max_count is None or count <= one.max_count:
                    stocked.add((one.id, tier))
                    hardware = self._hardware(one, count, stock)
                    for price in one.prices:
                        yield _offer(one, price, hardware, stock=stock, place=place, page=page)

    def _place(self, where: Where) -> Place:
        """Place a page as the tables have it, else in the country that its id names."""
        region = where.data_center_id or where.country_code or ""
        place = self._specs.place(NAME, region)
        if place.country:
            return place
        country, continent = where.country_code, place.continent
        if where.data_center_id:
            country, continent = _area(where.data_center_id)
        return place.model_copy(update={"country": country, "continent": continent})

    def _hardware(self, one: Sold, count: int, stock: Stock) -> Hardware:
        ram_gb = stock.min_memory
        return self._specs.hardware(
            NAME,
            _instance_type(one, count),
            gpu=one.gpu,
            gpu_count=Fraction(count),
            vcpus=stock.min_vcpu,
            host_memory_gib=None if ram_gb is None else ram_gb * _GIB_PER_GB,
            virtualization=Virtualization.CONTAINER,
        )


def _offer(
    one: Sold, price: Price, hardware: Hardware, *, stock: Stock, place: Place, page: httpx.Response
) -> Offer:
    count = int(hardware.shape.gpu_count)
    usd_per_hour = price.usd_per_gpu_hour * count
    return Offer(
        provider=NAME,
        instance_type=_instance_type(one, count),
        place=place,
        price_kind=price.kind,
        hardware=hardware,
        usd_per_hour=Decimal(0) if price.months else usd_per_hour,
        quote=Quote(amount=usd_per_hour, currency="USD"),
        provenance=provenance(page),
        tier=str(one.tier),
        commitment=_prepaid(usd_per_hour, price.months),
        spot=SpotTerms() if price.kind is PriceKind.SPOT else None,
        limits=Limits(stock_level=(stock.stock_status or "").lower()),
    )


def _area(data_center: str) -> tuple[str | None, str | None]:
    """Read country and continent off an id such as US-KS-2 or EUR-IS-1; None where it has none."""
    found = _DATA_CENTER.fullmatch(data_center)
    if found is None:
        return None, None
    area, place = found["area"], found["place"]
    if area in ("US", "CA"):  # what follows is a state or a city
        return area, "us"
    return (place if len(place) == _COUNTRY_LETTERS else None), _CONTINENTS.get(area)


def _instance_type(one: Sold, count: int) -> str:
    return f"{count}x {one.id}"


def _prepaid(usd_per_hour: Decimal, months: int | None) -> Commitment | None:
    if months is None:
        return None
    return Commitment(
        term_months=months,
        payment=Payment.ALL_UPFRONT,
        upfront_usd=usd_per_hour * HOURS_PER_MONTH * months,
    )
