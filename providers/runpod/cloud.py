"""The adapter: asks for types and stock, and joins them into offers."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import partial

import httpx

from broker.domain.errors import ProviderError
from broker.domain.offer import (
    Billing,
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
from providers.kit.parts import Missing, mark_unreadable, or_missing, unless_all_missing
from providers.runpod.clusters import cluster_offers
from providers.runpod.machines import BILLING_STEP_S, DISK, GIB_PER_GB, gpu_model, place_of
from providers.runpod.prices import NAME, Price, Sold, Tier, rejection, sold
from providers.runpod.wire import (
    CLUSTERS_QUERY,
    CLUSTERS_VARIABLES,
    STOCK_QUERY,
    TYPES_QUERY,
    URL,
    Stock,
    Types,
    Where,
    asked_for,
    stock_in,
    stock_variables,
    types_in,
)

_PLAN = "the plan covers the GPUs alone, and the money is not given back"
_Catalogue = Mapping[tuple[str, Tier], Sold]


class RunPod:
    """Adapter for RunPod's pods, secure and community cloud."""

    name = NAME
    keys: tuple[str, ...] = ("api_key",)

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._access = access

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response | Missing]:
        """Ask for types and clusters, then for the stock of each place that the types name."""
        reply = self._ask(http, TYPES_QUERY, {})
        yield reply
        yield self._ask(http, CLUSTERS_QUERY, CLUSTERS_VARIABLES)
        yield from unless_all_missing(self._stock(http, types_in(reply)))

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make an offer of each price, count and place; types and clusters come first."""
        pages = iter(replies)
        first, second = next(pages, None), next(pages, None)
        if first is None or second is None:
            return
        catalogue: dict[tuple[str, Tier], Sold] = {}
        for entry in self._sold(types_in(first)):
            if isinstance(entry, Sold):
                catalogue[entry.id, entry.tier] = entry
            else:
                yield entry
        yield from cluster_offers(second, self._specs)
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
        return http.post(URL, json={"query": query, "variables": dict(variables)}, headers=headers)

    def _stock(self, http: httpx.Client, types: Types) -> Iterator[httpx.Response | Missing]:
        """Ask each place for its stock; one that fails keeps what it had."""
        centers = (
            Where(secureCloud=True, dataCenterId=one.id) for one in types.data_centers if one.listed
        )
        countries = (
            Where(secureCloud=False, countryCode=one) for one in types.country_codes if one
        )
        for where in (*centers, *countries):
            ask = partial(self._ask, http, STOCK_QUERY, stock_variables(where))
            region = where.data_center_id or where.country_code
            yield from or_missing(ask, Missing(NAME, region=region))

    def _sold(self, types: Types) -> Iterator[Sold | Rejection]:
        for row in types.gpu_types:
            if isinstance(row, Unreadable):
                yield rejection("a GPU type", row.reason, row.detail)
                continue
            gpu = gpu_model(self._specs, row.id, row.memory_in_gb)
            if isinstance(gpu, Unresolved):
                yield rejection(row.id, gpu.reason, gpu.detail)
                continue
            for tier in Tier:
                entry, refused = sold(row, tier, gpu)
                yield entry
                yield from refused

    def _page(
        self, page: httpx.Response, catalogue: _Catalogue, stocked: set[tuple[str, Tier]]
    ) -> Iterator[Offer | Rejection]:
        """Make the offers of one place; note in `stocked` what it has."""
        try:
            stock_types = stock_in(page).gpu_types
        except ProviderError as failure:  # an error with status 200, or another shape
            mark_unreadable(page, failure)
            return
        where = asked_for(page)
        tier = Tier.SECURE if where.secure_cloud else Tier.COMMUNITY
        place = place_of(self._specs, where)
        for row in stock_types:
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

    def _hardware(self, one: Sold, count: int, stock: Stock) -> Hardware:
        ram_gb = stock.min_memory
        return self._specs.hardware(
            NAME,
            _instance_type(one, count),
            gpu=one.gpu,
            gpu_count=Fraction(count),
            vcpus=stock.min_vcpu,
            host_memory_gib=None if ram_gb is None else ram_gb * GIB_PER_GB,
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
        billing=Billing(step_s=BILLING_STEP_S, prepaid=True if price.months else None),
        commitment=_prepaid(usd_per_hour, price.months),
        spot=SpotTerms() if price.kind is PriceKind.SPOT else None,
        limits=Limits(stock_level=(stock.stock_status or "").lower()),
        warnings=(DISK, *((_PLAN,) if price.months else ())),
    )


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
