"""The door to the nightly job: a workloads file in, what came of its night out.

Each step is written into the journal before and after it is done. A night that died is gone on
with at the first step that is not done; one that is done is left alone.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from pathlib import Path

from sqlalchemy import Engine

from broker.alerts.announcer import Delivery, Outcome
from broker.alerts.finding import alerts_of
from broker.alerts.night import Night
from broker.clock import Clock, system_clock
from broker.domain.errors import BrokerError, ConfigurationError
from broker.domain.workload import Workloads
from broker.journal.journal import Journal, NightTakenError
from broker.journal.records import NightAsked, NightRun, NightStep, Opened, Opening, Step
from broker.planning.alerting import AlertService
from broker.planning.nightly.asked import NightWish, Progress
from broker.planning.nightly.keeping import Keeping
from broker.planning.nightly.outcomes import (
    DecideOutcome,
    Demand,
    DiffOutcome,
    NightOutcome,
    Nothing,
    PlanOutcome,
    Plans,
    PriceOutcome,
    TellOutcome,
    VerifyOutcome,
)
from broker.planning.nightly.steps import Journaled, Rehearsal, Steps
from broker.planning.nightly.work import NightWork
from broker.planning.service import PlanningService, open_service
from broker.planning.workloads_file import read_workloads, starts_today, workloads_sha256
from broker.settings import Settings
from broker.store.database import open_store

_SPARE = timedelta(minutes=30)
"""A night of another machine may be silent so long beyond the limits of its steps."""


@dataclass(frozen=True, slots=True)
class NightReport:
    """What came of a night, or what was found instead of one to run.

    `opening` and `run` are None for a dry run, which the journal does not know; `outcome` is None
    while a night is not done.
    """

    name: str
    opening: Opening | None
    run: NightRun | None
    outcome: NightOutcome | None
    steps: tuple[NightStep, ...]
    deliveries: tuple[Delivery, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Tonight:
    """A workloads file as it was read, what is to be done with it, and the instant of that.

    `later` is the date of a later night that is done; one that is made up before it tells nobody.
    """

    path: Path
    demand: Workloads
    wish: NightWish
    at: datetime
    progress: Progress
    rolls: bool
    later: date | None


class NightlyService:
    """Runs nights; nothing is opened before a method needs it."""

    def __init__(self, planning: PlanningService) -> None:
        self._planning = planning

    @cached_property
    def engine(self) -> Engine:
        """Open the database, once.

        Raises:
            ConfigurationError: it cannot be used.
        """
        return open_store(self._planning.settings)

    @cached_property
    def alerts(self) -> AlertService:
        """Open what tells people."""
        return AlertService(self._planning.settings, self._planning.clock)

    @cached_property
    def journal(self) -> Journal:
        """Open the journal; raises as `engine` does."""
        return Journal(self.engine, self._planning.clock)

    def night(
        self, workloads: Path, wish: NightWish, progress: Progress = lambda _: None
    ) -> NightReport:
        """Run the night of a workloads file, or go on with it; one that is done is left alone.

        Raises:
            BrokerError: it cannot be run; people were told, and the journal has why.
        """
        path = Path(os.path.realpath(workloads))  # a link to itself is told where it is read
        at = wish.instant(self._planning.clock())
        _ = self.alerts.sinks  # a night that could tell nobody is not begun
        later = self._later(path.stem, wish)
        try:
            demand = read_workloads(path, at.date())
            rolls = starts_today(path)
        except BrokerError as error:
            if later is None:
                self._tell_failure(path, wish, at, error)
            raise
        tonight = _Tonight(path, demand, wish, at, progress, rolls=rolls, later=later)
        if wish.dry_run:
            steps = Rehearsal(self._planning.clock)
            outcome, deliveries = self._worked(tonight, self._work(tonight), steps)
            return NightReport(path.stem, None, None, outcome, tuple(steps.done), deliveries)
        opened, remarks = self._open(tonight)
        run = opened.run
        if not opened.is_ours:
            return NightReport(path.stem, opened.opening, run, _outcome(run), run.steps)
        run, outcome, deliveries = self._run(tonight, run)
        return NightReport(path.stem, opened.opening, run, outcome, run.steps, deliveries, remarks)

    def _later(self, name: str, wish: NightWish) -> date | None:
        """Give the date of the latest night that is done, where a date before it is asked for.

        Today's night is never one that is made up, whatever dates were tried out before.
        """
        if wish.on is None or wish.on == self._planning.clock().date():
            return None
        latest = self.journal.latest_done(name)
        return latest if latest is not None and latest > wish.on else None

    def _open(self, tonight: _Tonight) -> tuple[Opened, tuple[str, ...]]:
        path, wish, at = tonight.path, tonight.wish, tonight.at
        last = self.journal.last(path.stem)
        if last is not None:
            _check_path(path, Path(last.asked.path))
        asked = NightAsked(
            workloads=path.stem,
            path=str(path),
            on_date=at.date(),
            workloads_sha256=workloads_sha256(tonight.demand),
            catalog=wish.catalog,
            settings=wish.solve.model_dump_json(),
        )
        seconds = self._planning.settings.provider_timeout_s + wish.solve.time_limit_s
        lasts = 2 * timedelta(seconds=seconds) + _SPARE
        opened = self.journal.open(asked, lasts=lasts, again=wish.again)
        if opened.opening is Opening.RESUMED and not self._can_go_on(tonight, opened.run):
            opened = self.journal.open(asked, lasts=lasts, again=True)
        if last is None or wish.on is not None or last.asked.on_date <= at.date():
            return opened, ()
        remark = (
            f"the journal has the night of {last.asked.on_date} already, and the clock says "
            f"{at.date()}: it is wrong now, or was then"
        )
        return opened, (remark,)

    def _can_go_on(self, tonight: _Tonight, run: NightRun) -> bool:
        """Tell whether the prices of a night that was broken off are those that it began with."""
        step = run.done(Step.PRICE)
        if step is None:
            return True
        return self._work(tonight).is_as_priced(PriceOutcome.model_validate_json(step.outcome))

    def _run(
        self, tonight: _Tonight, run: NightRun
    ) -> tuple[NightRun, NightOutcome, tuple[Delivery, ...]]:
        steps = Journaled(self.journal, run)
        try:
            outcome, deliveries = self._worked(tonight, self._work(tonight), steps)
            return steps.finished(outcome), outcome, deliveries
        except NightTakenError:  # it is another process's to tell
            raise
        except BrokerError as error:
            steps.failed(error)
            if tonight.later is None:
                self._tell_failure(tonight.path, tonight.wish, tonight.at, error)
            raise

    def _worked(
        self, tonight: _Tonight, work: NightWork, steps: Steps
    ) -> tuple[NightOutcome, tuple[Delivery, ...]]:
        """Do the six steps, or read what they came to."""
        wish, progress = tonight.wish, tonight.progress
        asked = Demand(workloads_sha256=work.sha256, catalog=wish.catalog)
        priced = steps.step(Step.PRICE, asked, PriceOutcome, lambda: work.price(progress))
        inputs = work.plan_inputs(priced)
        planned = steps.step(Step.PLAN, inputs, PlanOutcome, lambda: work.plan(priced, progress))
        both = Plans(plan=planned.plan, in_force=planned.in_force)
        progress("checking, comparing and deciding")
        steps.step(Step.VERIFY, both, VerifyOutcome, lambda: work.verify(priced, planned))
        steps.step(Step.DIFF, both, DiffOutcome, lambda: work.diff(priced, planned))
        decided = steps.step(Step.DECIDE, both, DecideOutcome, lambda: work.decide(priced, planned))
        progress("telling")
        deliveries: list[Delivery] = []

        def tell() -> TellOutcome:
            night = work.night(priced, planned, decided, str(tonight.path))
            if tonight.later is None:
                deliveries.extend(self.alerts.tell(night, dry_run=wish.dry_run))
            work.adopt(priced, planned, decided)
            return _told(night, deliveries)

        steps.step(Step.TELL, Nothing(), TellOutcome, tell)
        return NightOutcome(planned=planned, decided=decided), tuple(deliveries)

    def _work(self, tonight: _Tonight) -> NightWork:
        wish = tonight.wish
        keeping = Keeping(self.engine, tonight.path.stem, dry_run=wish.dry_run)
        at, rolls, later = tonight.at, tonight.rolls, tonight.later
        return NightWork(
            self._planning, tonight.demand, wish, keeping, at=at, rolls=rolls, later=later
        )

    def _tell_failure(self, path: Path, wish: NightWish, at: datetime, error: BrokerError) -> None:
        """Tell that there is no plan of tonight; if that fails, too, the error is told alone."""
        if wish.dry_run:
            return
        with suppress(BrokerError):
            night = Night(
                now=at,
                workloads=str(path),
                in_force=Keeping(self.engine, path.stem).in_force(),
                made=None,
                adopted=False,
                failure=f"{error}; {error.hint}",
            )
            self.alerts.tell(night)


def open_nightly(settings: Settings, clock: Clock = system_clock) -> NightlyService:
    """Make the service; it opens what it needs when it needs it."""
    return NightlyService(open_service(settings, clock))


def _check_path(path: Path, last: Path) -> None:
    """Refuse a second file of one name: they would share their plans and their nights.

    Raises:
        ConfigurationError: there are two.
    """
    if last != path and last.exists():
        raise ConfigurationError(
            f"two workloads files are called {path.stem!r}: {str(last)!r} and {str(path)!r}",
            hint="rename one: plans and nights are kept by the name of the file",
        )


def _outcome(run: NightRun) -> NightOutcome | None:
    return NightOutcome.model_validate_json(run.outcome) if run.outcome else None


def _told(night: Night, deliveries: list[Delivery]) -> TellOutcome:
    failed = {one.sink for one in deliveries if one.outcome is Outcome.FAILED}
    return TellOutcome(
        alerts=len(alerts_of(night)),
        messages=len(deliveries),
        undelivered=tuple(sorted(failed)),
    )
