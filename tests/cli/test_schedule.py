import json
import re
from pathlib import Path

import pytest
from command_line import EXAMPLES, Gpubroker

FILE = str(EXAMPLES / "7b-small-team.yaml")


def test_jobs_are_added_listed_and_removed(gpubroker: Gpubroker) -> None:
    added = gpubroker("schedule", "add", "reprice", "--every", "30 min", "--provider", "lambda")
    assert added.code == 0
    assert "added: reprice-lambda, every 30 min, first at" in added.err
    gpubroker("schedule", "add", "nightly", FILE, "--at", "02:30", "--zone", "Europe/Berlin")
    gpubroker("schedule", "add", "digest", "--weekly", "mon", "--name", "mondays")
    listed = gpubroker("schedule", "list")
    assert max(map(len, listed.out.splitlines())) <= 80
    assert re.search(r"^reprice-lambda +reprice .*every 30 min +due$", listed.out, re.MULTILINE)
    assert "daily 02:30 Europe/Berlin" in listed.out
    told = json.loads(gpubroker("schedule", "list", "--format", "json").out)
    assert [(job["job"], job["kind"]) for job in told["jobs"]] == [
        ("mondays", "digest"),
        ("nightly-7b-small-team", "nightly"),
        ("reprice-lambda", "reprice"),
    ]
    assert told["jobs"][1]["subject"] == FILE
    assert gpubroker("schedule", "remove", "mondays", "reprice-lambda").code == 0
    wrong = gpubroker("schedule", "remove", "mondays")
    assert (wrong.code, "unknown job 'mondays'" in wrong.err) == (2, True)
    assert len(json.loads(gpubroker("schedule", "list", "--format", "json").out)["jobs"]) == 1


def test_several_providers_are_jobs_of_their_own(gpubroker: Gpubroker) -> None:
    both = ("--provider", "lambda", "--provider", "datacrunch")
    gpubroker("schedule", "add", "reprice", "--every", "6 h", *both)
    told = json.loads(gpubroker("schedule", "list", "--format", "json").out)
    assert [job["subject"] for job in told["jobs"]] == ["lambda", "verda"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("reprice", "--every", "10 s"), "cannot run every '10 s'"),
        (("reprice", "--every", "1 h", "--provider", "lamda"), "unknown provider 'lamda'"),
        (("nightly", "no.yaml"), "no.yaml"),
        (("nightly", FILE, "--zone", "Berlin"), "unknown time zone 'Berlin'"),
        (("digest", "--at", "8"), "is not a time such as 02:30"),
        (("digest", "--name", " "), "is no name for a job"),
    ],
)
def test_what_cannot_be_scheduled_is_refused(
    gpubroker: Gpubroker, arguments: tuple[str, ...], words: str
) -> None:
    ended = gpubroker("schedule", "add", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert words in ended.err
    assert "nothing is scheduled" in gpubroker("schedule", "list").err


@pytest.mark.parametrize("option", ["--lease", "--grace", "--job-limit"])
def test_a_time_without_end_is_refused(gpubroker: Gpubroker, option: str) -> None:
    ended = gpubroker("schedule", "run", "--once", option, "1e12")
    assert (ended.code, ended.out) == (2, "")
    assert f"Invalid value for '{option}'" in ended.err


def test_what_is_due_is_run_once_and_the_status_tells_of_it(gpubroker: Gpubroker) -> None:
    gpubroker("schedule", "add", "digest", "--at", "08:00")
    gpubroker("schedule", "add", "reprice", "--every", "6 h", "--provider", "lambda", "--recorded")
    ran = gpubroker("schedule", "run", "--once")
    assert ran.code == 0, ran.err
    assert re.search(r"reprice-lambda: done, \d+ offers, \d+ new", ran.err)
    told = json.loads(gpubroker("status", "--jobs", "--format", "json").out)
    assert told["schema"] == "gpubroker.jobs/1"
    assert told["runner"] is None
    digest, reprice = told["jobs"]
    assert (digest["last_state"], digest["last_finished_at"]) == ("never", None)
    assert (reprice["last_state"], reprice["done"], reprice["overdue"]) == ("done", 1, False)
    assert reprice["last_elapsed_s"] > 0
    table = gpubroker("status", "--jobs")
    assert max(map(len, table.out.splitlines())) <= 80
    assert "nobody runs them" in table.err
    for form in ("csv", "yaml"):
        assert "reprice-lambda" in gpubroker("status", "--jobs", "--format", form).out
    again = gpubroker("schedule", "run", "--once")
    assert (again.code, again.err) == (0, "")


def test_a_job_that_fails_is_told_with_its_reason_and_an_alert(
    gpubroker: Gpubroker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    alerts = tmp_path / "alerts.jsonl"
    monkeypatch.setenv("GPUBROKER_ALERT_FILE", str(alerts))
    monkeypatch.setenv("GPUBROKER_PROVIDER_TIMEOUT_S", "1e-9")  # no provider is that quick
    gpubroker("schedule", "add", "reprice", "--every", "6 h", "--provider", "lambda", "--recorded")
    ran = gpubroker("schedule", "run", "--once")
    assert ran.code == 3
    assert "1 of 1 jobs failed: lambda: not done within" in ran.err
    status = gpubroker("status", "--jobs")
    assert "failed: lambda: not done" in " ".join(status.out.split())
    assert "reprice-lambda: lambda: not done within" in status.err
    assert len(alerts.read_text().splitlines()) == 1
