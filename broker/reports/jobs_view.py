"""What is shown of the schedule: its jobs, when each ran and runs next, and what went wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from broker.reports.formats import Column, Plain, Report
from broker.reports.layout import Fit

_MINUTE_S = 60
_HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job of the schedule.

    `last_state` is running, done, failed, interrupted, or never; the other fields of the last run
    are empty where there was none. `done`, `failed` and `interrupted` count all runs.
    """

    job: str
    kind: str
    subject: str
    recorded: bool
    rule: str
    next_at: datetime
    overdue: bool
    last_state: str
    last_due_at: datetime | None
    last_started_at: datetime | None
    last_finished_at: datetime | None
    last_attempt: int
    last_elapsed_s: float | None
    last_detail: str
    last_error: str
    last_hint: str
    done: int
    failed: int
    interrupted: int


def jobs_report(rows: tuple[JobRow, ...], *, facts: Mapping[str, Plain]) -> Report[JobRow]:
    """Show each job: the last run with its duration and outcome, and the next one; times in UTC."""
    return Report(
        schema="gpubroker.jobs/1",
        name="jobs",
        row_type=JobRow,
        rows=rows,
        columns=(
            Column("job", lambda row: row.job, fit=Fit.BREAK),
            Column("last UTC", lambda row: _minute(row.last_started_at)),
            Column("took", lambda row: _took(row.last_elapsed_s), "right"),
            Column("outcome", _outcome, fit=Fit.WRAP),
            Column("next UTC", _next),
        ),
        facts=facts,
    )


def schedule_report(rows: tuple[JobRow, ...]) -> Report[JobRow]:
    """Show what is scheduled: each job, what it is for, and when it runs."""
    return Report(
        schema="gpubroker.jobs/1",
        name="jobs",
        row_type=JobRow,
        rows=rows,
        columns=(
            Column("job", lambda row: row.job, fit=Fit.BREAK),
            Column("does", lambda row: f"{row.kind} (recorded)" if row.recorded else row.kind),
            Column("of", _subject, fit=Fit.WRAP, spare=1),
            Column("when", lambda row: row.rule),
            Column("next UTC", _next),
        ),
        facts={},
    )


def _subject(row: JobRow) -> str:
    if row.kind == "reprice":
        return row.subject or "all providers"
    return row.subject or "–"


def _outcome(row: JobRow) -> str:
    said = row.last_error or row.last_detail
    return f"{row.last_state}: {said}" if said else row.last_state


def _next(row: JobRow) -> str:
    return "due" if row.overdue else _minute(row.next_at)


def _minute(instant: datetime | None) -> str:
    return f"{instant:%m-%d %H:%M}" if instant else "–"


def _took(seconds: float | None) -> str:
    """Show a duration: 0.4s, 12s, 3min, 1.5h."""
    if seconds is None:
        return "–"
    if seconds < 1:
        return f"{seconds:.1f}s"
    if seconds < _MINUTE_S:
        return f"{seconds:.0f}s"
    if seconds < _HOUR_S:
        return f"{seconds / _MINUTE_S:.0f}min"
    return f"{seconds / _HOUR_S:.1f}h"
