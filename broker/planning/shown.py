"""What is told of a refresh and of the catalog, as flat rows."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

from broker.catalog.runs import RunOutcome
from broker.domain.offer import Offer
from broker.planning.refresh import RefreshReport
from broker.planning.service import CatalogStatus
from broker.reports.formats import Plain, plain
from broker.reports.rows import RefreshRow, StatusRow

_S_PER_H = 3600


def refresh_rows(report: RefreshReport, now: datetime) -> tuple[RefreshRow, ...]:
    """Tell of each provider how its part of a refresh went; ages count from `now`."""
    return tuple(
        RefreshRow(
            provider=one.provider,
            status=one.status,
            received=one.received,
            offers=one.offers,
            new=one.new,
            changed=one.changed,
            vanished=one.vanished,
            rejected=one.rejected,
            quarantined=one.quarantined,
            age_h=_age_h(one.newest_observed_at, now) if one.offers else None,
            elapsed_s=round((one.finished_at - one.started_at).total_seconds(), 1),
            error=one.error,
            hint=one.hint,
        )
        for one in report.outcomes
    )


def status_rows(status: CatalogStatus) -> tuple[StatusRow, ...]:
    """Tell of each provider what the catalog holds, how old it is, and what is held back."""
    offers: dict[str, list[Offer]] = {run.provider: [] for run in status.runs}
    for offer in status.view.offers if status.view else ():
        offers.setdefault(offer.provider, []).append(offer)
    return tuple(_status_row(run, offers[run.provider], status.now) for run in status.runs)


def status_facts(status: CatalogStatus) -> Mapping[str, Plain]:
    """Name the catalog as a whole; its hash and newest observation are empty while it is."""
    view = status.view
    return {
        "snapshot": view.snapshot if view else None,
        "as_of": plain(view.as_of) if view else None,
        "offers": len(view.offers) if view else 0,
    }


def _status_row(run: RunOutcome, offers: list[Offer], now: datetime) -> StatusRow:
    seen = [offer.provenance.observed_at for offer in offers]
    return StatusRow(
        provider=run.provider,
        offers=len(offers),
        price_kinds=_counted(offer.price_kind for offer in offers),
        evidence=_counted(offer.provenance.evidence for offer in offers),
        newest_age_h=_age_h(max(seen, default=None), now),
        oldest_age_h=_age_h(min(seen, default=None), now),
        quarantined=run.quarantined,
        rejected=run.rejected,
        last_run=run.status,
        last_run_at=run.finished_at,
        error=run.error,
    )


def _counted(values: Iterable[str]) -> Mapping[str, int]:
    return dict(sorted(Counter(values).items()))


def _age_h(seen: datetime | None, now: datetime) -> float | None:
    return None if seen is None else round((now - seen).total_seconds() / _S_PER_H, 1)
