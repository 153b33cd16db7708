"""What happened to the offers between two catalogs: prices moved, offers came, went or changed."""

from collections.abc import Iterable
from dataclasses import dataclass

from broker.domain.offer import Offer


@dataclass(frozen=True, slots=True)
class MarketChange:
    """How two catalogs differ.

    `may_differ` says that offers came, went or changed otherwise than in price, or that this is
    not known; `only_prices_moved` that nothing else did.
    """

    may_differ: bool
    only_prices_moved: bool
    why: str


def same_catalog() -> MarketChange:
    """Say that both plans were made from one catalog."""
    return MarketChange(may_differ=False, only_prices_moved=False, why="")


def unknown_change(missing: str) -> MarketChange:
    """Say that a catalog was not found, so that more than known prices may have changed."""
    why = f"what else changed is not known, as {missing} was not found"
    return MarketChange(may_differ=True, only_prices_moved=False, why=why)


def market_change(old: Iterable[Offer], new: Iterable[Offer]) -> MarketChange:
    """Compare the offers of two catalogs by their keys."""
    before = {offer.key: offer for offer in old}
    after = {offer.key: offer for offer in new}
    both = before.keys() & after.keys()
    came, went = len(after.keys() - both), len(before.keys() - both)
    changed = sum(_but_price(before[key]) != _but_price(after[key]) for key in both)
    moved = any(_prices(before[key]) != _prices(after[key]) for key in both)
    told = [
        f"{count:,} offer{'s' * (count != 1)} {what}"
        for count, what in ((came, "came"), (went, "went"), (changed, "changed otherwise"))
        if count
    ]
    if moved and told:
        told.append("buying otherwise at the new prices")
    has_changed = bool(came or went or changed)
    return MarketChange(
        may_differ=has_changed,
        only_prices_moved=moved and not has_changed,
        why=", ".join(told),
    )


def _prices(offer: Offer) -> tuple[object, ...]:
    upfront = offer.commitment.upfront_usd if offer.commitment else None
    return offer.usd_per_hour, upfront


def _but_price(offer: Offer) -> Offer:
    """Leave out what an offer costs, and when and where that was seen."""
    commitment = offer.commitment
    return offer.model_copy(
        update={
            "usd_per_hour": None,
            "quote": None,
            "provenance": None,
            "components": None,
            "warnings": (),
            "commitment": commitment and commitment.model_copy(update={"upfront_usd": None}),
        }
    )
