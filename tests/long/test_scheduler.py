"""Runners as processes of their own: killed, stopped, told to end, and two at once."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from schedules import hourly, settings_over
from store_places import environment_of

from broker.clock import system_clock
from broker.scheduler.book import Book
from broker.scheduler.lease import Held, Leases
from broker.scheduler.records import JobRun, RunState, Scheduled
from broker.settings import Settings
from broker.store.database import open_store
from broker.store.place import Place

pytestmark = pytest.mark.long

LEASE_S = 3.0
RUN = """
import signal, sys
from datetime import timedelta
from pathlib import Path
import schedule_jobs
from schedules import settings_over
from store_places import told_place
from broker.scheduler.runner import Bounds
from broker.scheduler.service import open_schedule

def main():
    does, grace_s = getattr(schedule_jobs, sys.argv[2]), float(sys.argv[3])
    service = open_schedule(settings_over(told_place(), Path(sys.argv[1])))
    runner = service.runner(
        Bounds(timedelta(seconds=3), timedelta(seconds=grace_s)),
        prepare=schedule_jobs.no_logs,
        told=lambda job, ended: print("ended", job.job.name, ended.state, flush=True),
        waits=lambda held: print("waits", held.holder, flush=True),
        does=does,
    )
    signal.signal(signal.SIGTERM, lambda *_: runner.stop())
    print("ready", flush=True)
    runner.serve()

if __name__ == "__main__":
    main()
"""


@dataclass
class World:
    """A store with a schedule, and the runners that were started over it."""

    settings: Settings
    place: Place
    script: Path
    book: Book
    leases: Leases
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, does: str = "note", *, grace_s: float = 30) -> subprocess.Popen[str]:
        folder = str(self.settings.data_dir)
        process = subprocess.Popen(  # noqa: S603 - the code is that of this file
            [sys.executable, str(self.script), folder, does, str(grace_s)],
            env=environment_of(self.place) | {"PATH": os.defpath},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def add(self, name: str = "job", *, ago: timedelta = timedelta(minutes=5)) -> Scheduled:
        due_at = system_clock() - ago
        return self.book.add(hourly(name, anchor=due_at), due_at=due_at, now=due_at)

    def notes(self) -> list[str]:
        path = self.settings.data_dir / "notes.txt"
        return path.read_text().splitlines() if path.exists() else []

    def go(self) -> None:
        (self.settings.data_dir / "go").touch()

    def holder(self) -> Held | None:
        return self.leases.state()

    def states(self, one: Scheduled) -> list[RunState]:
        return [run.ended.state for run in self.runs(one)]

    def runs(self, one: Scheduled) -> tuple[JobRun, ...]:
        return self.book.runs_of(one.id)


@pytest.fixture
def world(new_place: Callable[[], Place], tmp_path: Path) -> Iterator[World]:
    place = new_place()
    settings = settings_over(place, tmp_path)
    engine = open_store(settings)
    script = tmp_path / "run_schedule.py"
    script.write_text(RUN)
    made = World(settings, place, script, Book(engine), Leases(engine, system_clock))
    yield made
    for process in made.started:
        process.kill()
        process.communicate()


def wait_for(what: Callable[[], object], *, seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "it did not come to that"
        time.sleep(0.05)


def heard(runner: subprocess.Popen[str], word: str) -> str:
    """Read what a runner prints up to a line that begins with a word; give that line."""
    assert runner.stdout is not None
    return next(line for line in runner.stdout if line.startswith(word)).strip()


def lives(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_second_runner_waits_and_takes_over_when_the_first_is_killed_in_a_job(
    world: World,
) -> None:
    one = world.add()
    first = world.start("note_and_wait")
    wait_for(world.notes)
    second = world.start("note")
    assert heard(second, "waits").endswith(f":{first.pid}")
    time.sleep(LEASE_S)
    assert len(world.notes()) == 1, "the first one lives, so the second one runs nothing"
    job_process = int(world.notes()[0].split()[3])

    first.kill()
    first.wait()
    killed_s = time.monotonic()
    wait_for(lambda: RunState.DONE in world.states(one))
    assert time.monotonic() - killed_s > LEASE_S / 3
    wait_for(lambda: not lives(job_process), seconds=5)
    assert world.states(one) == [RunState.INTERRUPTED, RunState.DONE]
    assert len({run.due_at for run in world.runs(one)}) == 1
    assert [line.split()[2] for line in world.notes()] == ["1", "2"]
    held = world.holder()
    assert held is not None
    assert held.holder.endswith(f":{second.pid}")


def test_sigterm_lets_the_job_end_and_gives_the_lease_back(world: World) -> None:
    one = world.add()
    runner = world.start("note_and_wait")
    wait_for(world.notes)
    world.add("later", ago=timedelta(minutes=1))
    runner.send_signal(signal.SIGTERM)
    time.sleep(LEASE_S * 1.5)
    assert runner.poll() is None
    held = world.holder()
    assert held is not None
    assert not held.is_free(system_clock()), "it sends heartbeats as long as the job runs"
    world.go()
    assert runner.wait(10) == 0
    assert world.states(one) == [RunState.DONE]
    held = world.holder()
    assert held is not None
    assert held.holder == ""
    assert all("later" not in line for line in world.notes())


def test_sigterm_breaks_off_a_job_that_takes_too_long_and_the_next_runner_makes_it_again(
    world: World,
) -> None:
    one = world.add()
    runner = world.start("note_and_wait", grace_s=1)
    wait_for(world.notes)
    job_process = int(world.notes()[0].split()[3])
    runner.send_signal(signal.SIGTERM)
    assert runner.wait(10) == 0
    assert not lives(job_process)
    (run,) = world.runs(one)
    assert (run.ended.state, run.ended.error) == ("interrupted", "the runner was told to end")
    world.go()
    world.start("note_and_wait")
    wait_for(lambda: world.states(one) == [RunState.INTERRUPTED, RunState.DONE])


def test_a_runner_that_froze_is_shut_out_and_waits_when_it_wakes(world: World) -> None:
    one = world.add()
    first = world.start("note_and_wait")
    wait_for(world.notes)
    job_process = int(world.notes()[0].split()[3])
    first.send_signal(signal.SIGSTOP)
    second = world.start("note")
    wait_for(lambda: RunState.DONE in world.states(one))
    first.send_signal(signal.SIGCONT)
    wait_for(lambda: not lives(job_process))
    assert heard(first, "waits").endswith(f":{second.pid}")
    assert world.states(one) == [RunState.INTERRUPTED, RunState.DONE]
    world.go()
    assert not [line for line in world.notes() if line.endswith("ended")]


@pytest.mark.parametrize(
    ("gone_s", "states"),
    [
        (LEASE_S / 2, [RunState.DONE]),
        (LEASE_S * 2, [RunState.INTERRUPTED, RunState.DONE]),
    ],
)
def test_a_database_that_is_gone_and_comes_back_loses_no_run(
    world: World, gone_s: float, states: list[RunState]
) -> None:
    """A lease outlives a short absence; after a long one the job is broken off and made again."""
    if world.settings.database is not None:
        pytest.skip("takes a folder away")
    one = world.add()
    runner = world.start("note_and_wait")
    wait_for(world.notes)
    folder = world.settings.data_dir
    away = folder.rename(folder.with_name("away"))
    time.sleep(gone_s)
    assert runner.poll() is None
    away.rename(folder)
    world.go()
    wait_for(lambda: world.states(one) == states)
    runner.send_signal(signal.SIGTERM)
    assert runner.wait(10) == 0


def test_two_runners_at_once_run_each_instant_of_each_job_once(world: World) -> None:
    jobs = [world.add(f"job-{number}", ago=timedelta(hours=number)) for number in range(1, 5)]
    runners = [world.start("note") for _ in range(3)]
    wait_for(lambda: all(world.states(one) for one in jobs))
    wait_for(lambda: len(world.notes()) >= len(jobs))
    time.sleep(LEASE_S)
    assert sorted(line.split()[0] for line in world.notes()) == [one.job.name for one in jobs]
    assert {line.split()[2] for line in world.notes()} == {"1"}
    for runner in runners:
        runner.send_signal(signal.SIGTERM)
    assert [runner.wait(10) for runner in runners] == [0, 0, 0]


def test_what_was_missed_while_nobody_ran_is_made_up_for_once_and_then_kept_in_time(
    world: World,
) -> None:
    one = world.add("missed", ago=timedelta(days=3) - timedelta(seconds=12))
    world.start("note")
    wait_for(lambda: world.states(one) == [RunState.DONE])
    assert world.runs(one)[0].due_at == one.due_at
    wait_for(lambda: len(world.runs(one)) == 2, seconds=20)
    second = world.runs(one)[1]
    assert second.due_at == one.due_at + timedelta(days=3)
    assert timedelta(0) <= second.started_at - second.due_at < timedelta(seconds=1)


def test_a_job_that_is_added_or_removed_is_noticed_by_the_runner(world: World) -> None:
    world.start("note")
    wait_for(lambda: world.holder() is not None)
    soon = world.add("soon", ago=timedelta(seconds=-2))
    never = world.add("never", ago=timedelta(seconds=-4))
    world.book.remove("never")
    wait_for(lambda: world.states(soon) == [RunState.DONE])
    time.sleep(4)
    assert world.runs(never) == ()
