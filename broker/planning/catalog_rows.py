"""What is told of the catalog's past and its care, as flat rows."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from broker.catalog.bands import usd_per_gpu_hour
from broker.catalog.price_history import PriceHistory, PriceStep
from broker.catalog.quarantine import HeldOffer
from broker.catalog.releases import Released
from broker.catalog.runs import RunOutcome
from broker.catalog.state import CatalogState, by_provider
from broker.domain.quantities import quantize_usd
from broker.reports.exchange_view import ExchangeRow
from broker.reports.history_view import HistoryRow
from broker.reports.quarantine_view import HeldRow, ReleaseRow

_S_PER_H = 3600


def history_rows(history: PriceHistory, since: datetime | None = None) -> tuple[HistoryRow, ...]:
    """Tell each step of a price that reaches past `since`, the oldest first."""
    rows: list[HistoryRow] = []
    last: Decimal | None = None
    for step in history.steps:
        rows.append(_history_row(step, last))
        last = step.offer.effective_usd_per_hour
    return tuple(row for row in rows if since is None or row.to_at is None or row.to_at > since)


def held_rows(held: Iterable[HeldOffer], now: datetime) -> tuple[HeldRow, ...]:
    """Tell of each held offer what it asks and what is doubted."""
    return tuple(
        HeldRow(
            key=one.held.offer.key,
            provider=one.held.offer.provider,
            gpu=one.held.offer.hardware.shape.gpu,
            price_kind=one.held.offer.price_kind,
            usd_per_hour=one.held.offer.usd_per_hour,
            usd_per_gpu_hour=quantize_usd(usd_per_gpu_hour(one.held.offer)),
            reason=one.held.reason,
            detail=one.held.detail,
            held_since=one.since,
            held_h=_hours(one.since, now),
            observed_at=one.held.offer.provenance.observed_at,
            evidence=one.held.offer.provenance.evidence,
            source=one.held.offer.provenance.source,
        )
        for one in held
    )


def release_rows(releases: Iterable[Released]) -> tuple[ReleaseRow, ...]:
    """Tell of each release who answers for it, and whether it still holds."""
    return tuple(
        ReleaseRow(
            key=one.offer_key,
            released_by=one.released_by,
            released_at=one.at,
            until=one.until,
            reason=one.reason,
            detail=one.detail,
            note=one.note,
            digest=one.digest,
        )
        for one in releases
    )


def exported_rows(state: CatalogState, now: datetime) -> tuple[ExchangeRow, ...]:
    """Tell of each provider what went into a file; ages count from `now`."""
    return tuple(
        _exchange_row(name, part, now, result="exported") for name, part in by_provider(state)
    )


def imported_rows(
    state: CatalogState, outcomes: Iterable[RunOutcome], now: datetime
) -> tuple[ExchangeRow, ...]:
    """Tell of each provider in a file what came of it."""
    by_name = {one.provider: one for one in outcomes}
    return tuple(
        _exchange_row(name, part, now, result=by_name[name].status, error=by_name[name].error)
        for name, part in by_provider(state)
    )


def _history_row(step: PriceStep, last: Decimal | None) -> HistoryRow:
    offer = step.offer
    price = offer.effective_usd_per_hour
    return HistoryRow(
        from_at=step.from_at,
        to_at=step.to_at,
        usd_per_hour=offer.usd_per_hour,
        upfront_usd=offer.commitment.upfront_usd if offer.commitment else None,
        effective_usd_per_hour=price,
        usd_per_gpu_hour=quantize_usd(usd_per_gpu_hour(offer)),
        change_fraction=round(float(price / last - 1), 6) if last else None,
        evidence=offer.provenance.evidence,
        held=step.held,
        held_detail=step.held_detail,
        source=offer.provenance.source,
    )


def _exchange_row(
    provider: str, part: CatalogState, now: datetime, *, result: str, error: str = ""
) -> ExchangeRow:
    seen = [offer.provenance for offer in part.shown]
    ages = [_hours(one.observed_at, now) for one in seen]
    return ExchangeRow(
        provider=provider,
        result=result,
        offers=len(part.offers),
        quarantined=len(part.quarantined),
        evidence=dict(sorted(Counter(str(one.evidence) for one in seen).items())),
        newest_age_h=min(ages, default=None),
        oldest_age_h=max(ages, default=None),
        error=error,
    )


def _hours(since: datetime, now: datetime) -> float:
    return round((now - since).total_seconds() / _S_PER_H, 1)
