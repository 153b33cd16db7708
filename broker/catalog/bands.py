"""The band in which the price of a GPU-hour is plausible, for each model and way of buying.

    low  = share of the kind × market price of the model     (spot: × its market price on spot)
    high = multiple × market price on demand, at least 10 $/h

inside the one band that holds for every model, with a market price or without. The bands are wide:
they are to find a placeholder, a price of another unit or of another machine, not a bargain. A
machine with one small GPU and 64 vCPUs is dear per GPU and still right, hence the least upper end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from broker.domain.offer import Offer, PriceKind
from broker.domain.quantities import quantize_usd
from broker.specs.market import MarketPrice

_LEAST_HIGH_USD = Decimal(10)


@dataclass(frozen=True, slots=True)
class Bands:
    """The thresholds, in dollars per GPU-hour and as shares of a model's market price."""

    min_usd_per_gpu_hour: Decimal
    max_usd_per_gpu_hour: Decimal
    min_share: Decimal
    min_spot_share: Decimal
    min_committed_share: Decimal
    max_multiple: Decimal
    market: Mapping[str, MarketPrice] = field(default_factory=dict)


def outside_band(offer: Offer, bands: Bands) -> str:
    """Say how a price is out of its band, empty if it is not.

    What an owned GPU costs is for its owner to say.
    """
    if offer.price_kind is PriceKind.OWNED:
        return ""
    price = usd_per_gpu_hour(offer)
    market = bands.market.get(offer.hardware.shape.gpu)
    low, high = _band(offer.price_kind, market, bands)
    if low <= price <= high:
        return ""
    said = f"{_usd(price)} $/GPU-h is not within {_usd(low)} to {_usd(high)}"
    if market is None:
        return said
    return f"{said}: a {offer.hardware.shape.gpu} goes for {_goes_for(market)} ({market.as_of})"


def usd_per_gpu_hour(offer: Offer) -> Decimal:
    """Give the price of one GPU for one hour, upfront parts spread over the term."""
    count = offer.hardware.shape.gpu_count
    return offer.effective_usd_per_hour * count.denominator / count.numerator


def _band(kind: PriceKind, market: MarketPrice | None, bands: Bands) -> tuple[Decimal, Decimal]:
    least, most = bands.min_usd_per_gpu_hour, bands.max_usd_per_gpu_hour
    if market is None:
        return least, most
    on_demand = market.on_demand_usd_per_gpu_hour
    high = max(_LEAST_HIGH_USD, bands.max_multiple * on_demand)
    match kind:
        case PriceKind.ON_DEMAND:
            low = bands.min_share * on_demand
        case PriceKind.SPOT:
            low = bands.min_spot_share * (market.spot_usd_per_gpu_hour or Decimal(0))
        case _:
            low = bands.min_committed_share * on_demand
    return max(low, least), min(high, most)


def _goes_for(market: MarketPrice) -> str:
    firm = f"{_usd(market.on_demand_usd_per_gpu_hour)} on demand"
    if market.spot_usd_per_gpu_hour is None:
        return firm
    return f"{firm}, {_usd(market.spot_usd_per_gpu_hour)} on spot"


def _usd(amount: Decimal) -> str:
    return f"{quantize_usd(amount).normalize():f}"
