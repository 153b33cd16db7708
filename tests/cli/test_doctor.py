import json
from pathlib import Path

import pytest
from command_line import Gpubroker


def test_a_table_of_checks_and_one_of_providers_fit_the_terminal(gpubroker: Gpubroker) -> None:
    ended = gpubroker("doctor")
    assert (ended.code, ended.err) == (0, "")
    assert max(map(len, ended.out.splitlines())) <= 80
    checks, providers = ended.out.split("\n\n")
    assert "HiGHS solved a small program" in checks
    assert providers.startswith("provider ")


def test_what_is_broken_ends_with_2_and_keys_are_never_told(
    gpubroker: Gpubroker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('webhook_url = "https://x.y"\n[providers.lambda]\napi_key = "sek-canary"')
    monkeypatch.setenv("GPUBROKER_SETTINGS_FILE", str(file))
    ended = gpubroker("doctor", "--format", "json")
    told = json.loads(ended.out)
    assert ended.code == 2
    assert told["broken"] is True
    assert "sek-canary" not in ended.out + ended.err
    states = {row["check"]: row["state"] for row in told["checks"]}
    assert states == {
        "settings": "look",  # others may read it
        "data folder": "ok",
        "disk": "ok",
        "database": "ok",
        "clock": "ok",
        "providers": "ok",
        "alerts": "broken",
        "tables": "ok",
        "solver": "ok",
    }
    found = next(row for row in told["providers"] if row["provider"] == "lambda")
    assert found["present"] == ["api_key"]


def test_a_settings_file_that_is_wrong_is_a_finding(
    gpubroker: Gpubroker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("databse = 1")
    monkeypatch.setenv("GPUBROKER_SETTINGS_FILE", str(file))
    ended = gpubroker("doctor")
    assert ended.code == 2
    assert "did you mean 'database'?" in ended.out


def test_every_command_warns_of_keys_that_others_may_read(
    gpubroker: Gpubroker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('[providers.lambda]\napi_key = "sek-canary"')
    file.chmod(0o640)
    monkeypatch.setenv("GPUBROKER_SETTINGS_FILE", str(file))
    ended = gpubroker("status")
    assert "other users may read it: chmod 600" in ended.err
    assert "sek-canary" not in ended.err
