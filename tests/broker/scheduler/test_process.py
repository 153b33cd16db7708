"""Jobs in processes of their own; each takes a second to start, so there are few tests."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr
from schedule_jobs import breaks, no_logs, note, note_and_wait, write_late
from schedules import START, hourly, settings_over

from broker.clock import system_clock
from broker.scheduler.book import Book
from broker.scheduler.lease import Lease, Leases
from broker.scheduler.process import run_apart
from broker.scheduler.records import Ended, RunState
from broker.scheduler.work import Perform, Work
from broker.store.database import open_store
from broker.store.place import Place

TOO_LONG = Ended(RunState.FAILED, error="too long")


@pytest.fixture
def work(place: Place, tmp_path: Path) -> Work:
    return Work(settings_over(place, tmp_path), hourly(), START, None, 1)


def run(work: Work, perform: Perform) -> Ended:
    take_lease(work)
    return run_apart(work, perform, no_logs, lambda: None)


def take_lease(work: Work) -> None:
    leases = Leases(open_store(work.settings), system_clock)
    assert isinstance(leases.take("a", timedelta(minutes=1)), Lease)


def notes(work: Work) -> list[str]:
    return (work.settings.data_dir / "notes.txt").read_text().split()


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_job_runs_in_another_process_and_hands_back_what_came_of_it(work: Work) -> None:
    assert run(work, note) == Ended(RunState.DONE, detail="noted")
    assert notes(work)[:3] == ["hourly", START.isoformat(), "1"]
    assert int(notes(work)[3]) != os.getpid()


def test_a_job_with_a_bug_has_failed_and_neither_it_nor_the_log_tells_a_key(
    work: Work, capfd: pytest.CaptureFixture[str]
) -> None:
    keys = {"lambda_api_key": SecretStr("canary-5f3a9d")}
    broken = run(replace(work, settings=work.settings.model_copy(update={"keys": keys})), breaks)
    assert broken.state is RunState.FAILED
    assert broken.error.startswith("gpubroker has a bug: RuntimeError: hourly met what it did not")
    log = capfd.readouterr().out
    assert "schedule_jobs.py" in log, "it has the traceback"
    assert "canary" not in broken.error + log


def test_a_job_that_has_to_end_is_ended_and_its_processes_with_it(work: Work) -> None:
    take_lease(work)
    path = work.settings.data_dir / "notes.txt"
    ended = run_apart(
        work, note_and_wait, no_logs, lambda: TOO_LONG if path.exists() and notes(work) else None
    )
    assert ended == TOO_LONG
    with pytest.raises(ProcessLookupError):
        os.kill(int(notes(work)[3]), 0)


def test_a_job_of_an_expired_holder_writes_nothing(work: Work) -> None:
    """It opens a transaction, then the lease is taken, then it wants to commit."""
    book = Book(open_store(work.settings))
    take_lease(work)
    leases = Leases(open_store(work.settings), lambda: system_clock() + timedelta(hours=1))
    taken: list[object] = []

    def takes_over() -> None:
        if not taken and (work.settings.data_dir / "notes.txt").exists():
            taken.append(leases.take("b", timedelta(minutes=1)))
            (work.settings.data_dir / "go").touch()

    ended = run_apart(work, write_late, no_logs, takes_over)
    assert isinstance(taken[0], Lease)
    assert ended.state is RunState.FAILED
    assert "another runner has taken the lease over" in ended.error
    assert book.jobs() == ()


def test_a_job_of_the_holder_does_write(work: Work) -> None:
    book = Book(open_store(work.settings))
    (work.settings.data_dir / "go").touch()
    assert run(work, write_late).state is RunState.DONE
    assert [job.job.name for job in book.jobs()] == ["late"]
