from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from schedules import START, Watch, at_night, hourly

from broker.domain.errors import ConfigurationError
from broker.scheduler import book as book_module
from broker.scheduler.book import ATTEMPTS, Book
from broker.scheduler.lease import Lease, LeaseLostError, Leases
from broker.scheduler.records import Claim, Ended, Job, JobRun, RunState, Scheduled
from broker.store.database import open_database
from broker.store.place import Place

MINUTE = timedelta(minutes=1)
DONE = Ended(RunState.DONE, detail="done")


@dataclass
class World:
    """A schedule, the lease on it, and the clock."""

    book: Book
    leases: Leases
    watch: Watch
    token: int

    def take(self, by: str) -> int:
        lease = self.leases.take(by, MINUTE)
        assert isinstance(lease, Lease), lease
        self.token = lease.token
        return lease.token

    def add(self, job: Job, due_at: datetime | None = None) -> Scheduled:
        due = due_at or job.rule.after(self.watch())
        return self.book.add(job, due_at=due, now=self.watch())

    def claim(self, one: Scheduled) -> Claim | None:
        return self.book.claim(self.token, one.id, self.watch())

    def run(self, one: Scheduled, ended: Ended = DONE) -> datetime:
        claim = self.claim(one)
        assert claim is not None
        self.book.finish(claim, ended, self.watch())
        return claim.due_at

    def due_at(self) -> datetime:
        (job,) = self.book.jobs()
        return job.due_at


@pytest.fixture
def world(new_place: Callable[[], Place]) -> World:
    engine, watch = open_database(new_place()), Watch()
    made = World(Book(engine), Leases(engine, watch), watch, 0)
    made.take("a")
    return made


def only(runs: tuple[JobRun, ...]) -> JobRun:
    (run,) = runs
    return run


def test_what_is_put_in_is_read_back_to_the_last_field(world: World) -> None:
    added = [world.add(hourly()), world.add(at_night(zone="America/New_York"))]
    assert list(world.book.jobs()) == added
    assert [one.job.rule.told for one in added] == ["every 1 h", "daily 02:30 America/New_York"]


def test_a_name_is_given_once_and_a_removed_one_again_without_its_past(world: World) -> None:
    first = world.add(hourly(), START)
    world.run(first)
    with pytest.raises(ConfigurationError, match="called 'hourly' already"):
        world.add(hourly())
    assert world.book.remove("hourly").job == first.job
    with pytest.raises(ConfigurationError, match="nothing is scheduled"):
        world.book.remove("hourly")
    second = world.add(hourly(), START)
    assert second.id > first.id
    assert world.book.runs_of(second.id) == ()
    assert len(world.book.runs_of(first.id)) == 1
    assert world.run(second) == START


def test_a_job_runs_when_it_is_due_and_moves_on(world: World) -> None:
    one = world.add(hourly())
    assert one.due_at == START + timedelta(hours=1)
    assert world.claim(one) is None
    world.watch.forward(hours=1)
    claim = world.claim(one)
    assert claim is not None
    assert world.due_at() == START + timedelta(hours=2)
    assert world.claim(one) is None
    world.watch.forward(seconds=90)
    ended = Ended(RunState.DONE, "well", usd=Decimal("1234.567891"), gap_fraction=0.05)
    world.book.finish(claim, ended, world.watch())
    run = only(world.book.last_runs())
    assert (run.due_at, run.elapsed_s, run.ended) == (one.due_at, 90.0, ended)
    assert [job.done for job in world.book.jobs()] == [1]


def test_what_was_missed_is_made_up_for_once(world: World) -> None:
    one = world.add(hourly())
    world.watch.forward(hours=7, minutes=10)
    assert world.run(one) == START + timedelta(hours=1)
    assert world.due_at() == START + timedelta(hours=8)
    assert world.claim(one) is None
    world.watch.forward(hours=1)
    claim = world.claim(one)
    assert claim is not None
    late = START + timedelta(hours=7, minutes=10)
    assert (claim.done_at, claim.began_at) == (START + timedelta(hours=1), late)


def test_a_clock_set_back_a_little_runs_nothing_again(world: World) -> None:
    one = world.add(at_night())
    world.watch.now = datetime(2026, 11, 2, 2, 30, tzinfo=UTC)
    world.run(one)
    world.watch.forward(hours=-1)
    world.watch.forward(hours=1, minutes=5)  # it is half past two once more
    assert world.book.mend(world.token, world.watch()) == ()
    assert world.claim(one) is None
    world.watch.forward(days=1)
    assert world.run(one) == datetime(2026, 11, 3, 2, 30, tzinfo=UTC)


def test_a_clock_set_back_by_days_skips_the_nights_that_were_run(world: World) -> None:
    one = world.add(at_night())
    nights = []
    for day in (2, 3, 4):
        world.watch.now = datetime(2026, 11, day, 3, tzinfo=UTC)
        nights.append(world.run(one))
    world.watch.forward(days=-3)
    assert [job.job.name for job in world.book.mend(world.token, world.watch())] == ["night"]
    assert world.due_at() == datetime(2026, 11, 5, 2, 30, tzinfo=UTC)
    assert len(set(nights)) == 3


def test_a_clock_that_was_years_ahead_does_not_keep_a_job_waiting_for_years(world: World) -> None:
    one = world.add(at_night())
    world.watch.now = START.replace(year=2031)
    world.run(one)
    world.watch.now = START + timedelta(days=3)
    world.book.mend(world.token, world.watch())
    assert world.due_at() == datetime(2026, 11, 5, 2, 30, tzinfo=UTC)


def test_a_run_that_was_broken_off_is_made_again_and_fails_in_the_end(world: World) -> None:
    one = world.add(hourly(), START)
    broken = Ended(RunState.INTERRUPTED, error="it was ended")
    dues = [world.run(one, broken) for _ in range(ATTEMPTS)]
    assert dues == [START] * ATTEMPTS
    assert world.due_at() == START + timedelta(hours=1)
    runs = world.book.runs_of(one.id)
    assert [run.ended.state for run in runs] == ["interrupted", "interrupted", "failed"]
    assert [run.attempt for run in runs] == [1, 2, 3]
    assert runs[-1].ended.error == "it was ended, 3 times"
    (job,) = world.book.jobs()
    assert (job.done, job.failed, job.interrupted) == (0, 1, 2)


def test_a_failed_run_is_not_made_again(world: World) -> None:
    one = world.add(hourly(), START)
    world.run(one, Ended(RunState.FAILED, error="no price", hint="ask"))
    assert world.claim(one) is None
    assert only(world.book.last_runs(RunState.FAILED)).ended.hint == "ask"
    assert world.book.last_runs(RunState.DONE) == ()


def test_the_next_holder_ends_what_the_last_one_left_and_runs_it(world: World) -> None:
    one = world.add(hourly(), START)
    left = world.claim(one)
    assert left is not None
    world.watch.forward(minutes=5)
    world.take("b")
    run = only(world.book.recover(world.token, world.watch()))
    assert run.ended.state is RunState.INTERRUPTED
    assert "the runner ended" in run.ended.error
    again = world.claim(one)
    assert again is not None
    assert (again.due_at, again.attempt) == (START, 2)
    assert world.book.recover(world.token, world.watch()) == ()


def test_an_expired_holder_can_neither_begin_nor_end_a_run(world: World) -> None:
    one = world.add(hourly(), START)
    claim = world.claim(one)
    assert claim is not None
    old = world.token
    world.watch.forward(minutes=5)
    world.take("b")
    for refused in (
        lambda: world.book.finish(claim, DONE, world.watch()),
        lambda: world.book.claim(old, one.id, world.watch()),
        lambda: world.book.recover(old, world.watch()),
    ):
        with pytest.raises(LeaseLostError):
            refused()
    assert only(world.book.last_runs()).ended.state is RunState.RUNNING


def test_old_runs_are_forgotten_but_counted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_module, "KEPT_RUNS", 2)
    one = world.add(hourly(), START)
    for _ in range(4):
        world.run(one)
        world.watch.forward(hours=1)
    kept = [run.due_at for run in world.book.runs_of(one.id)]
    assert kept == [START + timedelta(hours=2), START + timedelta(hours=3)]
    assert [job.done for job in world.book.jobs()] == [4]
