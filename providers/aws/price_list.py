"""From the rows of a price list to offers: plain Linux, shared, on demand or reserved.

A type comes in many more rows than one can plan with: Windows, licences, dedicated hosts,
capacity blocks at a price of zero, unused reservations.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime

import httpx

from broker.domain.offer import Billing, Offer, PriceKind, Quote, Rejection
from broker.specs.load import Specs
from providers.aws.listing import Tally, effective_at, settled
from providers.aws.machines import hardware_of
from providers.aws.terms import Price, on_demand_price, reserved_price
from providers.aws.wire import PROVIDER, USD, PriceRow, Problem, Product
from providers.kit.adapter import OBSERVED_AT, provenance

BY_THE_SECOND = Billing(minimum_h=1 / 60, step_s=1)
"""Linux machines are billed by the second, and for a minute at least."""

_REGION = "AWS Region"
_ZONE_WARNINGS = {"AWS Local Zone": "local_zone", "AWS Wavelength Zone": "wavelength_zone"}
_FAMILIES = ("Compute Instance", "Compute Instance (bare metal)")


def offers_in_price_list(
    rows: Iterable[PriceRow],
    reply: httpx.Response,
    specs: Specs,
    *,
    plain: dict[str, Product] | None = None,
) -> Iterator[Offer | Rejection]:
    """Make the offers of one region's list; each row ends in an offer or in a count.

    The plain Linux products go into `plain`, by SKU: savings plans name no more than that.
    """
    listing = _Listing(reply, specs, {} if plain is None else plain)
    for row in rows:
        listing.take(row)
    yield from listing.results()


class _Listing:
    """One list while it is read: its offers, its reservations in parts, its refused rows."""

    def __init__(self, reply: httpx.Response, specs: Specs, plain: dict[str, Product]) -> None:
        self._reply = reply
        self._specs = specs
        self._plain = plain
        self._found: list[Offer] = []
        self._reservations: dict[tuple[str, str, str], list[PriceRow]] = defaultdict(list)
        self._tally = Tally()

    def take(self, row: PriceRow) -> None:
        problem = _product_problem(row.product)
        if problem is not None:
            self._refuse(row, problem)
            return
        self._plain[row.product.sku] = row.product
        match row.term_type:
            case "OnDemand":
                self._keep(row, on_demand_price(row))
            case "Reserved":
                key = (row.product.sku, row.offer_term_code, row.effective_date)
                self._reservations[key].append(row)
            case other:
                self._refuse(row, Problem("other_term_type", f"term type {other!r}"))

    def results(self) -> Iterator[Offer | Rejection]:
        for parts in self._reservations.values():
            self._keep(parts[0], reserved_price(parts))
        yield from settled(self._found)
        yield from self._tally.rejections()

    def _keep(self, row: PriceRow, price: Price | Problem) -> None:
        if isinstance(price, Problem):
            self._refuse(row, price)
            return
        offer = _offer(row, price, self._reply, self._specs)
        if isinstance(offer, Problem):
            self._refuse(row, offer)
        else:
            self._found.append(offer)

    def _refuse(self, row: PriceRow, problem: Problem) -> None:
        product = row.product
        self._tally.add(product.region, product.instance_type, product.sku, problem)


def _product_problem(product: Product) -> Problem | None:
    """Say what keeps a product from being a plain Linux machine that anyone can rent."""
    if product.market_option == "CapacityBlock":
        detail = f"sold by capacity block ({product.operation}); the price file does not price it"
        return Problem("price_on_request", detail)
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
    since = effective_at(row.effective_date)
    if isinstance(since, Problem):
        return since
    observed_at: datetime = reply.extensions[OBSERVED_AT]
    if since is not None and since > observed_at:
        return Problem("not_yet_effective", f"the price holds from {since:%Y-%m-%d} on")
    warning = _ZONE_WARNINGS.get(row.product.location_type)
    return Offer(
        provider=PROVIDER,
        instance_type=row.product.instance_type,
        place=specs.place(PROVIDER, row.product.region),
        price_kind=price.kind,
        hardware=hardware,
        usd_per_hour=price.usd_per_hour,
        quote=Quote(amount=price.quoted, currency=USD),
        provenance=provenance(reply, since),
        billing=BY_THE_SECOND if price.kind is PriceKind.ON_DEMAND else Billing(),
        commitment=price.commitment,
        warnings=(warning,) if warning else (),
    )
