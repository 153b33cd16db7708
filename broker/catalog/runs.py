"""What a refresh brings from one provider, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from broker.domain.offer import Offer, Rejection


class RunStatus(StrEnum):
    """How a provider's part of a refresh ended; all but `refreshed` keep its old offers."""

    REFRESHED = "refreshed"
    TOO_FEW = "too_few"
    OLDER = "older"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Reading:
    """All that a provider sent, translated; `live` if it came over the network."""

    provider: str
    live: bool
    started_at: datetime
    offers: tuple[Offer, ...]
    rejections: tuple[Rejection, ...]


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """One provider's part of a refresh.

    `offers` stand in the catalog after it, observed between the two observation instants.
    `received` counts what the provider sent; `rejected` and `quarantined` count rows by reason.
    `error` says why the old offers were kept, `hint` what to do about it.
    """

    provider: str
    status: RunStatus
    live: bool
    started_at: datetime
    finished_at: datetime
    oldest_observed_at: datetime | None = None
    newest_observed_at: datetime | None = None
    received: int = 0
    offers: int = 0
    new: int = 0
    changed: int = 0
    vanished: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)
    quarantined: Mapping[str, int] = field(default_factory=dict)
    error: str = ""
    hint: str = ""
