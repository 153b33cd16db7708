"""Does the steps of a night that are not done: with the journal, or without it for a rehearsal."""

from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, TypeVar

import structlog

from broker.clock import Clock
from broker.domain.errors import BrokerError
from broker.domain.quantities import Frozen
from broker.journal.journal import Journal
from broker.journal.records import NightRun, NightStep, State, Step
from broker.planning.nightly.outcomes import NightOutcome

_log = structlog.get_logger(__name__)
OutcomeT = TypeVar("OutcomeT", bound=Frozen)


class Steps(Protocol):
    """Gives what a step came to: by doing it, or as it was when it was done."""

    def step(
        self, step: Step, inputs: Frozen, kind: type[OutcomeT], do: Callable[[], OutcomeT]
    ) -> OutcomeT:
        """Give the outcome of a step; `do` makes it of what `inputs` names."""


class Rehearsal:
    """Does each step and writes nothing; `done` has what they came to."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.done: list[NightStep] = []

    def step(
        self, step: Step, inputs: Frozen, kind: type[OutcomeT], do: Callable[[], OutcomeT]
    ) -> OutcomeT:
        """Do it."""
        del kind
        started_at = self._clock()
        outcome = do()
        texts = (inputs.model_dump_json(), outcome.model_dump_json(), "")
        self.done.append(NightStep(step, 1, State.DONE, started_at, self._clock(), *texts))
        return outcome


class Journaled:
    """Does each step that the journal does not have as done, and writes it there."""

    def __init__(self, journal: Journal, run: NightRun) -> None:
        self._journal = journal
        self._run = run

    def step(
        self, step: Step, inputs: Frozen, kind: type[OutcomeT], do: Callable[[], OutcomeT]
    ) -> OutcomeT:
        """Do it between two entries of the journal, unless it is done.

        Raises:
            BrokerError: it cannot be done; the journal has why.
        """
        done = self._run.done(step)
        if done is not None:
            return kind.model_validate_json(done.outcome)
        attempt = self._journal.begin(self._run, step, inputs.model_dump_json())
        try:
            outcome = do()
        except BrokerError as error:
            with suppress(BrokerError):  # the database may be what is wrong
                self._journal.end(attempt, error=str(error))
            raise
        self._journal.end(attempt, outcome=outcome.model_dump_json())
        _log.info("night_step_done", workloads=self._run.asked.workloads, step=str(step))
        return outcome

    def failed(self, error: BrokerError) -> None:
        """Write that the night failed, if it can be written."""
        with suppress(BrokerError):  # the first error is the one to tell
            self._journal.finish(self._run, error=str(error), hint=error.hint)

    def finished(self, outcome: NightOutcome) -> NightRun:
        """Write what the night came to; without a plan it failed, and may be run again."""
        why = "" if outcome.planned.is_plan else "; ".join(outcome.decided.why)
        return self._journal.finish(self._run, outcome=outcome.model_dump_json(), error=why)
