"""Jobs of the schedule for tests, which run in processes of their own."""

import os
import time
from dataclasses import replace
from pathlib import Path

from broker.scheduler.book import Book
from broker.scheduler.records import Ended, RunState
from broker.scheduler.work import Work
from broker.store.database import open_store


def no_logs() -> None:
    """Leave the logs of a job's process as they are."""


def note(work: Work) -> Ended:
    """Write down that the job ran, for which instant, under which token, in which process."""
    with _notes(work).open("a") as notes:
        notes.write(f"{work.job.name} {work.due_at.isoformat()} {work.token} {os.getpid()}\n")
    return Ended(RunState.DONE, detail="noted")


def note_and_wait(work: Work) -> Ended:
    """Write down that the job began, and work until a file called `go` is there."""
    note(work)
    while not (_notes(work).parent / "go").exists():
        time.sleep(0.02)
    with _notes(work).open("a") as notes:
        notes.write(f"{work.job.name} ended\n")
    return Ended(RunState.DONE, detail="waited")


def die(work: Work) -> Ended:
    """Write down that the job began, and end without a word."""
    note(work)
    os._exit(7)


def breaks(work: Work) -> Ended:
    """Have a bug."""
    key = work.settings.keys["lambda_api_key"].get_secret_value()
    raise RuntimeError(f"{work.job.name} met what it did not expect: {key}")


def _notes(work: Work) -> Path:
    return work.settings.data_dir / "notes.txt"


def write_late(work: Work) -> Ended:
    """Say that it began, and write into the store once a file called `go` is there."""
    note_and_wait(work)
    job = replace(work.job, name="late")
    Book(open_store(work.settings)).add(job, due_at=work.due_at, now=work.due_at)
    return Ended(RunState.DONE)
