"""From the values of the schedule to rows of the database, and back."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from sqlalchemy import Row

from broker.domain.plan import SolveSettings
from broker.domain.quantities import MICRO_USD
from broker.scheduler.records import Ended, Job, JobKind, JobRun, RunState, Scheduled
from broker.scheduler.rules import Every, LocalTime, Rule, local_time_of, zone_of

_SEED = 0
"""Of every nightly plan: one night differs from the next by its prices and its demand alone."""

Cell = str | int | float | bool | datetime | None


def job_values(job: Job, now: datetime) -> Mapping[str, Cell]:
    """Write a job as the values of its row."""
    rule = job.rule
    when: Mapping[str, Cell]
    if isinstance(rule, Every):
        when = {"every_s": round(rule.interval.total_seconds()), "created_at": rule.anchor}
    else:
        when = {
            "local_time": f"{rule.at:%H:%M}",
            "weekday": rule.weekday,
            "time_zone": rule.zone.key,
            "created_at": now,
        }
    return {
        "name": job.name,
        "kind": job.kind,
        "subject": job.subject,
        "recorded": job.recorded,
        "time_limit_s": job.solve.time_limit_s if job.solve else None,
        "gap_fraction": job.solve.gap_fraction if job.solve else None,
        **when,
    }


def scheduled(row: Row[tuple[Cell, ...]]) -> Scheduled:
    """Read a row of the schedule."""
    solve = None
    if row.gap_fraction is not None and row.time_limit_s is not None:
        limit_s = row.time_limit_s
        solve = SolveSettings(gap_fraction=row.gap_fraction, time_limit_s=limit_s, seed=_SEED)
    job = Job(row.name, JobKind(row.kind), row.subject, _rule(row), row.recorded, solve)
    return Scheduled(row.id, job, row.due_at, row.done, row.failed, row.interrupted)


def ended_values(ended: Ended) -> Mapping[str, Cell]:
    """Write the end of a run as values of its row."""
    return {
        "state": ended.state,
        "detail": ended.detail,
        "error": ended.error,
        "hint": ended.hint,
        "micro_usd": None if ended.usd is None else int(ended.usd / MICRO_USD),
        "gap_fraction": ended.gap_fraction,
    }


def job_run(row: Row[tuple[Cell, ...]]) -> JobRun:
    """Read a run."""
    usd = None if row.micro_usd is None else Decimal(row.micro_usd) * MICRO_USD
    ended = Ended(RunState(row.state), row.detail, row.error, row.hint, usd, row.gap_fraction)
    return JobRun(row.schedule_id, row.due_at, row.attempt, row.started_at, row.finished_at, ended)


def _rule(row: Row[tuple[Cell, ...]]) -> Rule:
    if row.every_s is not None:
        return Every(timedelta(seconds=row.every_s), row.created_at.astimezone(UTC))
    return LocalTime(local_time_of(row.local_time), zone_of(row.time_zone), row.weekday)
