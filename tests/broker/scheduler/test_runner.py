"""The runner in this process, its jobs in processes of their own."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread

import pytest
from schedule_jobs import die, no_logs, note
from schedules import Watch, hourly, settings_over

from broker.clock import system_clock
from broker.scheduler.book import Book
from broker.scheduler.lease import Held, Lease, Leases
from broker.scheduler.records import Ended, RunState, Scheduled
from broker.scheduler.runner import Bounds, Crew, Runner
from broker.scheduler.work import Perform
from broker.settings import Settings
from broker.store.database import open_store
from broker.store.place import Place

SHORT = Bounds(lease=timedelta(seconds=4), grace=timedelta(seconds=20))


@dataclass
class World:
    """A schedule by the clock of this machine, and what was heard of its runs."""

    settings: Settings
    book: Book
    leases: Leases
    heard: list[tuple[str, RunState]] = field(default_factory=list)
    waited_for: list[str] = field(default_factory=list)

    def runner(self, perform: Perform = note, name: str = "me") -> Runner:
        def hear(one: Scheduled, ended: Ended) -> None:
            self.heard.append((one.job.name, ended.state))

        crew = Crew(
            self.settings,
            system_clock,
            perform,
            no_logs,
            told=hear,
            waits=lambda held: self.waited_for.append(held.holder),
        )
        return Runner(self.book, self.leases, crew, bounds=SHORT, name=name)

    def add(self, name: str, *, ago_h: float) -> Scheduled:
        due_at = system_clock() - timedelta(hours=ago_h)
        return self.book.add(hourly(name, anchor=due_at), due_at=due_at, now=due_at)

    def notes(self) -> list[list[str]]:
        path = self.settings.data_dir / "notes.txt"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def world(new_place: Callable[[], Place], tmp_path: Path) -> World:
    settings = settings_over(new_place(), tmp_path)
    engine = open_store(settings)
    return World(settings, Book(engine), Leases(engine, system_clock))


def test_what_is_due_is_run_once_and_the_lease_is_given_back(world: World) -> None:
    missed = world.add("missed", ago_h=30.5)
    world.add("later", ago_h=-1)
    assert world.runner().run_due() is None
    assert world.heard == [("missed", RunState.DONE)]
    ((name, due_at, token, _),) = world.notes()
    assert (name, datetime.fromisoformat(due_at), token) == ("missed", missed.due_at, "1")
    lease = world.leases.state()
    assert lease is not None
    assert lease.holder == ""
    assert world.runner().run_due() is None
    assert len(world.notes()) == 1


@pytest.mark.long
def test_a_job_whose_process_dies_is_tried_three_times_and_has_failed(world: World) -> None:
    world.add("mortal", ago_h=0.1)
    world.runner(die).run_due()
    assert len(world.notes()) == 3
    states = [state.value for _, state in world.heard]
    assert states == ["interrupted", "interrupted", "failed"]
    (run,) = world.book.last_runs()
    assert run.ended.error == "the job's process ended without an answer, exit code 7, 3 times"


def test_a_runner_that_is_to_run_once_leaves_it_to_the_one_that_holds_the_lease(
    world: World,
) -> None:
    world.add("due", ago_h=0.1)
    assert isinstance(world.leases.take("other", timedelta(minutes=1)), Lease)
    held = world.runner().run_due()
    assert isinstance(held, Held)
    assert held.holder == "other"
    assert world.notes() == []


def test_where_the_clock_was_set_back_a_runner_finds_out_whether_the_holder_lives(
    world: World,
) -> None:
    world.add("due", ago_h=0.1)
    ahead = Leases(open_store(world.settings), Watch(datetime(2040, 1, 1, tzinfo=UTC)))
    assert isinstance(ahead.take("dead", timedelta(seconds=0.5)), Lease)
    assert world.runner().run_due() is None
    assert world.waited_for == ["dead"]
    assert world.heard == [("due", RunState.DONE)]


def test_a_runner_that_is_told_to_end_while_it_waits_ends(world: World) -> None:
    assert isinstance(world.leases.take("other", timedelta(minutes=1)), Lease)
    runner = world.runner()
    thread = Thread(target=runner.serve)
    thread.start()
    while not world.waited_for:
        thread.join(0.01)
    assert runner.pulse.health.role == "waiting"
    runner.stop()
    thread.join(10)
    assert not thread.is_alive()
    assert world.waited_for == ["other"]
