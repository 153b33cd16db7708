"""The schedule in the database: jobs, when each is due, and the run of each instant.

Whoever runs jobs bears the token of the lease, and every step of a run is refused to an older one.
A run begins in the same transaction that moves its job to the next instant, and one instant of a
job is finished once: a clock that is set back finds its instants run already.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, Engine, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql import ColumnElement

from broker.domain.errors import ConfigurationError
from broker.planning.nearest import unknown
from broker.scheduler.lease import guard
from broker.scheduler.records import Claim, Ended, Job, JobRun, RunState, Scheduled
from broker.scheduler.rows import ended_values, job_run, job_values, scheduled
from broker.scheduler.tables import JobRunRow, ScheduleRow
from broker.store.database import reading, writing
from broker.store.ordering import code_points

ATTEMPTS = 3
"""So often a run that is broken off is begun again; then it has failed."""

KEPT_RUNS = 1000
"""Runs that are kept of each job; older ones are only counted."""

_SCHEDULE = ScheduleRow.metadata.tables["schedule"]
_RUN = JobRunRow.metadata.tables["job_run"]
_BROKEN_OFF = "the runner ended before the job did"


class Book:
    """The schedule in one database.

    Every method raises ConfigurationError where the database cannot be used.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, job: Job, *, due_at: datetime, now: datetime) -> Scheduled:
        """Put a job into the schedule.

        Raises:
            ConfigurationError: its name is taken.
        """
        values = job_values(job, now)
        query = insert(_SCHEDULE).values(due_at=due_at, done=0, failed=0, interrupted=0, **values)
        try:
            with writing(self._engine) as connection:
                number = connection.execute(query.returning(_SCHEDULE.c.id)).scalar_one()
        except IntegrityError as cause:
            raise ConfigurationError(
                f"the schedule has a job called {job.name!r} already",
                hint="give another --name, or remove that one: "
                f"gpubroker schedule remove {job.name}",
            ) from cause
        return Scheduled(number, job, due_at)

    def remove(self, name: str) -> Scheduled:
        """Take a job out of the schedule; its runs stay in the book.

        Raises:
            ConfigurationError: there is none of that name.
        """
        with writing(self._engine) as connection:
            jobs = {one.job.name: one for one in _jobs(connection)}
            if name not in jobs:
                raise unknown("job", name, jobs) if jobs else _nothing_scheduled()
            connection.execute(delete(_SCHEDULE).where(_SCHEDULE.c.id == jobs[name].id))
        return jobs[name]

    def jobs(self) -> tuple[Scheduled, ...]:
        """List what is scheduled, in the order of names."""
        with reading(self._engine) as connection:
            return _jobs(connection)

    def last_runs(self, state: RunState | None = None) -> tuple[JobRun, ...]:
        """Read the last run of each job, of those that stand so where a state is given."""
        newest = select(func.max(_RUN.c.id)).group_by(_RUN.c.schedule_id)
        if state is not None:
            newest = newest.where(_RUN.c.state == state)
        return self._runs(_RUN.c.id.in_(newest))

    def runs_of(self, schedule_id: int) -> tuple[JobRun, ...]:
        """Read the runs of a job that are kept, in their order."""
        return self._runs(_RUN.c.schedule_id == schedule_id)

    def claim(self, token: int, schedule_id: int, now: datetime) -> Claim | None:
        """Begin the run of a job that is due; None where it is not, or was run for that instant.

        The job moves on to its first instant after `now`: what was missed is made up for once.

        Raises:
            LeaseLostError: the token is not that of the lease.
        """
        with writing(self._engine) as connection:
            guard(connection, token)
            found = _job(connection, schedule_id)
            if found is None or found.due_at > now:
                return None
            states = _states(connection, schedule_id, found.due_at)
            _move(connection, found, _following(connection, found, now))
            if RunState.DONE in states or RunState.FAILED in states:
                return None
            attempt = len(states) + 1
            query = insert(_RUN).values(
                schedule_id=schedule_id,
                due_at=found.due_at,
                attempt=attempt,
                token=token,
                state=RunState.RUNNING,
                started_at=now,
                detail="",
                error="",
                hint="",
            )
            run_id = connection.execute(query.returning(_RUN.c.id)).scalar_one()
            done_at, began_at = _last_done(connection, schedule_id)
        return Claim(run_id, found, found.due_at, done_at, attempt, token, began_at=began_at)

    def finish(self, claim: Claim, ended: Ended, now: datetime) -> Ended:
        """Write what came of a run; one that was interrupted becomes due again, a few times.

        Raises:
            LeaseLostError: the token is not that of the lease.
        """
        with writing(self._engine) as connection:
            guard(connection, claim.token)
            said = _end(connection, claim.run_id, ended, now)
            _forget_old_runs(connection, claim.scheduled.id)
        return said

    def recover(self, token: int, now: datetime) -> tuple[JobRun, ...]:
        """End the runs that earlier holders left behind, and make their jobs due again.

        Raises:
            LeaseLostError: the token is not that of the lease.
        """
        left = (_RUN.c.state == RunState.RUNNING, _RUN.c.token < token)
        with writing(self._engine) as connection:
            guard(connection, token)
            runs = connection.execute(select(_RUN.c.id).where(*left).order_by(_RUN.c.id)).scalars()
            ids = tuple(runs)
            for run_id in ids:
                _end(connection, run_id, Ended(RunState.INTERRUPTED, error=_BROKEN_OFF), now)
        return self._runs(_RUN.c.id.in_(ids))

    def mend(self, token: int, now: datetime) -> tuple[Scheduled, ...]:
        """Bring jobs back whose next instant is far ahead, as the clock was when it was set.

        Raises:
            LeaseLostError: the token is not that of the lease.
        """
        ahead = [one for one in self.jobs() if _is_too_far(one, now)]
        if not ahead:
            return ()
        with writing(self._engine) as connection:
            guard(connection, token)
            for one in ahead:
                _move(connection, one, _following(connection, one, now))
        return tuple(ahead)

    def _runs(self, which: ColumnElement[bool]) -> tuple[JobRun, ...]:
        with reading(self._engine) as connection:
            rows = connection.execute(select(_RUN).where(which).order_by(_RUN.c.id))
            return tuple(job_run(row) for row in rows)


def _jobs(connection: Connection) -> tuple[Scheduled, ...]:
    rows = connection.execute(select(_SCHEDULE).order_by(code_points(_SCHEDULE.c.name)))
    return tuple(scheduled(row) for row in rows)


def _job(connection: Connection, schedule_id: int) -> Scheduled | None:
    query = select(_SCHEDULE).where(_SCHEDULE.c.id == schedule_id)
    row = connection.execute(query).one_or_none()
    return None if row is None else scheduled(row)


def _states(connection: Connection, schedule_id: int, due_at: datetime) -> Sequence[str]:
    """List how the runs of one instant of a job stand."""
    of = (_RUN.c.schedule_id == schedule_id, _RUN.c.due_at == due_at)
    return connection.execute(select(_RUN.c.state).where(*of)).scalars().all()


def _last_done(
    connection: Connection, schedule_id: int
) -> tuple[datetime, datetime] | tuple[None, None]:
    """Give the last instant for which the job was done, and when that run began."""
    of = (_RUN.c.schedule_id == schedule_id, _RUN.c.state == RunState.DONE)
    both = select(_RUN.c.due_at, _RUN.c.started_at)
    newest = both.where(*of).order_by(_RUN.c.due_at.desc()).limit(1)
    found = connection.execute(newest).one_or_none()
    return (None, None) if found is None else (found.due_at, found.started_at)


def _following(connection: Connection, one: Scheduled, now: datetime) -> datetime:
    """Find the first instant after `now` that the job was not run for yet."""
    due_at = one.job.rule.after(now)
    while _states(connection, one.id, due_at):
        due_at = one.job.rule.after(due_at)
    return due_at


def _is_too_far(one: Scheduled, now: datetime) -> bool:
    return one.due_at > one.job.rule.after(one.job.rule.after(now))


def _move(connection: Connection, one: Scheduled, due_at: datetime) -> None:
    query = update(_SCHEDULE).where(_SCHEDULE.c.id == one.id).values(due_at=due_at)
    connection.execute(query)


def _end(connection: Connection, run_id: int, ended: Ended, now: datetime) -> Ended:
    """Write the end of a run once; give what was written of it."""
    running = (_RUN.c.id == run_id, _RUN.c.state == RunState.RUNNING)
    row = connection.execute(select(_RUN).where(*running)).one_or_none()
    if row is None:
        return ended
    if ended.state is RunState.INTERRUPTED and row.attempt >= ATTEMPTS:
        ended = Ended(
            RunState.FAILED,
            error=f"{ended.error}, {row.attempt} times",
            hint="run it by hand to see what ends it",
        )
    connection.execute(update(_RUN).where(*running).values(finished_at=now, **ended_values(ended)))
    counter = _SCHEDULE.c[ended.state.value]
    values = {counter.name: counter + 1}
    if ended.state is RunState.INTERRUPTED:
        values["due_at"] = row.due_at
    connection.execute(update(_SCHEDULE).where(_SCHEDULE.c.id == row.schedule_id).values(values))
    return ended


def _forget_old_runs(connection: Connection, schedule_id: int) -> None:
    of = _RUN.c.schedule_id == schedule_id
    kept = select(_RUN.c.id).where(of).order_by(_RUN.c.id.desc()).offset(KEPT_RUNS).limit(1)
    newest = connection.execute(kept).scalar()
    if newest is not None:
        connection.execute(delete(_RUN).where(of, _RUN.c.id <= newest))


def _nothing_scheduled() -> ConfigurationError:
    return ConfigurationError(
        "nothing is scheduled", hint="see what can be: gpubroker schedule add --help"
    )
