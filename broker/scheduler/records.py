"""The values of the schedule: its jobs, their runs, and what came of them."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from broker.domain.plan import SolveSettings
from broker.scheduler.rules import Rule


class JobKind(StrEnum):
    """What a job does."""

    REPRICE = "reprice"
    NIGHTLY = "nightly"
    DIGEST = "digest"


class RunState(StrEnum):
    """How a run of a job stands; one that was interrupted is made again."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Job:
    """One line of the schedule as it is asked for.

    `subject` is the provider that a re-pricing asks (all, where it is empty), the workloads file of
    a nightly plan. `recorded` jobs read the recorded replies of providers. `solve` is what a plan
    is solved with, None for other jobs.
    """

    name: str
    kind: JobKind
    subject: str
    rule: Rule
    recorded: bool = False
    solve: SolveSettings | None = None


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A job in the schedule, when it runs next, and how often it did which."""

    id: int
    job: Job
    due_at: datetime
    done: int = 0
    failed: int = 0
    interrupted: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that has begun: of which job, for which instant, under which token of the lease.

    `done_at` is the last instant for which the job was done, None before the first; that run began
    at `began_at`, later where it was made up for.
    """

    run_id: int
    scheduled: Scheduled
    due_at: datetime
    done_at: datetime | None
    attempt: int
    token: int
    began_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a run.

    `usd` and `gap_fraction` are those of the plan that it made, None where it made none. `is_told`
    where the job itself has told people of its failure.
    """

    state: RunState
    detail: str = ""
    error: str = ""
    hint: str = ""
    usd: Decimal | None = None
    gap_fraction: float | None = None
    is_told: bool = False


@dataclass(frozen=True, slots=True)
class JobRun:
    """A run in the schedule's book; `finished_at` is None while it runs."""

    schedule_id: int
    due_at: datetime
    attempt: int
    started_at: datetime
    finished_at: datetime | None
    ended: Ended

    @property
    def elapsed_s(self) -> float | None:
        """Tell how long it took, None while it runs."""
        if self.finished_at is None:
            return None
        return max(0.0, (self.finished_at - self.started_at).total_seconds())
