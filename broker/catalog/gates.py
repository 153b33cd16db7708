"""Trust gates: what is held back from planning, and why. Pure functions.

Some failures are movements (a
price that jumped, a spot price that is no discount): the market does that, so a second, later
reading of the same price confirms it. The others (a price that no GPU of its kind has, a node
that contradicts its data sheet) are as wrong the second time as the first: only a changed
setting, a corrected source, or a person who has looked at the offer lets them through.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from broker.catalog.bands import Bands, outside_band
from broker.catalog.duplicates import split_duplicates
from broker.catalog.snapshot import terms_digest
from broker.domain.offer import UNKNOWN_REGION, Offer, PriceKind
from broker.domain.quantities import quantize_usd
from broker.settings import Settings
from broker.specs.facts import NodeFacts
from broker.specs.market import MarketPrice, SoldIn


class Reason(StrEnum):
    """Why an offer is held back."""

    PRICE_OUT_OF_BAND = "price_out_of_band"
    CONTRADICTS_NODE = "contradicts_known_node"
    NOT_SOLD_THERE = "not_sold_in_region"
    SPOT_TOO_CHEAP = "spot_far_below_on_demand"
    SPOT_NO_DISCOUNT = "spot_not_below_on_demand"
    PRICE_JUMPED = "price_jumped"
    DUPLICATE_KEY = "duplicate_key"


_MOVEMENTS = frozenset({Reason.SPOT_NO_DISCOUNT, Reason.PRICE_JUMPED})


@dataclass(frozen=True, slots=True)
class Gates:
    """The thresholds, and what is known: of instance types, of prices, of where a type is sold."""

    bands: Bands
    max_price_change: Decimal
    min_spot_share: Decimal
    max_row_drop: Decimal
    nodes: Mapping[tuple[str, str], NodeFacts]
    sold_in: SoldIn


@dataclass(frozen=True, slots=True)
class Quarantined:
    """An offer that is shown but not planned with."""

    offer: Offer
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class LastPrice:
    """What an offer cost when it was last let through, and the gate that was confirmed then."""

    usd_per_hour: Decimal
    confirmed: str = ""


@dataclass(frozen=True, slots=True)
class HeldPrice:
    """A price that is held back, and when it was seen first."""

    usd_per_hour: Decimal
    observed_at: datetime


@dataclass(frozen=True, slots=True)
class DoubtedCount:
    """How many offers a provider had when they were thought too few, and when that was."""

    received: int
    at: datetime


@dataclass(frozen=True, slots=True)
class History:
    """What the catalog knows of a provider before a refresh; prices by the offer's key.

    `received` is the number of offers that the last accepted live refresh brought, or kept of parts
    that it could not read, `doubted` the same of the last one if it was turned away for that.
    `released` is what a person let through: the digest of its terms.
    """

    prices: Mapping[str, LastPrice] = field(default_factory=dict)
    held: Mapping[str, HeldPrice] = field(default_factory=dict)
    received: int | None = None
    doubted: DoubtedCount | None = None
    released: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Screened:
    """Offers by key, in order: those let through, those held back, and what was confirmed."""

    offers: tuple[Offer, ...]
    quarantined: tuple[Quarantined, ...]
    confirmed: Mapping[str, Reason]


def gates_from(
    settings: Settings,
    nodes: Mapping[tuple[str, str], NodeFacts],
    *,
    market: Mapping[str, MarketPrice] | None = None,
    sold_in: SoldIn | None = None,
) -> Gates:
    """Take the thresholds from the settings; `nodes` is by provider and lower-case type.

    Without `market` every GPU model has one band of prices, without `sold_in` a price is taken as
    proof that a machine is sold where it names.
    """
    return Gates(
        bands=Bands(
            min_usd_per_gpu_hour=settings.min_usd_per_gpu_hour,
            max_usd_per_gpu_hour=settings.max_usd_per_gpu_hour,
            min_share=Decimal(str(settings.min_share_of_market)),
            min_spot_share=Decimal(str(settings.min_spot_share_of_market)),
            min_committed_share=Decimal(str(settings.min_committed_share_of_market)),
            max_multiple=Decimal(str(settings.max_multiple_of_market)),
            market=market or {},
        ),
        max_price_change=Decimal(str(settings.max_price_change)),
        min_spot_share=Decimal(str(settings.min_spot_share)),
        max_row_drop=Decimal(str(settings.max_row_drop)),
        nodes=nodes,
        sold_in=sold_in or SoldIn({}),
    )


def screen(
    offers: Iterable[Offer],
    gates: Gates,
    history: History | None = None,
    *,
    beside: Iterable[Offer] = (),
) -> Screened:
    """Put each offer through the gates; without a history no price can have jumped.

    `beside` are offers that stand already and are not judged again; spot is compared with them.
    """
    known = history or History()
    kept, duplicates = split_duplicates(offers)
    on_demand = _on_demand_prices((*beside, *kept), gates)
    passed: list[Offer] = []
    confirmed: dict[str, Reason] = {}
    held = [
        Quarantined(
            other, Reason.DUPLICATE_KEY, f"the row at {_usd(winner.usd_per_hour)} $/h is kept"
        )
        for other, winner in duplicates
    ]
    for offer in kept:
        failures = _failures(offer, gates, on_demand=on_demand, last=known.prices.get(offer.key))
        doubts = {
            one: why for one, why in failures.items() if not _trusted(one, offer, known, gates)
        }
        if doubts and not _is_released(offer, known):
            held.append(Quarantined(offer, next(iter(doubts)), "; ".join(doubts.values())))
            continue
        passed.append(offer)
        if failures:
            confirmed[offer.key] = next(iter(failures))
    return Screened(tuple(passed), tuple(held), confirmed)


def too_few(
    received: int, at: datetime, gates: Gates, history: History, *, kept: int = 0
) -> str | None:
    """Say why a provider's rows are too few to replace its last ones, None if they are not.

    `kept` rows of parts that could not be read are neither lost nor do they hide a loss. A loss is
    confirmed by a later refresh that brings about as few.
    """
    floor = 1 - gates.max_row_drop
    if history.received is None or received >= floor * (history.received - kept):
        return None
    doubted = history.doubted
    if (
        doubted is not None
        and doubted.at < at
        and received >= floor * max(0, doubted.received - kept)
    ):
        return None
    return f"{received} offers instead of {history.received - kept}"


_Prices = Mapping[tuple[str, str, str, str | None, str], Decimal]


def _failures(
    offer: Offer, gates: Gates, *, on_demand: _Prices, last: LastPrice | None
) -> dict[Reason, str]:
    """List the gates that an offer fails, with the figures."""
    found = {
        Reason.PRICE_OUT_OF_BAND: outside_band(offer, gates.bands),
        Reason.CONTRADICTS_NODE: _contradiction(offer, gates),
        Reason.NOT_SOLD_THERE: _not_sold_there(offer, gates),
        Reason.SPOT_TOO_CHEAP: _too_cheap(offer, gates, on_demand),
        Reason.SPOT_NO_DISCOUNT: _no_discount(offer, on_demand),
        Reason.PRICE_JUMPED: _jump(offer, gates, last),
    }
    return {reason: detail for reason, detail in found.items() if detail}


def _contradiction(offer: Offer, gates: Gates) -> str:
    node = gates.nodes.get((offer.provider, offer.instance_type.lower()))
    shape = offer.hardware.shape
    if node is None or (node.gpu == shape.gpu and node.gpu_count == shape.gpu_count):
        return ""
    return f"{shape.gpu_count} × {shape.gpu}, but the type has {node.gpu_count} × {node.gpu}"


def _not_sold_there(offer: Offer, gates: Gates) -> str:
    region = offer.place.region
    others = gates.sold_in.elsewhere(offer.provider, offer.instance_type, region)
    if region == UNKNOWN_REGION or not others:
        return ""
    return f"no zone of {region} has {offer.instance_type}; sold in {', '.join(sorted(others))}"


def _too_cheap(offer: Offer, gates: Gates, on_demand: _Prices) -> str:
    full = _twin_price(offer, on_demand)
    if full is None or offer.usd_per_hour >= gates.min_spot_share * full:
        return ""
    return f"spot {_usd(offer.usd_per_hour)}, on demand {_usd(full)} $/h"


def _no_discount(offer: Offer, on_demand: _Prices) -> str:
    full = _twin_price(offer, on_demand)
    if full is None or offer.usd_per_hour < full:
        return ""
    return f"spot {_usd(offer.usd_per_hour)}, on demand {_usd(full)} $/h"


def _jump(offer: Offer, gates: Gates, last: LastPrice | None) -> str:
    now = offer.effective_usd_per_hour
    if last is None or abs(now - last.usd_per_hour) <= gates.max_price_change * last.usd_per_hour:
        return ""
    return f"from {_usd(last.usd_per_hour)} to {_usd(now)} $/h since the last reading"


def _trusted(reason: Reason, offer: Offer, history: History, gates: Gates) -> bool:
    """Tell whether a movement was seen before: let through already, or held and now repeated."""
    if reason not in _MOVEMENTS:
        return False
    price = offer.effective_usd_per_hour
    last = history.prices.get(offer.key)
    if last is not None and last.confirmed == reason and last.usd_per_hour == price:
        return True
    held = history.held.get(offer.key)
    if held is None or offer.provenance.observed_at <= held.observed_at:
        return False  # the same reading once more confirms nothing
    # A spot price floats, so one near the held one says the same; a list price must repeat.
    slack = gates.max_price_change if offer.price_kind is PriceKind.SPOT else Decimal(0)
    return abs(price - held.usd_per_hour) <= slack * held.usd_per_hour


def _is_released(offer: Offer, history: History) -> bool:
    """Tell whether a person let through what the offer says."""
    digest = history.released.get(offer.key)
    return digest is not None and digest == terms_digest(offer)


def _on_demand_prices(offers: Iterable[Offer], gates: Gates) -> _Prices:
    return {
        (*_site(offer), offer.place.zone, offer.tier): offer.usd_per_hour
        for offer in offers
        if offer.price_kind is PriceKind.ON_DEMAND and not outside_band(offer, gates.bands)
    }


def _twin_price(offer: Offer, on_demand: _Prices) -> Decimal | None:
    """Find the on-demand price of a spot offer's machine, which may be listed for the region."""
    if offer.price_kind is not PriceKind.SPOT:
        return None
    exact = on_demand.get((*_site(offer), offer.place.zone, offer.tier))
    return exact or on_demand.get((*_site(offer), None, offer.tier))


def _site(offer: Offer) -> tuple[str, str, str]:
    return offer.provider, offer.instance_type, offer.place.region


def _usd(amount: Decimal) -> str:
    return f"{quantize_usd(amount).normalize():f}"
