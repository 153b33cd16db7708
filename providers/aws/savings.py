"""Savings plans: a promise to spend so many dollars an hour, for lower rates while it lasts.

Wire:  the savings plan file of a region, CSV without quotes, as large as its price file. A row is
       the rate of one EC2 SKU under one plan: Linux or not, shared or dedicated, the SKU tells,
       so the price file of the region is read first.
Units: dollars per hour of the machine, whatever the payment.
Kinds: compute plans (any machine, any region: scope `compute`) and EC2 Instance plans (one family
       in one region: scope `ec2:p5`), of one and three years.

The offer is the rate of one machine; how it is paid follows from the payment option:

    upfront = share × rate × hours of the term, by the hour = (1 - share) × rate

with a share of nothing, half, or all. Assumed: "at least half" of a partial upfront is half.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal

import httpx

from broker.domain.offer import Commitment, Offer, Payment, PriceKind, Quote, Rejection
from broker.domain.quantities import HOURS_PER_MONTH, quantize_usd
from broker.specs.load import Specs
from providers.aws.csv_file import open_table
from providers.aws.listing import Tally, effective_at, settled
from providers.aws.machines import hardware_of
from providers.aws.terms import PAYMENTS
from providers.aws.wire import (
    HOURLY,
    PROVIDER,
    USD,
    Problem,
    Product,
    is_accelerated,
    positive_usd,
)
from providers.kit.adapter import OBSERVED_AT, provenance

_COLUMNS = {
    "plan": "Product Family",
    "family": "Instance Family",
    "sku": "DiscountedSKU",
    "instance_type": "DiscountedInstanceType",
    "region": "DiscountedRegionCode",
    "unit": "Unit",
    "rate": "DiscountedRate",
    "currency": "Currency",
    "effective_date": "EffectiveDate",
    "payment": "PurchaseOption",
    "term": "LeaseContractLength",
    "term_unit": "LeaseContractLengthUnit",
}
_TERM_MONTHS = {("1", "year"): 12, ("3", "year"): 36}
_UPFRONT_SHARE = {
    Payment.NO_UPFRONT: Decimal(0),
    Payment.PARTIAL_UPFRONT: Decimal("0.5"),
    Payment.ALL_UPFRONT: Decimal(1),
}

_Row = Mapping[str, str]


def offers_in_savings_file(
    reply: httpx.Response, plain: Mapping[str, Product], specs: Specs
) -> Iterator[Offer | Rejection]:
    """Make the savings plan offers of one region.

    `plain` has the products of its price file that are plain Linux machines, by SKU.

    Raises:
        ProviderError: the file is cut short, lacks a column, or is none.
    """
    at, rows = open_table(reply, _COLUMNS)
    sku_at, type_at = at["sku"], at["instance_type"]
    found: list[Offer] = []
    tally = Tally()
    for cells in rows:
        product = plain.get(cells[sku_at])
        if product is None and not is_accelerated(cells[type_at]):
            continue
        row = {name: cells[position] for name, position in at.items()}
        offer = _offer(row, product, reply, specs) if product else _not_plain(row)
        if isinstance(offer, Offer):
            found.append(offer)
        else:
            tally.add(row["region"], f"{row['instance_type']}@savings_plan", row["sku"], offer)
    yield from settled(found)
    yield from tally.rejections()


def _not_plain(row: _Row) -> Problem:
    detail = f"{row['plan']}: the price file has no plain Linux machine of this SKU"
    return Problem("not_a_plain_linux_machine", detail)


def _offer(row: _Row, product: Product, reply: httpx.Response, specs: Specs) -> Offer | Problem:
    terms = _terms(row)
    if isinstance(terms, Problem):
        return terms
    hardware = hardware_of(specs, product)
    if isinstance(hardware, Problem):
        return hardware
    since = effective_at(row["effective_date"])
    if isinstance(since, Problem):
        return since
    if since is not None and since > reply.extensions[OBSERVED_AT]:
        return Problem("not_yet_effective", f"the rate holds from {since:%Y-%m-%d} on")
    rate, commitment = terms
    hours = commitment.term_months * HOURS_PER_MONTH
    upfront = rate * _UPFRONT_SHARE[commitment.payment]
    return Offer(
        provider=PROVIDER,
        instance_type=product.instance_type,
        place=specs.place(PROVIDER, product.region),
        price_kind=PriceKind.SAVINGS_PLAN,
        hardware=hardware,
        usd_per_hour=rate - upfront,
        quote=Quote(amount=rate, currency=USD),
        provenance=provenance(reply, since),
        commitment=commitment.model_copy(update={"upfront_usd": quantize_usd(upfront * hours)}),
    )


def _terms(row: _Row) -> tuple[Decimal, Commitment] | Problem:
    """Read the rate and what is promised for it; the amount upfront comes of both."""
    if (row["unit"], row["currency"]) != (HOURLY, USD):
        return Problem("other_unit", f"the rate is in {row['currency']} per {row['unit']!r}")
    rate = positive_usd(row["rate"])
    if isinstance(rate, Problem):
        return rate
    scope = _scope(row)
    months = _TERM_MONTHS.get((row["term"], row["term_unit"]))
    payment = PAYMENTS.get(row["payment"])
    if not scope:
        return Problem("other_plan", f"plan {row['plan']!r} of family {row['family']!r}")
    if months is None:
        return Problem("unknown_term", f"term of {row['term']} {row['term_unit']}")
    if payment is None:
        return Problem("unknown_payment", f"purchase option {row['payment']!r}")
    return rate, Commitment(term_months=months, payment=payment, scope=scope)


def _scope(row: _Row) -> str:
    """Say what the plan covers; empty where it is no plan for EC2."""
    if row["plan"] == "ComputeSavingsPlans":
        return "compute"
    if row["plan"] == "EC2InstanceSavingsPlans" and row["family"]:
        return f"ec2:{row['family']}"
    return ""
