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


def test_the_plan_that_a_night_kept_is_used_by_its_hash(
    gpubroker: Gpubroker, files: tuple[str, ...], tmp_path: Path
) -> None:
    unknown = gpubroker("export", "0123456789ab", "--to", "csv")
    assert unknown.code == 2
    assert "no kept plans begin with" in unknown.err
    kept = []
    for date, price in (("2026-11-28", "4.50"), ("2026-11-29", "4.70")):
        write_sheet(tmp_path, NODE.replace("4.50", price))
        night = json.loads(gpubroker(*files, "--date", date, "--format", "json").out)
        kept.append(night["plan"][:12])
    exported = gpubroker("export", kept[0], "--to", "csv")
    assert exported.code == 0
    assert "aws/p5.4xlarge/us-east-1" in exported.out
    sheet = ("--sheet", files[3])
    changed = gpubroker("diff", *kept, *sheet, "--format", "json")
    assert changed.code == 0
    (line,) = json.loads(changed.out)["lines"]
    assert (line["old_usd_per_hour"], line["new_usd_per_hour"]) == (4.5, 4.7)
    accepted = gpubroker("verify", kept[1], files[1], *sheet)
    assert (accepted.code, accepted.out[:9]) == (0, "accepted:")
    explained = gpubroker("explain", kept[1], *sheet, "--time-limit", "10")
    assert explained.code == 0
    out = tmp_path / "next.json"
    planned = gpubroker("plan", files[1], *sheet, "--in-force", kept[1], "--out", str(out))
    assert (planned.code, out.exists()) == (0, True)
    none = gpubroker("export", "0123456789ab", "--to", "csv")
    assert (none.code, "'0123456789ab'" in none.err) == (2, True)


def test_a_plan_that_costs_more_is_said_to(
    gpubroker: Gpubroker, files: tuple[str, ...], tmp_path: Path
) -> None:
    assert gpubroker(*files, "--date", "2026-11-28").code == 0
    write_sheet(tmp_path, NODE.replace("us-east-1,on_demand,4.50", "us-west-2,on_demand,5.50"))
    dearer = gpubroker(*files, "--date", "2026-11-29", "--format", "json")
    told = json.loads(dearer.out)
    assert told["verdict"] == "needed"
    said = told["steps"][3]["said"]
    assert said.startswith("costs ")
    assert " USD beside " in said
