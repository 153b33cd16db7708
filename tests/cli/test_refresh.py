import csv
import io
import json
from pathlib import Path

import pytest
from command_line import Gpubroker

from broker.planning.service import open_service
from broker.settings import Settings
from providers.registry import EXAMPLES, PROVIDERS


def test_recordings_fill_the_catalog(gpubroker: Gpubroker, data_dir: Path) -> None:
    ended = gpubroker("refresh", "--recorded", "--format", "json")
    assert ended.code == 0
    told = json.loads(ended.out)
    assert told["schema"] == "gpubroker.refresh/1"
    assert [row["status"] for row in told["providers"]] == ["refreshed"] * len(told["providers"])
    stored = open_service(Settings(data_dir=data_dir)).offers_from_store()
    assert sum(row["offers"] for row in told["providers"]) == len(stored.offers)


def test_the_table_names_every_provider_and_fits_80_characters(gpubroker: Gpubroker) -> None:
    ended = gpubroker("refresh", "--recorded")
    lines = ended.out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == sorted(PROVIDERS + EXAMPLES)
    assert max(map(len, lines)) <= 80


def test_one_provider_can_be_named(gpubroker: Gpubroker) -> None:
    ended = gpubroker("refresh", "--recorded", "--provider", "lambda", "--format", "csv")
    assert [line.split(",")[0] for line in ended.out.splitlines()] == ["provider", "lambda"]


def test_a_provider_that_fails_ends_with_3_and_says_what_is_kept(
    gpubroker: Gpubroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gpubroker("refresh", "--recorded", "--provider", "lambda").code == 0
    monkeypatch.setenv("GPUBROKER_PROVIDER_TIMEOUT_S", "1e-9")  # no provider is that quick
    ended = gpubroker("refresh", "--recorded", "--provider", "lambda", "--format", "json")
    assert ended.code == 3
    (row,) = json.loads(ended.out)["providers"]
    assert row["status"] == "failed"
    assert row["offers"] > 0
    assert f"its {row['offers']} earlier offers are kept, the newest" in ended.err
    assert "error: 1 of 1 failed: lambda" in ended.err
    assert "hint: raise GPUBROKER_PROVIDER_TIMEOUT_S" in ended.err


def test_a_region_that_fails_alone_ends_with_3_and_says_what_is_kept(
    gpubroker: Gpubroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gpubroker("refresh", "--recorded", "--provider", "aws").code == 0
    monkeypatch.setenv("GPUBROKER_AWS_REGIONS", '["us-east-1", "eu-north-1"]')  # not recorded
    ended = gpubroker("refresh", "--recorded", "--provider", "aws", "--format", "json")
    assert ended.code == 3
    (row,) = json.loads(ended.out)["providers"]
    assert row["status"] == "partial"
    assert row["kept"] > 0
    (part,) = row["missing"]
    assert part.startswith("eu-north-1")
    assert f"{part} could not be read: no recording of 'aws'" in ended.err
    assert f"{row['kept']} earlier offers of that are kept with their age" in ended.err
    assert "error: 1 of 1 read in part: aws" in ended.err
    assert "hint: refresh again" in ended.err


def test_keys_in_the_environment_change_nothing_of_what_recordings_say(
    filled: Gpubroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OVHCLOUD_CLIENT_ID", "OVHCLOUD_CLIENT_SECRET", "GCP_API_KEY", "VERDA_CLIENT_ID"):
        monkeypatch.setenv(f"GPUBROKER_{name}", "0123456789")
    again = filled("refresh", "--recorded", "--format", "csv")
    assert again.code == 0
    told = csv.DictReader(io.StringIO(again.out))
    assert all((row["new"], row["changed"], row["vanished"]) == ("0", "0", "0") for row in told)


def test_quiet_leaves_data_and_errors(gpubroker: Gpubroker) -> None:
    ended = gpubroker("--quiet", "refresh", "--recorded", "--provider", "lambda")
    assert ended.code == 0
    assert ended.out
    assert ended.err == ""


def test_json_logs_are_one_event_a_line(gpubroker: Gpubroker) -> None:
    ended = gpubroker("--log-format", "json", "refresh", "--recorded", "--provider", "vast")
    events = [json.loads(line) for line in ended.err.splitlines() if line.startswith("{")]
    assert [event["event"] for event in events] == ["offers_refreshed"]
    assert events[0]["provider"] == "vast"
    assert events[0]["level"] == "info"
    assert events[0]["offers"] > 0


def test_an_unknown_provider_ends_with_2(gpubroker: Gpubroker) -> None:
    ended = gpubroker("refresh", "--recorded", "--provider", "lamda")
    assert ended.code == 2
    assert "did you mean one of: lambda?" in ended.err


@pytest.mark.parametrize("form", ["table", "json", "csv", "yaml"])
def test_no_progress_is_drawn_where_stderr_is_no_terminal(form: str, gpubroker: Gpubroker) -> None:
    ended = gpubroker("refresh", "--recorded", "--provider", "lambda", "--format", form)
    assert ended.err == ""
