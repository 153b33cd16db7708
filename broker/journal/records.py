"""The values of the journal: a night, its steps, and what was found where one was to begin."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from broker.journal.claim import Claim


class Step(StrEnum):
    """The steps of a night, in their order."""

    PRICE = "price"
    PLAN = "plan"
    VERIFY = "verify"
    DIFF = "diff"
    DECIDE = "decide"
    TELL = "tell"


class State(StrEnum):
    """How a night or a step stands; what was interrupted is made again."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class NightAsked:
    """What a night is of: a workloads file on a date, and what else decides its outcome.

    `workloads` is the file's name; `catalog` says where prices come from, `settings` is JSON.
    """

    workloads: str
    path: str
    on_date: date
    workloads_sha256: str
    catalog: str
    settings: str


@dataclass(frozen=True, slots=True)
class NightStep:
    """One attempt at a step; inputs and outcome are JSON."""

    step: Step
    attempt: int
    state: State
    started_at: datetime
    finished_at: datetime | None
    inputs: str
    outcome: str
    error: str

    @property
    def elapsed(self) -> timedelta | None:
        """Measure it, None while it is not done; never below zero, whatever the clock did."""
        if self.finished_at is None:
            return None
        return max(timedelta(0), self.finished_at - self.started_at)


@dataclass(frozen=True, slots=True)
class NightRun:
    """A night as the journal has it, with every attempt at its steps in the order of time."""

    id: int
    asked: NightAsked
    number: int
    state: State
    started_at: datetime
    finished_at: datetime | None
    outcome: str
    error: str
    hint: str
    claim: Claim
    steps: tuple[NightStep, ...] = ()

    def done(self, step: Step) -> NightStep | None:
        """Give the attempt at a step that succeeded, None where none did."""
        of = (one for one in self.steps if one.step is step and one.state is State.DONE)
        return next(of, None)


class Opening(StrEnum):
    """What was found where a night was to begin."""

    BEGUN = "begun"
    RESUMED = "resumed"
    DONE = "done"
    HELD = "held"


@dataclass(frozen=True, slots=True)
class Opened:
    """The night, and whether it is ours to work on (begun, resumed) or not (done, held)."""

    opening: Opening
    run: NightRun

    @property
    def is_ours(self) -> bool:
        """Tell whether there is something to do."""
        return self.opening in {Opening.BEGUN, Opening.RESUMED}
