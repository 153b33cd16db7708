"""What is told of a refresh and of the catalog, as flat rows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from broker.catalog.runs import RunOutcome
from broker.domain.offer import Evidence, PriceKind
from broker.planning.offers import CatalogStatus
from broker.planning.refresh import RefreshReport
from broker.reports.formats import Plain, plain
from broker.reports.rows import CoverageRow, KindRow, RefreshRow, StatusRow

NEVER = "never"
"""The last run of a provider that had none."""

CALLED: Mapping[PriceKind, tuple[str, ...]] = MappingProxyType(
    {
        PriceKind.ON_DEMAND: ("pay as you go", "by the hour"),
        PriceKind.SPOT: ("interruptible", "preemptible", "marketplace bids", "DWS flex-start"),
        PriceKind.RESERVED: ("reserved instances", "committed use (CUD)", "monthly plans"),
        PriceKind.SAVINGS_PLAN: ("savings plans", "committed spend"),
        PriceKind.CAPACITY_BLOCK: ("capacity blocks", "DWS calendar mode"),
        PriceKind.CONTRACT: ("private quotes, from a price sheet",),
        PriceKind.OWNED: ("your own hardware, from a price sheet",),
    }
)
"""The words of providers for what is bought in each price kind."""

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
            kept=one.kept,
            missing=tuple(part.part for part in one.missing),
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
    """Tell of each provider what the store holds, how old it is, and what is held back."""
    runs = {run.provider: run for run in status.runs}
    return tuple(
        _status_row(name, runs.get(name), [cell for cell in status.cells if cell.provider == name])
        for name in status.providers
    )


def kind_rows(status: CatalogStatus) -> tuple[KindRow, ...]:
    """Tell of each price kind what there is; nobody sells what is owned, so it may be left out."""
    rows = [_kind_row(kind, status.cells) for kind in PriceKind]
    return tuple(row for row in rows if row.offers or row.price_kind != PriceKind.OWNED)


def _kind_row(kind: PriceKind, cells: Iterable[CoverageRow]) -> KindRow:
    of = [cell for cell in cells if cell.price_kind == kind and cell.offers]
    return KindRow(
        price_kind=kind.value,
        offers=sum(cell.offers for cell in of),
        examples=sum(cell.evidence.get(Evidence.EXAMPLE, 0) for cell in of),
        sellers=len({cell.provider for cell in of if set(cell.evidence) != {Evidence.EXAMPLE}}),
        called=CALLED[kind],
    )


def status_facts(status: CatalogStatus) -> Mapping[str, Plain]:
    """Name the store's catalog as a whole; its newest observation is empty while it is."""
    return {
        "snapshot": status.snapshot,
        "as_of": plain(status.as_of),
        "offers": sum(cell.offers for cell in status.cells),
    }


def summed(counts: Iterable[Mapping[str, int]]) -> Mapping[str, int]:
    """Add counts by name up."""
    total = Counter[str]()
    for one in counts:
        total.update(one)
    return dict(sorted(total.items()))


def _status_row(provider: str, run: RunOutcome | None, cells: Sequence[CoverageRow]) -> StatusRow:
    kinds = Counter[str]()
    for cell in cells:
        kinds[cell.price_kind] += cell.offers
    newest = [cell.newest_age_h for cell in cells if cell.newest_age_h is not None]
    oldest = [cell.oldest_age_h for cell in cells if cell.oldest_age_h is not None]
    return StatusRow(
        provider=provider,
        offers=kinds.total(),
        price_kinds=dict(sorted((+kinds).items())),
        evidence=summed(cell.evidence for cell in cells),
        stale=sum(cell.stale for cell in cells),
        newest_age_h=min(newest, default=None),
        oldest_age_h=max(oldest, default=None),
        quarantined=summed(cell.quarantined for cell in cells),
        rejected=run.rejected if run else {},
        missing=tuple(one.part for one in run.missing) if run else (),
        last_run=run.status if run else NEVER,
        last_run_at=run.finished_at if run else None,
        error=run.error if run else "",
    )


def _age_h(seen: datetime | None, now: datetime) -> float | None:
    return None if seen is None else round((now - seen).total_seconds() / _S_PER_H, 1)
