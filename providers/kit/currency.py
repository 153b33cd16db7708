"""Prices in other currencies: in dollars at the reference rate of a day, the quote kept.

    quote = rates.quote(Decimal("2.80"), "EUR", provenance(reply).observed_at.date())
    usd_per_hour = in_usd(quote)

Lists of European clouds are in euros before tax. What a buyer is charged later is in euros still:
the dollars of an offer move with the rate, whose day stands in its quote.
"""

from datetime import date
from decimal import Decimal

from broker.domain.offer import Quote
from broker.domain.quantities import quantize_usd
from broker.specs.fx import usd_per_unit


class Rates:
    """Exchange rates, each looked up once: the bundled file holds every day since 1999."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, date], tuple[Decimal, date] | None] = {}

    def quote(self, amount: Decimal, currency: str, on: date) -> Quote | None:
        """Quote a price above zero in a currency; None where the currency has no rate."""
        key = (currency, on)
        if key not in self._known:
            self._known[key] = usd_per_unit(currency, on)
        rate = self._known[key]
        if rate is None:
            return None
        dollars, day = rate
        return Quote(amount=amount, currency=currency, usd_per_unit=dollars, converted_on=day)


def in_usd(quote: Quote) -> Decimal:
    """Give the dollars of a quote, to the micro-dollar."""
    return quantize_usd(quote.amount * quote.usd_per_unit)
