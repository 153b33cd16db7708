"""The door to the schedule: what is in it, how its jobs went, and the runner."""

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

from sqlalchemy import Engine

from broker.clock import Clock, system_clock
from broker.domain.errors import ConfigurationError
from broker.domain.plan import SolveSettings
from broker.planning.alerting import open_alerts
from broker.planning.nearest import unknown
from broker.planning.service import PlanningService, open_service
from broker.planning.workloads_file import read_workloads
from broker.scheduler.book import Book
from broker.scheduler.endpoint import LOOPBACK, serve_metrics
from broker.scheduler.jobs import perform
from broker.scheduler.lease import Held, Leases
from broker.scheduler.metrics import StoreCollector
from broker.scheduler.records import Ended, Job, JobKind, JobRun, Scheduled
from broker.scheduler.rules import Every, Rule
from broker.scheduler.runner import Bounds, Crew, Runner
from broker.scheduler.telling import teller
from broker.scheduler.work import Perform, Prepare
from broker.settings import Settings
from broker.store.database import open_store


@dataclass(frozen=True, slots=True)
class ScheduleStatus:
    """What is scheduled, how the last run of each job went, and who runs them.

    `runner` is the holder of the lease, None where there was none yet; it may have run out.
    """

    now: datetime
    jobs: tuple[Scheduled, ...]
    last_runs: tuple[JobRun, ...]
    runner: Held | None

    @property
    def holder(self) -> str:
        """Name the runner that holds the lease now; empty where none does."""
        if self.runner is None or self.runner.is_free(self.now):
            return ""
        return self.runner.holder


@dataclass(frozen=True, slots=True)
class MetricsAt:
    """Where metrics are served; port 0 takes any that is free."""

    port: int
    host: str = LOOPBACK


class ScheduleService:
    """Looks after the schedule; nothing is opened before a method needs it."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.settings = settings
        self.clock = clock

    @cached_property
    def _engine(self) -> Engine:
        return open_store(self.settings)

    @cached_property
    def book(self) -> Book:
        """Open the schedule's tables, once.

        Raises:
            ConfigurationError: the database cannot be used.
        """
        return Book(self._engine)

    @cached_property
    def leases(self) -> Leases:
        """Open the lease, once; raises as `book` does."""
        return Leases(self._engine, self.clock)

    @cached_property
    def planning(self) -> PlanningService:
        """Open what jobs and metrics read the catalog with."""
        return open_service(self.settings, self.clock)

    def add_reprice(
        self, provider: str, rule: Rule, *, name: str = "", recorded: bool = False
    ) -> Scheduled:
        """Let a provider's prices be read again and again; those of all, where none is named.

        Raises:
            ConfigurationError: the provider is not known, or the name is taken.
        """
        of = self.planning.specs.providers.of(provider) if provider else ""
        if of and of not in self.planning.providers:
            raise unknown("provider", provider, self.planning.providers)
        called = name or (f"reprice-{of}" if of else "reprice")
        return self._add(Job(called, JobKind.REPRICE, of, rule, recorded))

    def add_nightly(
        self,
        workloads: Path,
        rule: Rule,
        solve: SolveSettings,
        *,
        name: str = "",
        recorded: bool = False,
    ) -> Scheduled:
        """Let a plan of a workloads file be made each night.

        Raises:
            ConfigurationError: the file cannot be read, or the name is taken.
        """
        read_workloads(workloads, self.planning.clock().date())
        called, path = name or f"nightly-{workloads.stem}", str(workloads.resolve())
        return self._add(Job(called, JobKind.NIGHTLY, path, rule, recorded, solve))

    def add_digest(self, rule: Rule, *, name: str = "") -> Scheduled:
        """Let a summary of what happened be sent.

        Raises:
            ConfigurationError: the name is taken.
        """
        return self._add(Job(name or "digest", JobKind.DIGEST, "", rule))

    def remove(self, name: str) -> Scheduled:
        """Take a job out of the schedule.

        Raises:
            ConfigurationError: there is none of that name.
        """
        return self.book.remove(name)

    def status(self) -> ScheduleStatus:
        """Tell what is scheduled and how it went."""
        return ScheduleStatus(
            self.clock(), self.book.jobs(), self.book.last_runs(), self.leases.state()
        )

    def runner(
        self,
        bounds: Bounds,
        *,
        prepare: Prepare,
        told: Callable[[Scheduled, Ended], None],
        waits: Callable[[Held], None],
        does: Perform = perform,
    ) -> Runner:
        """Make a runner; it takes the lease when it is started."""
        tell = teller(open_alerts(self.settings, self.clock))

        def heard(scheduled: Scheduled, ended: Ended) -> None:
            told(scheduled, ended)
            tell(scheduled, ended)

        crew = Crew(self.settings, self.clock, does, prepare, told=heard, waits=waits)
        name = f"{platform.node() or 'this machine'}:{os.getpid()}"
        return Runner(self.book, self.leases, crew, bounds=bounds, name=name)

    @contextmanager
    def metrics(self, runner: Runner, at: MetricsAt) -> Iterator[int]:
        """Serve metrics of the store and the health of a runner; yield the port.

        Raises:
            ConfigurationError: the address cannot be listened at.
        """
        collector = StoreCollector(self.planning, self.book, runner.pulse, self.clock)
        with serve_metrics(at.port, collector, lambda: runner.pulse.health, host=at.host) as port:
            yield port

    def _add(self, job: Job) -> Scheduled:
        _check_name(job.name)
        now = self.clock().replace(microsecond=0)
        is_interval = isinstance(job.rule, Every)
        return self.book.add(job, due_at=now if is_interval else job.rule.after(now), now=now)


def open_schedule(settings: Settings, clock: Clock = system_clock) -> ScheduleService:
    """Make the service; it opens what it needs when it needs it."""
    return ScheduleService(settings, clock)


def _check_name(name: str) -> None:
    if not name.isprintable() or not name.strip() or name != name.strip():
        raise ConfigurationError(
            f"{name!r} is no name for a job", hint="give one of letters, digits and dashes: --name"
        )
