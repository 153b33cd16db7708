import json
from datetime import datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from schedules import START, Watch, hourly, settings_over

from broker.domain.alert import Alert, AlertKind
from broker.planning.alerting import open_alerts
from broker.scheduler.jobs import is_another_night, perform
from broker.scheduler.records import Ended, Job, JobKind, RunState, Scheduled
from broker.scheduler.rules import LocalTime
from broker.scheduler.telling import teller
from broker.scheduler.work import Work
from broker.settings import Settings
from broker.store.place import Place

WEEKLY = Job("mondays", JobKind.DIGEST, "", LocalTime(time(12), ZoneInfo("UTC"), 0))
FAILED = Ended(RunState.FAILED, error="nothing came within 30 s", hint="try it by hand")


@pytest.fixture
def settings(place: Place, tmp_path: Path) -> Settings:
    over = settings_over(place, tmp_path)
    return over.model_copy(update={"alert_file": tmp_path / "alerts.jsonl"})


def told(settings: Settings) -> list[str]:
    """List the titles of what was written to the alerts' file."""
    assert settings.alert_file is not None
    if not settings.alert_file.exists():
        return []
    return [json.loads(line)["title"] for line in settings.alert_file.read_text().splitlines()]


def scheduled(job: Job) -> Scheduled:
    return Scheduled(1, job, START)


def test_a_failure_is_told_once_whatever_its_figures_and_its_end_too(settings: Settings) -> None:
    watch = Watch()
    tell = teller(open_alerts(settings, watch))
    tell(scheduled(hourly()), FAILED)
    watch.forward(hours=1)
    tell(scheduled(hourly()), Ended(RunState.FAILED, error="nothing came within 31 s"))
    tell(scheduled(hourly("other")), Ended(RunState.DONE))
    title = "The job hourly of the schedule failed"
    assert told(settings) == [title]
    tell(scheduled(hourly()), Ended(RunState.INTERRUPTED, error="told to end"))
    watch.forward(hours=1)
    tell(scheduled(hourly()), Ended(RunState.DONE))
    assert told(settings) == [title, f"Mended: {title}"]


@pytest.mark.parametrize(
    ("done", "began", "due", "again"),
    [
        # 01:30 in Berlin, on the two days on which its clocks change.
        ("2026-03-29T00:30", "2026-03-29T00:30", "2026-03-29T23:30", True),
        ("2026-10-24T23:30", "2026-10-24T23:30", "2026-10-26T00:30", False),
        # Due at 23:30, but begun after midnight: the next one is of the same date.
        ("2026-07-01T23:30", "2026-07-02T00:10", "2026-07-02T23:30", True),
        ("2026-07-01T23:30", "2026-07-01T23:31", "2026-07-02T23:30", False),
        # Due at 02:30, missed, and made up for two hours before the next one.
        ("2026-07-01T02:30", "2026-07-02T00:30", "2026-07-02T02:30", False),
    ],
)
def test_a_night_of_the_date_of_the_one_before_is_run_again(
    settings: Settings, *, done: str, began: str, due: str, again: bool
) -> None:
    done_at, began_at, due_at = (datetime.fromisoformat(f"{one}Z") for one in (done, began, due))
    work = Work(settings, WEEKLY, due_at, done_at, 1, began_at=began_at)
    assert is_another_night(work, due_at + timedelta(seconds=5)) is again


def test_the_first_night_is_no_other(settings: Settings) -> None:
    assert not is_another_night(Work(settings, WEEKLY, START, None, 1), START)


def test_what_the_job_itself_has_told_is_not_told_again(settings: Settings) -> None:
    tell = teller(open_alerts(settings, Watch()))
    tell(scheduled(hourly()), Ended(RunState.FAILED, error="told", is_told=True))
    assert told(settings) == []


def test_a_digest_covers_the_time_since_the_last_one_and_is_sent_once(settings: Settings) -> None:
    watch = Watch(START - timedelta(days=8))
    alerts = open_alerts(settings, watch)
    teller(alerts)(scheduled(hourly()), FAILED)
    before = len(told(settings))
    last_week = Work(settings, WEEKLY, START, None, 1)
    assert perform(last_week) == Ended(RunState.DONE, "nothing to tell")
    after_a_gap = Work(settings, WEEKLY, START, START - timedelta(days=14), 1)
    for _ in range(2):  # the second is the same digest, made again
        assert perform(after_a_gap).state is RunState.DONE
    (title,) = told(settings)[before:]
    assert title.startswith("gpubroker, 14 days: 1 new")


def test_a_digest_without_anybody_to_tell_says_so(settings: Settings) -> None:
    nobody = settings.model_copy(update={"alert_file": None})
    ended = perform(Work(nobody, WEEKLY, START, None, 1))
    assert ended == Ended(RunState.DONE, "nobody is to be told")


def test_an_alert_of_a_job_says_what_since_when_and_what_to_do(settings: Settings) -> None:
    teller(open_alerts(settings, Watch()))(scheduled(hourly()), FAILED)
    (logged,) = open_alerts(settings, Watch()).listed()
    assert logged.alert == Alert(
        kind=AlertKind.NIGHT_FAILED,
        scope="the job hourly",
        subject="the job hourly",
        state="nothing came within # s",
        title="The job hourly of the schedule failed",
        since=START,
        facts=("nothing came within 30 s", "it runs every 1 h"),
        action="try it by hand",
    )


def test_a_night_that_cannot_be_run_tells_of_it_itself_and_only_once(
    settings: Settings, tmp_path: Path
) -> None:
    gone = str(tmp_path / "gone.yaml")
    rule = LocalTime(time(2, 30), ZoneInfo("UTC"))
    job = Job("night", JobKind.NIGHTLY, gone, rule, recorded=True)
    ended = perform(Work(settings, job, START, None, 1))
    assert (ended.state, ended.is_told) == (RunState.FAILED, True)
    assert "gone.yaml" in ended.error
    assert ended.hint
    (title,) = told(settings)
    assert "gone.yaml failed" in title
    teller(open_alerts(settings, Watch()))(scheduled(job), ended)
    assert told(settings) == [title]
