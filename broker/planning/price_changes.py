"""A catalog with other prices than it has: for what-ifs, marked so, under a hash of its own."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation

from broker.catalog.snapshot import snapshot_hash
from broker.domain.errors import ConfigurationError
from broker.domain.offer import NOT_ITS_PRICE, Offer
from broker.domain.quantities import quantize_usd
from broker.planning.catalog_view import CatalogView
from broker.planning.nearest import unknown

_FACTOR = "x"
_Change = Callable[[Offer], Offer]


def with_price(view: CatalogView, what: str, value: str) -> CatalogView:
    """Change the price of what is named: by a factor such as 0.9x, or one offer to an amount.

    A factor changes the hourly part and the upfront part of a price; an amount is the dollars per
    hour of a whole node, beside an upfront part that stays.

    Raises:
        ConfigurationError: no plannable offer answers to the name, or the value is no price.
    """
    keys = _named(view.offers, what)
    if not keys:
        raise _unknown(view, what)
    number = _number(value)
    change: _Change
    if value.endswith(_FACTOR):
        change = _by_factor(number)
    elif [key.lower() for key in keys] == [what.lower()]:
        change = _to_amount(number)
    else:
        raise ConfigurationError(
            f"{value!r} is the price of one offer, and {what!r} is not the key of one",
            hint=f"write a factor such as price.{what}=0.9x, or the key of an offer",
        )
    note = f"what-if price.{what}={value}"
    offers = tuple(_marked(change(one), note) if one.key in keys else one for one in view.offers)
    return replace(view, offers=offers, snapshot=snapshot_hash(offers))


def _named(offers: Iterable[Offer], what: str) -> set[str]:
    """Find the keys of the offers that a name means: of one, a machine, a GPU, a provider."""
    name = what.lower()
    return {offer.key for offer in offers if name in map(str.lower, _names(offer))}


def _names(offer: Offer) -> Sequence[str]:
    return (offer.key, offer.machine, offer.hardware.shape.gpu, offer.provider)


def _unknown(view: CatalogView, what: str) -> ConfigurationError:
    held = _named((one.offer for one in view.quarantined), what)
    if held:
        return ConfigurationError(
            f"{what!r} is held back, so no plan can use it",
            hint="see why: gpubroker offers --quarantined",
        )
    common = sorted({offer.hardware.shape.gpu for offer in view.offers})
    names = {name for offer in view.offers for name in _names(offer)}
    return unknown("GPU, provider or offer", what, names, common=common, where="gpubroker offers")


def _number(value: str) -> Decimal:
    try:
        number = Decimal(value.removesuffix(_FACTOR))
    except InvalidOperation:
        number = Decimal(0)
    if not (number.is_finite() and number > 0):
        raise ConfigurationError(
            f"{value!r} is no price", hint="write a factor such as 0.9x, or dollars such as 2.10"
        )
    return number


def _by_factor(factor: Decimal) -> _Change:
    def change(offer: Offer) -> Offer:
        commitment = offer.commitment
        if commitment is not None:
            upfront = quantize_usd(commitment.upfront_usd * factor)
            commitment = commitment.model_copy(update={"upfront_usd": upfront})
        return _times(offer.model_copy(update={"commitment": commitment}), factor)

    return change


def _to_amount(usd_per_hour: Decimal) -> _Change:
    def change(offer: Offer) -> Offer:
        if not offer.usd_per_hour:
            raise ConfigurationError(
                f"{offer.key!r} has no price by the hour", hint="change it by a factor, as 0.9x"
            )
        changed = _times(offer, usd_per_hour / offer.usd_per_hour)
        return changed.model_copy(update={"usd_per_hour": quantize_usd(usd_per_hour)})

    return change


def _times(offer: Offer, factor: Decimal) -> Offer:
    """Change the hourly price, and with it what it is made of and the quote that it came from."""
    parts = offer.components
    if parts is not None:
        amounts = {name: quantize_usd(usd * factor) for name, usd in parts.model_dump().items()}
        parts = parts.model_copy(update=amounts)
    return offer.model_copy(
        update={
            "usd_per_hour": quantize_usd(offer.usd_per_hour * factor),
            "components": parts,
            "quote": offer.quote.model_copy(update={"amount": offer.quote.amount * factor}),
        }
    )


def _marked(offer: Offer, note: str) -> Offer:
    source = offer.provenance.model_copy(update={"source": f"{offer.provenance.source} ({note})"})
    return offer.model_copy(
        update={"provenance": source, "warnings": (*offer.warnings, f"{NOT_ITS_PRICE}{note}")}
    )
