"""The journal: a night is run once, gone on with where it was, and one process's at a time."""

import socket
import subprocess
import sys
from dataclasses import replace
from datetime import date, timedelta

import pytest
from schedules import START, Watch

from broker.journal.claim import Claim, _started
from broker.journal.journal import Journal, NightTakenError
from broker.journal.records import NightAsked, Opening, State, Step
from broker.store.database import open_database
from broker.store.place import Place

ASKED = NightAsked("team", "/plans/team.yaml", date(2026, 11, 1), "ab12", "store", "{}")
LASTS = timedelta(hours=1)
ELSEWHERE = "another-machine:1:2"


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def journal(place: Place, watch: Watch) -> Journal:
    return Journal(open_database(place), watch)


def other(place: Place, watch: Watch, by: str = ELSEWHERE) -> Journal:
    """Open the journal as another process does."""
    return Journal(open_database(place), watch, by=by)


def test_each_step_is_kept_with_its_times_inputs_and_outcome(
    journal: Journal, watch: Watch
) -> None:
    run = journal.open(ASKED, lasts=LASTS).run
    attempt = journal.begin(run, Step.PRICE, '{"catalog":"store"}')
    watch.forward(seconds=12)
    journal.end(attempt, outcome='{"offers":3}')
    done = journal.finish(run, outcome="{}")
    (step,) = done.steps
    assert (step.step, step.state, step.attempt) == (Step.PRICE, State.DONE, 1)
    assert (step.inputs, step.outcome) == ('{"catalog":"store"}', '{"offers":3}')
    assert step.started_at == START
    assert step.elapsed == timedelta(seconds=12)
    assert (done.state, done.asked, done.finished_at) == (State.DONE, ASKED, watch())
    assert journal.runs("team") == (done,)


def test_a_night_that_is_done_is_left_alone_unless_it_is_asked_for_again(
    journal: Journal,
) -> None:
    journal.finish(journal.open(ASKED, lasts=LASTS).run)
    changed = replace(ASKED, workloads_sha256="cd34")
    found = journal.open(changed, lasts=LASTS)
    assert (found.opening, found.is_ours, found.run.number) == (Opening.DONE, False, 1)
    again = journal.open(changed, lasts=LASTS, again=True)
    assert (again.opening, again.run.number) == (Opening.BEGUN, 2)
    tomorrow = journal.open(replace(ASKED, on_date=date(2026, 11, 2)), lasts=LASTS)
    assert (tomorrow.opening, tomorrow.run.number) == (Opening.BEGUN, 1)


def test_a_night_that_died_goes_on_at_the_first_step_that_is_not_done(
    journal: Journal, place: Place, watch: Watch
) -> None:
    dead = other(place, watch, by=f"{socket.gethostname()}:{ended_process()}:1")
    run = dead.open(ASKED, lasts=LASTS).run
    dead.end(dead.begin(run, Step.PRICE, "{}"), outcome='{"snapshot":"s"}')
    dead.begin(run, Step.PLAN, "{}")
    found = journal.open(ASKED, lasts=LASTS)
    assert found.opening is Opening.RESUMED
    assert found.run.done(Step.PRICE) is not None
    assert found.run.done(Step.PLAN) is None
    assert [one.state for one in found.run.steps] == [State.DONE, State.INTERRUPTED]
    journal.end(journal.begin(found.run, Step.PLAN, "{}"), outcome="{}")
    (last,) = journal.runs("team")
    assert [(one.step, one.attempt) for one in last.steps] == [
        (Step.PRICE, 1),
        (Step.PLAN, 1),
        (Step.PLAN, 2),
    ]


def test_a_failed_night_is_tried_again_and_forgets_its_error(journal: Journal) -> None:
    run = journal.open(ASKED, lasts=LASTS).run
    journal.end(journal.begin(run, Step.PRICE, "{}"), error="the disk is full")
    assert journal.finish(run, error="the disk is full", hint="free some").state is State.FAILED
    found = journal.open(ASKED, lasts=LASTS)
    assert (found.opening, found.run.number, found.run.error) == (Opening.RESUMED, 1, "")
    assert found.run.steps[0].error == "the disk is full"


def test_what_was_broken_off_begins_anew_where_other_things_are_asked(journal: Journal) -> None:
    run = journal.open(ASKED, lasts=LASTS).run
    journal.end(journal.begin(run, Step.PRICE, "{}"), outcome="{}")
    found = journal.open(replace(ASKED, workloads_sha256="cd34"), lasts=LASTS)
    assert (found.opening, found.run.number, found.run.steps) == (Opening.BEGUN, 2, ())
    assert [one.state for one in journal.runs("team")] == [State.INTERRUPTED, State.RUNNING]


def test_a_night_that_told_there_is_no_plan_is_run_anew(journal: Journal) -> None:
    run = journal.open(ASKED, lasts=LASTS).run
    journal.end(journal.begin(run, Step.TELL, "{}"), outcome="{}")
    journal.finish(run, error="no purchase meets every rule")
    assert journal.open(ASKED, lasts=LASTS).run.number == 2


def test_a_night_that_another_machine_works_on_is_left_to_it_for_as_long_as_it_said(
    journal: Journal, place: Place, watch: Watch
) -> None:
    theirs = other(place, watch)
    run = theirs.open(ASKED, lasts=LASTS).run
    assert journal.open(ASKED, lasts=LASTS, again=True).opening is Opening.HELD
    watch.forward(minutes=59)
    theirs.begin(run, Step.PRICE, "{}")  # a sign of life
    watch.forward(minutes=59)
    assert journal.open(ASKED, lasts=LASTS).opening is Opening.HELD
    watch.forward(minutes=2)
    assert journal.open(ASKED, lasts=LASTS).opening is Opening.RESUMED


def test_a_clock_that_was_set_back_does_not_lock_a_night(
    journal: Journal, place: Place, watch: Watch
) -> None:
    other(place, watch).open(ASKED, lasts=LASTS)
    watch.forward(days=-400)
    assert journal.open(ASKED, lasts=LASTS).opening is Opening.RESUMED


def test_whoever_lost_a_night_writes_nothing_into_it_any_more(
    journal: Journal, place: Place, watch: Watch
) -> None:
    late = other(place, watch)
    run = late.open(ASKED, lasts=LASTS).run
    attempt = late.begin(run, Step.PRICE, "{}")
    watch.forward(hours=2)
    journal.open(ASKED, lasts=LASTS)
    with pytest.raises(NightTakenError, match="taken this night over"):
        late.end(attempt, outcome="{}")
    with pytest.raises(NightTakenError):
        late.begin(run, Step.PLAN, "{}")
    with pytest.raises(NightTakenError):
        late.finish(run)
    assert journal.runs("team")[0].state is State.RUNNING


def test_a_claim_of_this_machine_holds_while_its_process_lives_whatever_the_clock_says() -> None:
    host = socket.gethostname()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        living = _started(process.pid)
        own = Claim(f"{host}:{process.pid}:{living}", START, LASTS)
        assert own.is_held(START + timedelta(days=30))
        if living:  # there is a /proc here: a number that was given away again is another process
            assert not replace(own, by=f"{host}:{process.pid}:{int(living) + 1}").is_held(START)
        process.communicate(b"\n")
    assert not own.is_held(START)
    assert not Claim("", START, LASTS).is_held(START)


def ended_process() -> int:
    """Give the number of a process that is gone."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid
