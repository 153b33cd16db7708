import json
from pathlib import Path

import pytest
from alert_receivers import NIGHT, Reply, an_alert, receiver
from command_line import Gpubroker
from pydantic import SecretStr

from broker.alerts.announcer import Announcer
from broker.alerts.sinks.slack import Slack
from broker.store.database import open_database

CANARY = "/services/T0/B0/canary-of-slack"


@pytest.fixture
def file(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = data_dir.parent / "alerts.jsonl"
    monkeypatch.setenv("GPUBROKER_ALERT_FILE", str(path))
    return path


def test_a_trial_goes_through_each_way_and_a_dry_run_through_none(
    gpubroker: Gpubroker, file: Path, data_dir: Path
) -> None:
    shown = gpubroker("alerts", "test", "--dry-run")
    assert shown.code == 0
    assert f"append to {file}" in shown.out
    assert not file.exists()
    assert gpubroker("alerts", "test").code == 0
    assert json.loads(file.read_text())["news"][0]["alert"]["subject"] == "sample"
    assert not data_dir.exists()  # a trial is kept nowhere


def test_without_a_way_to_tell_anybody_it_says_so(gpubroker: Gpubroker) -> None:
    ended = gpubroker("alerts", "test")
    assert (ended.code, ended.out) == (0, "")
    assert "docs/alerts.md" in ended.err
    assert gpubroker("alerts", "list").err == "there is no alert\n"
    assert gpubroker("alerts", "flush").err == "nothing waits\n"


@pytest.mark.local_server
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_what_could_not_be_sent_is_listed_and_flushed(
    gpubroker: Gpubroker, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiver([Reply(403, f"no {CANARY}")] * 2, CANARY) as there:
        engine = open_database(data_dir / "catalog.sqlite3")
        sink = Slack(SecretStr(there.url), clock=lambda: NIGHT)
        Announcer(engine, [sink], lambda: NIGHT).tell([an_alert()], now=NIGHT)
        monkeypatch.setenv("GPUBROKER_SLACK_WEBHOOK_URL", there.url)

        listed = gpubroker("alerts", "list")
        assert "chat is near" in listed.out
        assert "not told to slack yet: Slack (127.0.0.1) answered 403: no ***" in listed.err
        told = json.loads(gpubroker("alerts", "list", "--format", "json").out)
        assert told["schema"] == "gpubroker.alert_list/1"
        assert told["alerts"][0]["usd_per_day"] == 12.0
        assert told["alerts"][0]["told"] == []
        assert told["waiting"][0]["attempts"] == 1

        failed = gpubroker("alerts", "flush")
        assert failed.code == 3
        assert "error: 1 of 1 messages did not arrive: slack" in failed.err
        assert gpubroker("alerts", "flush").code == 0
        assert "slack" in gpubroker("alerts", "list").out
    assert len(there.heard) == 3
    assert "canary" not in listed.out + listed.err + failed.out + failed.err


def test_a_way_that_is_half_set_is_bad_input(
    gpubroker: Gpubroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUBROKER_WEBHOOK_URL", "https://finops.example/hook")
    ended = gpubroker("alerts", "test")
    assert ended.code == 2
    assert "GPUBROKER_WEBHOOK_SECRET is not" in ended.err
