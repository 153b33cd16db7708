"""What an offer cost over time: every row that it ever had, held back or not."""

from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection, select
from sqlmodel import col

from broker.catalog.gates import Reason
from broker.catalog.keys import find_key
from broker.catalog.rows import offer_from
from broker.catalog.tables import HeldReading, Observation
from broker.domain.offer import Offer


@dataclass(frozen=True, slots=True)
class PriceStep:
    """An offer as it was from one instant to another; `to_at` is None while it is so.

    `held` says why it was held back, and is empty where it stood.
    """

    offer: Offer
    from_at: datetime
    to_at: datetime | None
    held: str = ""
    held_detail: str = ""


@dataclass(frozen=True, slots=True)
class PriceHistory:
    """The steps of one offer, in the order of time, and the catalog's newest instant."""

    key: str
    at: datetime
    steps: tuple[PriceStep, ...]


def price_history(connection: Connection, given: str, *, at: datetime) -> PriceHistory:
    """Read what an offer cost since it was first seen; equal steps that follow are one.

    Raises:
        ConfigurationError: no offer of that key was ever seen; the hint has the nearest ones.
    """
    key = find_key(given, _keys(connection, given))
    provider = key.partition("/")[0]
    rows = [*_stood(connection, provider, key), *_was_held(connection, provider, key)]
    steps: list[PriceStep] = []
    for step in sorted(rows, key=lambda one: one.from_at):
        start = steps.pop().from_at if steps and _goes_on(steps[-1], step) else step.from_at
        steps.append(replace(step, from_at=start))
    return PriceHistory(key, at, tuple(steps))


def _keys(connection: Connection, given: str) -> frozenset[str]:
    """List the keys that a text may mean: itself if there is such a one, else all."""
    tables = (Observation, HeldReading)
    provider = given.partition("/")[0]
    for table in tables:
        query = (
            select(col(table.offer_key))
            .where(col(table.provider) == provider, col(table.offer_key) == given)
            .limit(1)
        )
        if connection.execute(query).first():
            return frozenset({given})
    return frozenset(
        key
        for table in tables
        for key in connection.scalars(select(col(table.offer_key)).distinct())
    )


def _stood(connection: Connection, provider: str, key: str) -> list[PriceStep]:
    query = select(
        col(Observation.payload), col(Observation.valid_from), col(Observation.valid_to)
    ).where(col(Observation.provider) == provider, col(Observation.offer_key) == key)
    return [
        PriceStep(offer_from(payload), start, end)
        for payload, start, end in connection.execute(query)
    ]


def _was_held(connection: Connection, provider: str, key: str) -> list[PriceStep]:
    query = select(
        col(HeldReading.payload),
        col(HeldReading.valid_from),
        col(HeldReading.valid_to),
        col(HeldReading.reason),
        col(HeldReading.detail),
    ).where(
        col(HeldReading.provider) == provider,
        col(HeldReading.offer_key) == key,
        col(HeldReading.reason) != Reason.DUPLICATE_KEY,
    )
    return [
        PriceStep(offer_from(payload), start, end, reason, detail)
        for payload, start, end, reason, detail in connection.execute(query)
    ]


def _goes_on(last: PriceStep, step: PriceStep) -> bool:
    """Tell whether a step asks what the one right before it asked."""
    return (
        last.to_at == step.from_at
        and last.held == step.held
        and _asked(last.offer) == _asked(step.offer)
    )


def _asked(offer: Offer) -> tuple[object, ...]:
    upfront = offer.commitment.upfront_usd if offer.commitment else None
    return offer.usd_per_hour, upfront, offer.hardware.shape.gpu_count
