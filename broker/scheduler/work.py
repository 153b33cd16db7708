"""What a job's process is handed, and what it hands back."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from broker.scheduler.records import Ended, Job
from broker.settings import Settings


@dataclass(frozen=True, slots=True)
class Work:
    """One run of a job: under which settings, and for which instant it was due.

    `done_at` is the last instant for which it was done, None before the first; that run began
    at `began_at`. Nothing is written for it but under `token`, the one of the lease.
    """

    settings: Settings
    job: Job
    due_at: datetime
    done_at: datetime | None
    token: int
    began_at: datetime | None = None


Perform = Callable[[Work], Ended]
"""Does the work of a job; a function of a module, as it runs in a process of its own."""

Prepare = Callable[[], None]
"""Is called in a job's process before anything else, to set up its logs; can be pickled."""
