"""Between values and rows: offers as payloads, dollars as whole micro-dollars."""

from datetime import datetime
from decimal import Decimal
from typing import TypedDict

from broker.catalog.gates import Quarantined
from broker.catalog.snapshot import statement_digest
from broker.domain.offer import Offer
from broker.domain.quantities import MICRO_USD


class ObservationRow(TypedDict):
    """A row of `observation` to be inserted."""

    provider: str
    offer_key: str
    price_kind: str
    gpu: str
    micro_usd_per_hour: int
    effective_micro_usd_per_hour: int
    confirmed: str
    digest: str
    observed_at: datetime
    valid_from: datetime
    payload: str


class HeldRow(TypedDict):
    """A row of `quarantine` to be inserted."""

    provider: str
    offer_key: str
    reason: str
    detail: str
    effective_micro_usd_per_hour: int
    digest: str
    observed_at: datetime
    valid_from: datetime
    payload: str


def micro_usd(usd: Decimal) -> int:
    """Count the micro-dollars of an amount that has no smaller part."""
    return int(usd / MICRO_USD)


def usd(micro: int) -> Decimal:
    """Give the dollars of whole micro-dollars."""
    return micro * MICRO_USD


def observation_row(offer: Offer, *, at: datetime, confirmed: str) -> ObservationRow:
    """Write an offer as the row that stands from `at` on."""
    return ObservationRow(
        provider=offer.provider,
        offer_key=offer.key,
        price_kind=offer.price_kind,
        gpu=offer.hardware.shape.gpu,
        micro_usd_per_hour=micro_usd(offer.usd_per_hour),
        effective_micro_usd_per_hour=micro_usd(offer.effective_usd_per_hour),
        confirmed=confirmed,
        digest=statement_digest(offer),
        observed_at=offer.provenance.observed_at,
        valid_from=at,
        payload=offer.model_dump_json(),
    )


def held_row(held: Quarantined, *, at: datetime) -> HeldRow:
    """Write a held offer as the row that stands from `at` on."""
    offer = held.offer
    return HeldRow(
        provider=offer.provider,
        offer_key=offer.key,
        reason=held.reason,
        detail=held.detail,
        effective_micro_usd_per_hour=micro_usd(offer.effective_usd_per_hour),
        digest=statement_digest(offer),
        observed_at=offer.provenance.observed_at,
        valid_from=at,
        payload=offer.model_dump_json(),
    )


def offer_from(payload: str) -> Offer:
    """Read a payload: the offer as it was first observed to say the same."""
    return Offer.model_validate_json(payload)


def seen_again(offer: Offer, seen_at: datetime | None) -> Offer:
    """Give an offer the age that it has if its provider was seen to offer the same at `seen_at`."""
    if seen_at is None or seen_at <= offer.provenance.observed_at:
        return offer
    provenance = offer.provenance.model_copy(update={"observed_at": seen_at})
    return offer.model_copy(update={"provenance": provenance})
