import json
from pathlib import Path

import pytest
from command_line import Gpubroker
from nights import RUN
from tiny_files import write, write_sheet

NODE = "aws,p5.4xlarge,H100-SXM,1,us-east-1,on_demand,4.50,USD,2026-11-20"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, ...]:
    """Give the arguments of a night that is run in a moment."""
    workloads = write(tmp_path / "team.yaml", RUN)
    return ("nightly", str(workloads), "--sheet", str(write_sheet(tmp_path, NODE)))


def test_a_night_is_rehearsed_then_run_and_then_left_alone(
    gpubroker: Gpubroker,
    files: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alerts = tmp_path / "alerts.jsonl"
    monkeypatch.setenv("GPUBROKER_ALERT_FILE", str(alerts))
    rehearsed = gpubroker(*files, "--date", "2026-11-28", "--dry-run")
    assert rehearsed.code == 0
    assert "nothing is kept, nobody is told" in rehearsed.out
    assert "file would be told:" in rehearsed.out
    assert not alerts.exists()
    assert json.loads(gpubroker("plans", "--format", "json").out)["plans"] == []

    done = gpubroker(*files, "--date", "2026-11-28")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "Night of team, 2026-11-28: done"
    assert max(map(len, lines)) <= 80
    assert "accepted, " in done.out
    assert "The first plan: " in done.out
    assert len(alerts.read_text(encoding="utf-8").splitlines()) == 1

    again = gpubroker(*files, "--date", "2026-11-28", "--format", "json")
    told = json.loads(again.out)
    assert (told["found"], told["verdict"], told["run"]) == ("done", "first", 1)
    assert [one["step"] for one in told["steps"]] == [
        *("price", "plan", "verify", "diff", "decide", "tell")
    ]
    assert len(alerts.read_text(encoding="utf-8").splitlines()) == 1


def test_a_night_without_a_plan_ends_with_4_and_says_why(
    gpubroker: Gpubroker, files: tuple[str, ...], tmp_path: Path
) -> None:
    picky = RUN.replace("gpus: [1]", "gpus: [1], gpu_models: [H200-SXM]")
    write(tmp_path / "team.yaml", picky)
    ended = gpubroker(*files, "--date", "2026-11-28")
    assert ended.code == 4
    assert "There is no plan." in ended.out
    assert "tune fits nowhere" in ended.err
    assert "the plan in force, if there is one, stands" in ended.err


def test_a_date_that_is_none_and_two_catalogs_are_bad_input(
    gpubroker: Gpubroker, files: tuple[str, ...]
) -> None:
    ended = gpubroker(*files, "--date", "tomorrow")
    assert (ended.code, "--date 'tomorrow' is no date" in ended.err) == (2, True)
    both = gpubroker(*files, "--recorded")
    assert (both.code, "name different catalogs" in both.err) == (2, True)
