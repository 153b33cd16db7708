"""The journal: which nights were run, how far each came, and who works on one.

Each change is one transaction; whoever writes a step holds the claim on its night, so a process
that was thought dead and is not cannot write into what another one has taken over.
"""

from dataclasses import dataclass
from datetime import date, timedelta

from sqlalchemy import Connection, Engine, Row, func, insert, select, update

from broker.clock import Clock
from broker.domain.errors import ConfigurationError
from broker.journal.claim import Claim, own_claim
from broker.journal.records import (
    NightAsked,
    NightRun,
    NightStep,
    Opened,
    Opening,
    State,
    Step,
)
from broker.journal.tables import NightlyRunRow, NightlyStepRow
from broker.store.database import reading, writing

_RUN = NightlyRunRow.metadata.tables["nightly_run"]
_STEP = NightlyStepRow.metadata.tables["nightly_step"]


class NightTakenError(ConfigurationError):
    """Another process works on this night now, so what was about to be written is refused."""

    def __init__(self, by: str) -> None:
        super().__init__(
            f"another process has taken this night over: {by or 'nobody holds it'}",
            hint="let that one end; run it again to see what came of it",
        )


@dataclass(frozen=True, slots=True)
class Attempt:
    """A step that has begun and is to be ended."""

    run_id: int
    step: Step
    number: int


class Journal:
    """The journal of one database, as one process writes it.

    Every method raises ConfigurationError where the database cannot be used.
    """

    def __init__(self, engine: Engine, clock: Clock, *, by: str | None = None) -> None:
        self._engine = engine
        self._clock = clock
        self._by = by or own_claim()

    def open(self, asked: NightAsked, *, lasts: timedelta, again: bool = False) -> Opened:
        """Begin a night, or go on with it where it was broken off.

        One that is done stays so, unless it is to be run `again`; one that somebody works on is
        theirs. What was broken off begins anew where other things are asked of it now.
        """
        with writing(self._engine) as connection:
            last = _last(connection, asked.workloads, asked.on_date)
            if last is not None and self._is_anothers(last.claim):
                return Opened(Opening.HELD, last)
            if last is not None and last.state is State.DONE and not again:
                return Opened(Opening.DONE, last)
            if last is not None and _goes_on(last, asked, again=again):
                self._take(connection, last.id, lasts)
                return Opened(Opening.RESUMED, _run(connection, last.id))
            if last is not None and last.state is State.RUNNING:
                _break_off(connection, last.id, State.INTERRUPTED)
            number = last.number + 1 if last else 1
            return Opened(Opening.BEGUN, self._begin(connection, asked, number, lasts))

    def begin(self, run: NightRun, step: Step, inputs: str) -> Attempt:
        """Write that a step starts.

        Raises:
            NightTakenError: another process has taken the night over.
        """
        with writing(self._engine) as connection:
            self._check(connection, run.id)
            query = select(_STEP.c.attempt).where(_STEP.c.run_id == run.id, _STEP.c.step == step)
            number = max(connection.execute(query).scalars(), default=0) + 1
            values = {"run_id": run.id, "step": step, "attempt": number, "inputs": inputs}
            blank = {"state": State.RUNNING, "outcome": "", "error": ""}
            connection.execute(insert(_STEP).values(**values, **blank, started_at=self._clock()))
            query_run = update(_RUN).where(_RUN.c.id == run.id)
            connection.execute(query_run.values(claimed_at=self._clock()))
        return Attempt(run.id, step, number)

    def end(self, attempt: Attempt, *, outcome: str = "", error: str = "") -> None:
        """Write what came of a step; it failed where there is an error.

        Raises:
            NightTakenError: another process has taken the night over.
        """
        state = State.FAILED if error else State.DONE
        with writing(self._engine) as connection:
            self._check(connection, attempt.run_id)
            query = update(_STEP).where(
                _STEP.c.run_id == attempt.run_id,
                _STEP.c.step == attempt.step,
                _STEP.c.attempt == attempt.number,
            )
            values = {"state": state, "outcome": outcome, "error": error}
            connection.execute(query.values(**values, finished_at=self._clock()))

    def finish(
        self, run: NightRun, *, outcome: str = "", error: str = "", hint: str = ""
    ) -> NightRun:
        """Write what came of a night; it failed where there is an error.

        Raises:
            NightTakenError: another process has taken the night over.
        """
        state = State.FAILED if error else State.DONE
        values = {"state": state, "outcome": outcome, "error": error, "hint": hint}
        with writing(self._engine) as connection:
            self._check(connection, run.id)
            query = update(_RUN).where(_RUN.c.id == run.id)
            query = query.values(**values, claimed_by="", finished_at=self._clock())
            connection.execute(query)
            return _run(connection, run.id)

    def last(self, workloads: str) -> NightRun | None:
        """Give the run of a workloads file that was begun last, None before the first."""
        with reading(self._engine) as connection:
            query = select(_RUN.c.id).where(_RUN.c.workloads == workloads)
            found = connection.execute(query.order_by(_RUN.c.id.desc()).limit(1)).scalar()
            return None if found is None else _run(connection, found)

    def latest_done(self, workloads: str) -> date | None:
        """Give the latest date of which a night of a workloads file is done, None before that."""
        query = select(func.max(_RUN.c.on_date)).where(
            _RUN.c.workloads == workloads, _RUN.c.state == State.DONE
        )
        with reading(self._engine) as connection:
            return connection.execute(query).scalar()

    def runs(self, workloads: str) -> tuple[NightRun, ...]:
        """List every run of a workloads file, in the order in which they were begun."""
        with reading(self._engine) as connection:
            query = select(_RUN.c.id).where(_RUN.c.workloads == workloads).order_by(_RUN.c.id)
            ids = tuple(connection.execute(query).scalars())
            return tuple(_run(connection, one) for one in ids)

    def _begin(
        self, connection: Connection, asked: NightAsked, number: int, lasts: timedelta
    ) -> NightRun:
        now = self._clock()
        query = insert(_RUN).values(
            workloads=asked.workloads,
            path=asked.path,
            on_date=asked.on_date,
            number=number,
            workloads_sha256=asked.workloads_sha256,
            catalog=asked.catalog,
            settings=asked.settings,
            state=State.RUNNING,
            started_at=now,
            outcome="",
            error="",
            hint="",
            claimed_by=self._by,
            claimed_at=now,
            claim_lasts_s=lasts.total_seconds(),
        )
        return _run(connection, connection.execute(query.returning(_RUN.c.id)).scalar_one())

    def _take(self, connection: Connection, run_id: int, lasts: timedelta) -> None:
        _break_off(connection, run_id, State.RUNNING)
        query = update(_RUN).where(_RUN.c.id == run_id)
        values = {"error": "", "hint": "", "finished_at": None, "claimed_by": self._by}
        lasts_s = lasts.total_seconds()
        connection.execute(query.values(**values, claimed_at=self._clock(), claim_lasts_s=lasts_s))

    def _is_anothers(self, claim: Claim) -> bool:
        """Tell whether another process is at work; what we ourselves left open is broken off."""
        return claim.by != self._by and claim.is_held(self._clock())

    def _check(self, connection: Connection, run_id: int) -> None:
        by = connection.execute(select(_RUN.c.claimed_by).where(_RUN.c.id == run_id)).scalar()
        if by != self._by:
            raise NightTakenError(by or "")


def _goes_on(last: NightRun, asked: NightAsked, *, again: bool) -> bool:
    """Tell whether a run is to be resumed: it was broken off, and the same is asked of it."""
    is_open = last.state in {State.RUNNING, State.FAILED} and last.done(Step.TELL) is None
    return is_open and not again and last.asked == asked


def _break_off(connection: Connection, run_id: int, state: State) -> None:
    """Write that nobody works on a run's open steps any more; the run is in `state` then."""
    is_open = (_STEP.c.run_id == run_id, _STEP.c.state == State.RUNNING)
    connection.execute(update(_STEP).where(*is_open).values(state=State.INTERRUPTED))
    query = update(_RUN).where(_RUN.c.id == run_id)
    connection.execute(query.values(state=state, claimed_by=""))


def _last(connection: Connection, workloads: str, on_date: date) -> NightRun | None:
    query = (
        select(_RUN.c.id)
        .where(_RUN.c.workloads == workloads, _RUN.c.on_date == on_date)
        .order_by(_RUN.c.number.desc())
        .limit(1)
    )
    found = connection.execute(query).scalar()
    return None if found is None else _run(connection, found)


def _run(connection: Connection, run_id: int) -> NightRun:
    row = connection.execute(select(_RUN).where(_RUN.c.id == run_id)).one()
    steps = select(_STEP).where(_STEP.c.run_id == run_id).order_by(_STEP.c.id)
    asked = NightAsked(
        row.workloads, row.path, row.on_date, row.workloads_sha256, row.catalog, row.settings
    )
    return NightRun(
        id=row.id,
        asked=asked,
        number=row.number,
        state=State(row.state),
        started_at=row.started_at,
        finished_at=row.finished_at,
        outcome=row.outcome,
        error=row.error,
        hint=row.hint,
        claim=Claim(row.claimed_by, row.claimed_at, timedelta(seconds=row.claim_lasts_s)),
        steps=tuple(_step(one) for one in connection.execute(steps)),
    )


def _step(row: Row[tuple[object, ...]]) -> NightStep:
    return NightStep(
        step=Step(row.step),
        attempt=row.attempt,
        state=State(row.state),
        started_at=row.started_at,
        finished_at=row.finished_at,
        inputs=row.inputs,
        outcome=row.outcome,
        error=row.error,
    )
