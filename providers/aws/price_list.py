"""From the rows of a price file to offers: plain Linux, shared, on demand or reserved.

A type comes in many more rows than one can plan with: Windows, licences, dedicated hosts,
capacity blocks at a price of zero, unused reservations. They are counted, by type and reason.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx

from broker.domain.offer import Offer, Quote, Rejection
from broker.domain.quantities import parse_instant
from broker.specs.load import Specs
from providers.aws.machines import PROVIDER, hardware_of
from providers.aws.terms import Price, on_demand_price, reserved_price
from providers.aws.wire import USD, PriceRow, Problem, Product
from providers.kit.adapter import OBSERVED_AT, provenance

_REGION = "AWS Region"
_ZONE_WARNINGS = {"AWS Local Zone": "local_zone", "AWS Wavelength Zone": "wavelength_zone"}
_FAMILIES = ("Compute Instance", "Compute Instance (bare metal)")
_NEVER = datetime.min.replace(tzinfo=UTC)


def offers_in_price_list(
    rows: Iterable[PriceRow], reply: httpx.Response, specs: Specs
) -> Iterator[Offer | Rejection]:
    """Make the offers of one region's file; each row ends in an offer or in a count."""
    found: list[Offer] = []
    reservations: dict[tuple[str, str, str], list[PriceRow]] = defaultdict(list)
    tally = _Tally()

    def keep(row: PriceRow, price: Price | Problem) -> None:
        offer = price if isinstance(price, Problem) else _offer(row, price, reply, specs)
        if isinstance(offer, Problem):
            tally.add(row, offer)
        else:
            found.append(offer)

    for row in rows:
        problem = _product_problem(row.product)
        if problem is not None:
            tally.add(row, problem)
        elif row.term_type == "OnDemand":
            keep(row, on_demand_price(row))
        elif row.term_type == "Reserved":
            reservations[row.product.sku, row.offer_term_code, row.effective_date].append(row)
        else:
            tally.add(row, Problem("other_term_type", f"term type {row.term_type!r}"))
    for parts in reservations.values():
        keep(parts[0], reserved_price(parts))
    yield from _settled(found)
    yield from tally.rejections()


@dataclass(slots=True)
class _Count:
    rows: int
    first: str


class _Tally:
    """The rows that are no offers, by place, type and reason."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], _Count] = {}

    def add(self, row: PriceRow, problem: Problem) -> None:
        product = row.product
        subject = f"{product.region or 'no region'}/{product.instance_type}"
        first = f"{product.sku}: {problem.detail}"
        count = self._counts.setdefault((subject, problem.reason), _Count(0, first))
        count.rows += 1

    def rejections(self) -> Iterator[Rejection]:
        for (subject, reason), count in self._counts.items():
            some = "1 row" if count.rows == 1 else f"{count.rows} rows, the first"
            detail = f"{some}: {count.first}"
            yield Rejection(provider=PROVIDER, subject=subject, reason=reason, detail=detail)


def _product_problem(product: Product) -> Problem | None:
    """Say what keeps a product from being a plain Linux machine that anyone can rent."""
    if product.market_option == "CapacityBlock":
        detail = f"sold by capacity block ({product.operation}); its price needs an account"
        return Problem("capacity_block_price_not_public", detail)
    for reason, what, value, wanted in (
        ("other_market_option", "market option", product.market_option, ("OnDemand",)),
        ("unused_capacity_reservation", "capacity", product.capacity_status, ("Used",)),
        ("dedicated_tenancy", "tenancy", product.tenancy, ("Shared",)),
        ("other_operating_system", "system", product.operating_system, ("Linux",)),
        ("preinstalled_software", "software", product.preinstalled, ("NA", "")),
        ("licence_needed", "licence", product.licence, ("No License required",)),
        ("other_operation", "operation", product.operation, ("RunInstances",)),
        ("other_product_family", "product family", product.family, _FAMILIES),
        ("other_location", "location", product.location_type, (_REGION, *_ZONE_WARNINGS)),
    ):
        if value not in wanted:
            return Problem(reason, f"{what} is {value!r}")
    return None if product.region else Problem("no_region", "the row names no region")


def _offer(row: PriceRow, price: Price, reply: httpx.Response, specs: Specs) -> Offer | Problem:
    hardware = hardware_of(specs, row.product)
    if isinstance(hardware, Problem):
        return hardware
    effective_at = _effective_at(row.effective_date)
    if isinstance(effective_at, Problem):
        return effective_at
    observed_at: datetime = reply.extensions[OBSERVED_AT]
    if effective_at is not None and effective_at > observed_at:
        return Problem("not_yet_effective", f"the price holds from {effective_at:%Y-%m-%d} on")
    warning = _ZONE_WARNINGS.get(row.product.location_type)
    return Offer(
        provider=PROVIDER,
        instance_type=row.product.instance_type,
        place=specs.place(PROVIDER, row.product.region),
        price_kind=price.kind,
        hardware=hardware,
        usd_per_hour=price.usd_per_hour,
        quote=Quote(amount=price.quoted, currency=USD),
        provenance=provenance(reply, effective_at),
        commitment=price.commitment,
        warnings=(warning,) if warning else (),
    )


def _effective_at(text: str) -> datetime | Problem | None:
    if not text:
        return None
    try:
        instant = parse_instant(text)
    except ValueError:
        instant = None
    if isinstance(instant, datetime):
        return instant
    return Problem("unreadable_date", f"effective date {text!r} is no date")


def _settled(offers: Iterable[Offer]) -> Iterator[Offer | Rejection]:
    """Let one offer stand for each key: the newest price, and none where two of a day differ."""
    by_key: dict[str, list[Offer]] = defaultdict(list)
    for offer in offers:
        by_key[offer.key].append(offer)
    for key, rivals in by_key.items():
        newest = max(_since(offer) for offer in rivals)
        latest = [offer for offer in rivals if _since(offer) == newest]
        if _agree(latest):
            yield latest[0]
            reason, others = "superseded_row", len(rivals) - 1
            detail = f"{others} more beside the one in force, {latest[0].quote.amount}"
        else:
            reason, others = "conflicting_rows", len(rivals)
            detail = " and ".join(sorted({str(offer.quote.amount) for offer in latest}))
        if others:
            yield Rejection(provider=PROVIDER, subject=key, reason=reason, detail=detail)


def _since(offer: Offer) -> datetime:
    return offer.provenance.effective_at or _NEVER


def _agree(offers: Sequence[Offer]) -> bool:
    return len({(offer.usd_per_hour, offer.commitment) for offer in offers}) == 1
