"""What a refresh brings from one provider, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from broker.domain.missing import Missing
from broker.domain.offer import Offer, Rejection


class RunStatus(StrEnum):
    """How a provider's part of a refresh ended.

    `refreshed` and `imported` replace its offers, `partial` those that it could read; the others
    keep all of its old ones.
    """

    REFRESHED = "refreshed"
    PARTIAL = "partial"
    IMPORTED = "imported"
    TOO_FEW = "too_few"
    OLDER = "older"
    FAILED = "failed"


READ = (RunStatus.REFRESHED, RunStatus.PARTIAL, RunStatus.IMPORTED)
"""How a run ended that let what it read stand."""


@dataclass(frozen=True, slots=True)
class Reading:
    """All that a provider sent, translated; `live` if it came over the network.

    `missing` are the parts of its catalog that could not be had.
    """

    provider: str
    live: bool
    started_at: datetime
    offers: tuple[Offer, ...]
    rejections: tuple[Rejection, ...]
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """One provider's part of a refresh.

    `offers` stand in the catalog after it. The two observation instants are those of the oldest
    and newest reply that what it read stands on, or of the last run that could read.
    `received` counts what the provider sent, but for types whose places are missing; `rejected`
    and `quarantined` count rows by reason.
    `missing` could not be read, and `kept` offers of those parts stay as they were, held or not.
    `error` says why old offers were kept, `hint` what to do about it. `clashes` are the keys that
    several rows of the reading had; they are told once and not stored.
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
    kept: int = 0
    missing: tuple[Missing, ...] = ()
    rejected: Mapping[str, int] = field(default_factory=dict)
    quarantined: Mapping[str, int] = field(default_factory=dict)
    error: str = ""
    hint: str = ""
    clashes: tuple[str, ...] = ()
