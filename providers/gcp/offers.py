"""From the prices of parts to offers: every machine, region and market that there are parts for."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

from broker.domain.offer import (
    Billing,
    Block,
    Commitment,
    Components,
    Hardware,
    Offer,
    Payment,
    Place,
    PriceKind,
    Quote,
    Rejection,
    SpotTerms,
)
from broker.domain.quantities import HOURS_PER_MONTH, quantize_usd
from broker.specs.load import Specs
from providers.gcp.labels import Market
from providers.gcp.machines import NAME, Machine, machines, sold
from providers.gcp.prices import MachinePrice, PriceBook, rejection
from providers.gcp.wire import USD, PartKind, Problem

FLEX_START_TIER = "flex_start"
FLEX_START_H = 168
SPOT_NOTICE_S = 30.0
BLOCK_LENGTHS_H = tuple(24 * days for days in range(1, 91))
BOOK_AHEAD_DAYS = 120

_NANO_USD = Decimal("1e-9")
_UNSTATED = Billing()
_BY_THE_SECOND = Billing(minimum_h=1 / 60, step_s=1.0)
_ENDS_WITHIN_A_WEEK = -math.expm1(-float(HOURS_PER_MONTH) / FLEX_START_H)
"""One loss in 168 node-hours, as the share of nodes lost in a month."""


@dataclass(frozen=True, slots=True)
class _Terms:
    """What the market decides about an offer."""

    price_kind: PriceKind
    tier: str = ""
    billing: Billing = _UNSTATED
    commitment: Commitment | None = None
    block: Block | None = None
    spot: SpotTerms | None = None
    warnings: tuple[str, ...] = ()


def _committed(term_months: int) -> _Terms:
    commitment = Commitment(term_months=term_months, payment=Payment.NO_UPFRONT)
    return _Terms(PriceKind.RESERVED, commitment=commitment)


_TERMS: Mapping[Market, _Terms] = MappingProxyType(
    {
        Market.ON_DEMAND: _Terms(PriceKind.ON_DEMAND, billing=_BY_THE_SECOND),
        Market.SPOT: _Terms(
            PriceKind.SPOT, billing=_BY_THE_SECOND, spot=SpotTerms(notice_s=SPOT_NOTICE_S)
        ),
        Market.FLEX_START: _Terms(
            PriceKind.SPOT,
            tier=FLEX_START_TIER,
            billing=_BY_THE_SECOND,
            spot=SpotTerms(monthly_interruption=(0.0, _ENDS_WITHIN_A_WEEK)),
            warnings=("runs_at_most_7_days",),
        ),
        Market.CALENDAR: _Terms(
            PriceKind.CAPACITY_BLOCK,
            block=Block(lengths_h=BLOCK_LENGTHS_H, book_ahead_days=BOOK_AHEAD_DAYS),
        ),
        Market.ONE_YEAR: _committed(12),
        Market.THREE_YEARS: _committed(36),
    }
)


def machine_offers(
    book: PriceBook, specs: Specs, regions: tuple[str, ...] = ()
) -> Iterator[Offer | Rejection]:
    """Price all machines in `regions`; in all regions where that is empty."""
    listed = book.regions()
    for region in regions:
        if region not in listed:
            detail = "no part has a price there; GPUBROKER_GCP_REGIONS lists ids (us-central1)"
            yield rejection(region, Problem("region_not_listed", detail))
    places = [specs.place(NAME, region) for region in listed if not regions or region in regions]
    for machine in machines(specs):
        yield from _offers_of(machine, places, book, specs)


def _offers_of(
    machine: Machine, places: Iterable[Place], book: PriceBook, specs: Specs
) -> Iterator[Offer | Rejection]:
    node = machine.node
    hardware = specs.hardware(NAME, machine.name, gpu=node.gpu, gpu_count=node.gpu_count)
    for place in places:
        markets = [one for one in Market if book.lists(machine, one, place.region)]
        elsewhere = specs.sold_in.elsewhere(NAME, machine.name, place.region)
        if markets and elsewhere:
            where = f"the parts have prices; the machine is sold in {', '.join(sorted(elsewhere))}"
            yield rejection(f"{machine.name}/{place.region}", Problem("not_sold_in_region", where))
            continue
        for market in markets:
            price = sold(machine.name, market) or book.price(machine, market, place.region)
            if isinstance(price, Problem):
                yield rejection(f"{machine.name}/{place.region} {market}", price)
            else:
                yield _offer(machine.name, hardware, place, terms=_TERMS[market], price=price)


def _offer(
    name: str, hardware: Hardware, place: Place, *, terms: _Terms, price: MachinePrice
) -> Offer:
    return Offer(
        provider=NAME,
        instance_type=name,
        place=place,
        price_kind=terms.price_kind,
        hardware=hardware,
        usd_per_hour=quantize_usd(price.usd),
        quote=Quote(amount=price.usd.quantize(_NANO_USD), currency=USD),
        provenance=price.seen,
        tier=terms.tier,
        components=_components(price),
        billing=terms.billing,
        commitment=terms.commitment,
        block=terms.block,
        spot=terms.spot,
        warnings=terms.warnings,
    )


def _components(price: MachinePrice) -> Components:
    """Split the price; what rounding leaves goes to the GPUs, so that the parts add up to it."""
    host = quantize_usd(price.of(PartKind.CORE) + price.of(PartKind.RAM))
    disk = quantize_usd(price.of(PartKind.DISK))
    gpus = quantize_usd(price.usd) - host - disk
    return Components(gpus_usd=gpus, host_usd=host, disk_usd=disk)
