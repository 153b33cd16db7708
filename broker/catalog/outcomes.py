"""Runs in the database: written once, read back for the status of the catalog."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, func, insert, select
from sqlmodel import col

from broker.catalog.parts import parts_from, parts_text
from broker.catalog.runs import RunOutcome, RunStatus
from broker.catalog.tables import HeldReading, Observation, RefreshRun, RejectionCount
from broker.store.ordering import code_points


def record(connection: Connection, outcome: RunOutcome) -> None:
    """Write what came of a run."""
    query = insert(RefreshRun).values(
        provider=outcome.provider,
        status=outcome.status,
        live=outcome.live,
        started_at=outcome.started_at,
        finished_at=outcome.finished_at,
        oldest_observed_at=outcome.oldest_observed_at,
        newest_observed_at=outcome.newest_observed_at,
        received=outcome.received,
        offers=outcome.offers,
        new=outcome.new,
        changed=outcome.changed,
        vanished=outcome.vanished,
        kept=outcome.kept,
        missing=parts_text(outcome.missing),
        error=outcome.error,
        hint=outcome.hint,
    )
    run_id = connection.execute(query.returning(col(RefreshRun.id))).scalar_one()
    counts = [
        {"run_id": run_id, "reason": reason, "rows": rows}
        for reason, rows in sorted(outcome.rejected.items())
    ]
    if counts:
        connection.execute(insert(RejectionCount), counts)


def standing_count(connection: Connection, provider: str) -> int:
    """Count a provider's standing offers."""
    query = select(func.count()).where(
        col(Observation.provider) == provider, col(Observation.valid_to).is_(None)
    )
    return connection.execute(query).scalar_one()


def held_counts(connection: Connection, provider: str) -> Mapping[str, int]:
    """Count a provider's held readings by reason."""
    query = (
        select(col(HeldReading.reason), func.count())
        .where(col(HeldReading.provider) == provider, col(HeldReading.valid_to).is_(None))
        .group_by(col(HeldReading.reason))
        .order_by(code_points(col(HeldReading.reason)))
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def last_outcomes(connection: Connection) -> tuple[RunOutcome, ...]:
    """Read the last run of each provider, in the order of their names."""
    newest = select(func.max(col(RefreshRun.id))).group_by(col(RefreshRun.provider))
    table = RefreshRun.metadata.tables["refresh_run"]
    rows = connection.execute(
        select(table).where(table.c.id.in_(newest)).order_by(code_points(table.c.provider))
    ).all()
    rejected = _rejection_counts(connection, [row.id for row in rows])
    return tuple(
        RunOutcome(
            provider=row.provider,
            status=RunStatus(row.status),
            live=row.live,
            started_at=row.started_at,
            finished_at=row.finished_at,
            oldest_observed_at=row.oldest_observed_at,
            newest_observed_at=row.newest_observed_at,
            received=row.received,
            offers=row.offers,
            new=row.new,
            changed=row.changed,
            vanished=row.vanished,
            kept=row.kept,
            missing=parts_from(row.provider, row.missing),
            rejected=rejected[row.id],
            quarantined=held_counts(connection, row.provider),
            error=row.error,
            hint=row.hint,
        )
        for row in rows
    )


def _rejection_counts(
    connection: Connection, run_ids: Iterable[int]
) -> Mapping[int, Mapping[str, int]]:
    counts: defaultdict[int, dict[str, int]] = defaultdict(dict)
    query = select(
        col(RejectionCount.run_id), col(RejectionCount.reason), col(RejectionCount.rows)
    ).where(col(RejectionCount.run_id).in_(tuple(run_ids)))
    for run_id, reason, rows in connection.execute(query):
        counts[run_id][reason] = rows
    return counts
