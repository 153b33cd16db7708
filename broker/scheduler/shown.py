"""What is told of the schedule, as flat rows."""

from collections.abc import Mapping

from broker.reports.formats import Plain, plain
from broker.reports.jobs_view import JobRow
from broker.scheduler.records import JobRun, Scheduled
from broker.scheduler.service import ScheduleStatus

NEVER = "never"
"""The state of a job that did not run yet."""


def job_rows(status: ScheduleStatus) -> tuple[JobRow, ...]:
    """Tell of each job when it runs and how its last run went."""
    last = {run.schedule_id: run for run in status.last_runs}
    return tuple(_row(one, last.get(one.id), status) for one in status.jobs)


def job_facts(status: ScheduleStatus) -> Mapping[str, Plain]:
    """Say who runs the jobs; the names of a runner that is gone are empty."""
    lease = status.runner if status.holder else None
    return {
        "runner": lease.holder if lease else None,
        "runner_since": plain(lease.taken_at) if lease else None,
        "heartbeat_at": plain(lease.renewed_at) if lease else None,
    }


def _row(one: Scheduled, run: JobRun | None, status: ScheduleStatus) -> JobRow:
    job = one.job
    return JobRow(
        job=job.name,
        kind=job.kind,
        subject=job.subject,
        recorded=job.recorded,
        rule=job.rule.told,
        next_at=one.due_at,
        overdue=one.due_at <= status.now,
        last_state=run.ended.state if run else NEVER,
        last_due_at=run.due_at if run else None,
        last_started_at=run.started_at if run else None,
        last_finished_at=run.finished_at if run else None,
        last_attempt=run.attempt if run else 0,
        last_elapsed_s=None if run is None or run.elapsed_s is None else round(run.elapsed_s, 1),
        last_detail=run.ended.detail if run else "",
        last_error=run.ended.error if run else "",
        last_hint=run.ended.hint if run else "",
        done=one.done,
        failed=one.failed,
        interrupted=one.interrupted,
    )
