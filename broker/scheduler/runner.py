"""The runner: waits for the lease, then runs what is due until it is told to end.

The main thread sends the heartbeats. When it is told to end, it lets the jobs that run end within a
bound, breaks the others off, and gives the lease back. When it loses the lease, it breaks its jobs
off at once and waits for the lease again.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from threading import Event

import structlog

from broker.clock import Clock
from broker.domain.errors import ConfigurationError
from broker.scheduler.alarm import Alarm
from broker.scheduler.bell import Bell
from broker.scheduler.book import Book
from broker.scheduler.lease import Held, Lease, LeaseLostError, Leases
from broker.scheduler.process import broken, run_apart
from broker.scheduler.pulse import Pulse
from broker.scheduler.records import Claim, Ended, RunState, Scheduled
from broker.scheduler.work import Perform, Prepare, Work
from broker.settings import Settings

BEATS_PER_LEASE = 4
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long things may take.

    A runner that was silent for `lease` counts as dead; `grace` is what jobs have to end in when
    the runner is told to; `job` is the longest that any job may take.
    """

    lease: timedelta = timedelta(seconds=60)
    grace: timedelta = timedelta(seconds=60)
    job: timedelta = timedelta(hours=6)

    @property
    def beat_s(self) -> float:
        """Give the time between two heartbeats, in seconds."""
        return self.lease.total_seconds() / BEATS_PER_LEASE


@dataclass(frozen=True, slots=True)
class Crew:
    """What a runner needs of others.

    `perform` and `prepare` are called in the process of each job. `told` hears of each run that
    ended, `waits` of whom the runner waits for.
    """

    settings: Settings
    clock: Clock
    perform: Perform
    prepare: Prepare
    told: Callable[[Scheduled, Ended], None] = lambda _job, _ended: None
    waits: Callable[[Held], None] = lambda _held: None


class Runner:
    """Runs the jobs of one schedule, while it holds the lease."""

    def __init__(
        self, book: Book, leases: Leases, crew: Crew, *, bounds: Bounds, name: str
    ) -> None:
        self._book = book
        self._leases = leases
        self._crew = crew
        self._bounds = bounds
        self._name = name
        self._bell = Bell()
        self._stopping = False
        self._stop_by_s = float("inf")
        self._lost = Event()
        self.pulse = Pulse(name, bounds.lease.total_seconds())

    def stop(self) -> None:
        """Tell the runner to end; may be called from a signal handler.

        Told a second time, it does not wait for the jobs that run.
        """
        grace_s = 0.0 if self._stopping else self._bounds.grace.total_seconds()
        self._stop_by_s = time.monotonic() + grace_s
        self._stopping = True
        self._bell.ring()

    def serve(self) -> None:
        """Run what is due until told to end; wait as long as another runner holds the lease."""
        while not self._stopping:
            lease = self._wait_for_lease()
            if lease is not None:
                self._hold(lease, until_idle=False)

    def run_due(self) -> Held | None:
        """Run what is due and end; give the runner that holds the lease, if there is one.

        Raises:
            LeaseLostError: another runner took the lease over meanwhile.
            ConfigurationError: the database cannot be used.
        """
        taken = self._take_or_watch()
        if isinstance(taken, Held):
            return taken
        self._hold(taken, until_idle=True)
        if self._lost.is_set():
            raise LeaseLostError
        return None

    def _take_or_watch(self) -> Lease | Held:
        """Take the lease; where the clock was set back, find out whether its holder lives."""
        lasts = self._bounds.lease
        held = self._leases.take(self._name, lasts)
        if isinstance(held, Lease) or held.renewed_at <= self._crew.clock():
            return held
        self._crew.waits(held)
        self._bell.wait((held.expires_at - held.renewed_at).total_seconds())
        return self._leases.take(self._name, lasts, silent=held.beat)

    def _wait_for_lease(self) -> Lease | None:
        """Wait for the lease; None when told to end before."""
        watched: Held | None = None
        since_s = time.monotonic()
        while not self._stopping:
            silent = None
            if watched and time.monotonic() - since_s > _length_s(watched):
                silent = watched.beat
            taken = self._try_to_take(silent)
            if isinstance(taken, Lease):
                return taken
            if taken and (watched is None or watched.beat != taken.beat):
                if watched is None or watched.token != taken.token:
                    self._crew.waits(taken)
                watched, since_s = taken, time.monotonic()
            self._bell.wait(self._bounds.beat_s)
        return None

    def _try_to_take(self, silent: tuple[int, int] | None) -> Lease | Held | None:
        try:
            taken = self._leases.take(self._name, self._bounds.lease, silent=silent)
        except ConfigurationError as error:
            _log.warning("lease_not_read", error=str(error))
            return None
        self.pulse.beat("waiting")
        return taken

    def _hold(self, lease: Lease, *, until_idle: bool) -> None:
        """Run jobs until told to end, the lease is lost, or nothing is due, if `until_idle`."""
        _log.info("lease_taken", holder=lease.holder, token=lease.token)
        self._lost.clear()
        self.pulse.beat("running")
        alarm = Alarm(lambda number: self._run(lease, number), self._bell.ring)
        alarm.start()
        try:
            self._beat_on(lease, alarm, until_idle=until_idle)
        finally:
            self._wind_down(lease, alarm)
        _log.info("lease_left", holder=lease.holder, token=lease.token, lost=self._lost.is_set())

    def _beat_on(self, lease: Lease, alarm: Alarm, *, until_idle: bool) -> None:
        recovered = False
        while not (self._stopping or self._lost.is_set()):
            if self._beat(lease):
                try:
                    recovered = recovered or self._recover(lease)
                    schedule = self._in_step(lease, alarm)
                except ConfigurationError as error:
                    self._note_trouble(error)
                else:
                    if until_idle and not alarm.busy and not self._any_due(schedule):
                        return
            self._bell.wait(self._bounds.beat_s)

    def _wind_down(self, lease: Lease, alarm: Alarm) -> None:
        """Let what runs end, with heartbeats meanwhile, and give the lease back."""
        alarm.rest()
        if not self._lost.is_set() and not self._stopping:
            self._stop_by_s = time.monotonic()  # an error ends us: nothing is due any more
        while alarm.busy and not self._lost.is_set():
            self._beat(lease)
            self._bell.wait(min(self._bounds.beat_s, 1.0))
        alarm.stop()
        if not self._lost.is_set():
            try:
                self._leases.release(lease)
            except ConfigurationError as error:
                _log.warning("lease_not_released", error=str(error))  # it runs out by itself

    def _beat(self, lease: Lease) -> bool:
        """Send a heartbeat; a lease that could not be renewed for its whole length is lost."""
        try:
            self._leases.renew(lease)
        except ConfigurationError as error:
            self._note_trouble(error)
            return False
        self.pulse.beat("running")
        return True

    def _note_trouble(self, error: ConfigurationError) -> None:
        if isinstance(error, LeaseLostError) or not self.pulse.health.is_well:
            _log.warning("lease_lost", error=str(error))
            self._lost.set()
        else:
            _log.warning("database_not_reached", error=str(error))

    def _recover(self, lease: Lease) -> bool:
        for run in self._book.recover(lease.token, self._crew.clock()):
            _log.warning("run_left_behind", schedule_id=run.schedule_id, attempt=run.attempt)
        return True

    def _in_step(self, lease: Lease, alarm: Alarm) -> tuple[Scheduled, ...]:
        for one in self._book.mend(lease.token, self._crew.clock()):
            _log.warning("clock_was_set_back", job=one.job.name, was_due_at=one.due_at.isoformat())
        schedule = self._book.jobs()
        alarm.keep_step(schedule)
        return schedule

    def _any_due(self, schedule: tuple[Scheduled, ...]) -> bool:
        now = self._crew.clock()
        return any(one.due_at <= now for one in schedule)

    def _run(self, lease: Lease, schedule_id: int) -> None:
        """Run a job that rang, if it is still due, and write down what came of it."""
        try:
            if self._stopping or self._lost.is_set():
                return
            claim = self._book.claim(lease.token, schedule_id, self._crew.clock())
            if claim is not None:
                ended = self._perform(claim)
                self._record(claim, ended)
        except ConfigurationError as error:
            self._note_trouble(error)

    def _perform(self, claim: Claim) -> Ended:
        job = claim.scheduled.job
        _log.info("job_started", job=job.name, due_at=claim.due_at.isoformat())
        work = Work(
            self._crew.settings,
            job,
            claim.due_at,
            claim.done_at,
            claim.token,
            began_at=claim.began_at,
        )
        must_end_s = time.monotonic() + self._bounds.job.total_seconds()
        crew = self._crew
        try:
            return run_apart(work, crew.perform, crew.prepare, lambda: self._halted(must_end_s))
        except Exception as error:  # noqa: BLE001 - the job loop goes on, whatever a job does
            return broken(work, error)

    def _halted(self, must_end_s: float) -> Ended | None:
        now_s = time.monotonic()
        if self._lost.is_set():
            return Ended(RunState.INTERRUPTED, error="the lease was lost")
        if now_s > self._stop_by_s:
            return Ended(RunState.INTERRUPTED, error="the runner was told to end")
        if now_s > must_end_s:
            return Ended(
                RunState.FAILED,
                error=f"it was not done within {self._bounds.job}",
                hint="give jobs more time: gpubroker schedule run --job-limit",
            )
        return None

    def _record(self, claim: Claim, ended: Ended) -> None:
        """Write the end of a run, as soon as the database can be reached."""
        while not self._lost.is_set():
            try:
                written = self._book.finish(claim, ended, self._crew.clock())
            except LeaseLostError as error:
                self._note_trouble(error)
            except ConfigurationError as error:
                _log.warning("run_not_recorded", job=claim.scheduled.job.name, error=str(error))
                time.sleep(self._bounds.beat_s / BEATS_PER_LEASE)
            else:
                self._crew.told(claim.scheduled, written)
                return


def _length_s(held: Held) -> float:
    return (held.expires_at - held.renewed_at).total_seconds()
