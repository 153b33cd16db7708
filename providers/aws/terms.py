"""Prices of terms: an hour on demand, or a reservation whose price may come in two parts.

    effective USD/h of a reservation = Hrs + Quantity ÷ (8760 × years)

Standard reservations alone become offers: a convertible one costs more for the right to exchange
it, which no plan makes use of.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from broker.domain.offer import Commitment, Payment, PriceKind
from providers.aws.wire import HOURLY, USD, PriceRow, Problem, positive_usd

_ONCE = "Quantity"
_TERM_MONTHS = {"1yr": 12, "3yr": 36}
PAYMENTS = {
    "No Upfront": Payment.NO_UPFRONT,
    "Partial Upfront": Payment.PARTIAL_UPFRONT,
    "All Upfront": Payment.ALL_UPFRONT,
}
"""The payment options by AWS's names."""

_PAIDHOURLY = (Payment.NO_UPFRONT, Payment.PARTIAL_UPFRONT)
_PAID_UPFRONT = (Payment.PARTIAL_UPFRONT, Payment.ALL_UPFRONT)


@dataclass(frozen=True, slots=True)
class Price:
    """What a node costs on one term. `quoted` is the figure of the source: upfront if all is."""

    kind: PriceKind
    usd_per_hour: Decimal
    quoted: Decimal
    commitment: Commitment | None = None


def on_demand_price(row: PriceRow) -> Price | Problem:
    """Read the price of an hour."""
    problem = _row_problem(row)
    if problem is not None:
        return problem
    if row.unit != HOURLY:
        return Problem("other_unit", f"the price is per {row.unit!r}, not per hour")
    usd = positive_usd(row.price)
    if isinstance(usd, Problem):
        return usd
    return Price(PriceKind.ON_DEMAND, usd, usd)


def reserved_price(parts: Sequence[PriceRow]) -> Price | Problem:
    """Join the rows of one reservation: an hourly part, an upfront part, or both."""
    commitment = _promise(parts[0])
    if isinstance(commitment, Problem):
        return commitment
    amounts = _amounts(parts)
    if isinstance(amounts, Problem):
        return amounts
    payment = commitment.payment
    if HOURLY not in amounts or (payment in _PAID_UPFRONT and _ONCE not in amounts):
        detail = f"{parts[0].purchase_option} with {' and '.join(amounts) or 'no price'} only"
        return Problem("incomplete_reservation", detail)
    hourly, upfront = amounts[HOURLY], amounts.get(_ONCE, Decimal(0))
    if not hourly and not upfront:
        return Problem("zero_price", f"{parts[0].purchase_option} at no price")
    if (hourly > 0, upfront > 0) != (payment in _PAIDHOURLY, payment in _PAID_UPFRONT):
        detail = f"{parts[0].purchase_option} with {hourly} an hour and {upfront} upfront"
        return Problem("contradictory_reservation", detail)
    return Price(
        PriceKind.RESERVED,
        hourly,
        hourly or upfront,
        commitment.model_copy(update={"upfront_usd": upfront}),
    )


def _promise(row: PriceRow) -> Commitment | Problem:
    """Read term and payment; the upfront amount comes from the rows' prices."""
    if row.offering_class == "convertible":
        return Problem("convertible_reservation", f"{row.lease} {row.purchase_option}")
    if row.offering_class != "standard":
        return Problem("other_offering_class", f"offering class {row.offering_class!r}")
    months = _TERM_MONTHS.get(row.lease)
    if months is None:
        return Problem("unknown_term", f"lease of {row.lease!r}")
    payment = PAYMENTS.get(row.purchase_option)
    if payment is None:
        return Problem("unknown_payment", f"purchase option {row.purchase_option!r}")
    return Commitment(term_months=months, payment=payment)


def _amounts(parts: Sequence[PriceRow]) -> dict[str, Decimal] | Problem:
    amounts: dict[str, Decimal] = {}
    for row in parts:
        problem = _row_problem(row)
        if problem is not None:
            return problem
        if row.unit not in (HOURLY, _ONCE):
            return Problem("other_unit", f"a part of the price is per {row.unit!r}")
        usd = positive_usd(row.price)
        if isinstance(usd, Problem):
            if usd.reason != "zero_price":
                return usd
            usd = Decimal(0)  # all upfront leaves nothing for the hours
        if amounts.setdefault(row.unit, usd) != usd:
            return Problem("conflicting_rows", f"{amounts[row.unit]} and {usd} per {row.unit}")
    return amounts


def _row_problem(row: PriceRow) -> Problem | None:
    if row.currency != USD:
        return Problem("other_currency", f"currency {row.currency!r}")
    if row.starting_range not in ("", "0") or row.ending_range not in ("", "Inf"):
        detail = f"the price holds from {row.starting_range} to {row.ending_range} hours"
        return Problem("tiered_price", detail)
    return None
