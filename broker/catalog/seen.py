"""How old a standing offer is: when its provider was last read to offer the same.

An offer that says the same as before keeps its row, so the row's own stamp is that of its first
observation. It was seen again by every later run that read its part, and by no run that could not:
its age counts from the last one that did, and there from the oldest reply, as no offer shall look
younger than it is.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select
from sqlmodel import col

from broker.catalog.parts import parts_from
from broker.catalog.rows import seen_again
from broker.catalog.runs import READ
from broker.catalog.tables import RefreshRun
from broker.domain.missing import Missing
from broker.domain.offer import Offer


@dataclass(frozen=True, slots=True)
class _Run:
    oldest_observed_at: datetime | None
    missing: tuple[Missing, ...]


@dataclass(frozen=True, slots=True)
class Sightings:
    """Each provider's runs that read anything, newest first, back to the last that read all.

    Of runs that missed the same parts only the newest is among them: it saw all that they did.
    """

    runs: Mapping[str, tuple[_Run, ...]]

    def aged(self, offer: Offer) -> Offer:
        """Give an offer of a row the age that it has."""
        for run in self.runs.get(offer.provider, ()):
            if not any(part.covers(offer) for part in run.missing):
                return seen_again(offer, run.oldest_observed_at)
        return offer


def sightings(connection: Connection, at: datetime) -> Sightings:
    """Gather what was read up to one of the catalog's instants."""
    read = (col(RefreshRun.finished_at) <= at, col(RefreshRun.status).in_(READ))
    last_whole = (
        select(col(RefreshRun.provider), func.max(col(RefreshRun.id)).label("id"))
        .where(*read, col(RefreshRun.missing) == "")
        .group_by(col(RefreshRun.provider))
        .subquery()
    )
    newest = (
        select(func.max(col(RefreshRun.id)))
        .outerjoin(last_whole, last_whole.c.provider == col(RefreshRun.provider))
        .where(*read, col(RefreshRun.id) >= func.coalesce(last_whole.c.id, 0))
        .group_by(col(RefreshRun.provider), col(RefreshRun.missing))
    )
    query = (
        select(
            col(RefreshRun.provider), col(RefreshRun.oldest_observed_at), col(RefreshRun.missing)
        )
        .where(col(RefreshRun.id).in_(newest))
        .order_by(col(RefreshRun.id).desc())
    )
    runs: defaultdict[str, list[_Run]] = defaultdict(list)
    for provider, oldest, missing in connection.execute(query):
        runs[provider].append(_Run(oldest, parts_from(provider, missing)))
    return Sightings({provider: tuple(found) for provider, found in runs.items()})
