import json
from pathlib import Path

import pytest
from command_line import Gpubroker
from tiny_files import write_sheet, write_workloads


@pytest.fixture
def tiny(tmp_path: Path) -> tuple[str, ...]:
    workloads, sheet = write_workloads(tmp_path), write_sheet(tmp_path)
    return ("plan", str(workloads), "--sheet", str(sheet), "--gap", "0")


def test_the_difference_is_told_with_its_lines(tiny: tuple[str, ...], gpubroker: Gpubroker) -> None:
    changes = ("--what-if", "price.gcp=0.5x", "--what-if", "policy.price_trend_per_year=-0.1")
    ended = gpubroker(*tiny, *changes)
    lines = ended.out.splitlines()
    assert (ended.code, ended.err) == (0, "")
    assert max(map(len, lines)) <= 80
    assert lines[1] == "  price.gcp=0.5x, policy.price_trend_per_year=-0.1"
    (total,) = [line.split() for line in lines if line.startswith("Total USD")]
    assert total[2] == "55.28"  # 24 × 2.30 on aws, and its weights on a volume
    removed, added = (
        next(line for line in lines if line.startswith(word)) for word in ("removed", "added")
    )
    assert "aws/g6e.xlarge/eu-central-1@on_demand" in removed
    assert removed.split()[-1] == "-55.20"
    assert "gcp/a2-highgpu-1g/europe-west4@on_demand" in added
    assert "not its price" not in ended.out  # that is what was asked for
    assert "The least possible cost changes" not in ended.out  # there is no gap


def test_where_a_gap_is_left_the_change_is_an_interval(
    gpubroker: Gpubroker, tmp_path: Path
) -> None:
    workloads = write_workloads(tmp_path, ("mean: 1, peak: 2", "mean: 30, peak: 70"))
    arguments = ("plan", str(workloads), "--sheet", str(write_sheet(tmp_path)), "--gap", "0.5")
    told = json.loads(gpubroker(*arguments, "--what-if", "traffic=1.1", "--format", "json").out)
    assert told["schema"] == "gpubroker.what-if/1"
    assert told["changes"] == ["traffic=1.1"]
    least = told["bound_usd"] - told["base_total_usd"]
    most = told["total_usd"] - told["base_bound_usd"]
    assert told["least_change_usd"] == pytest.approx(least)
    assert told["most_change_usd"] == pytest.approx(most)
    change = sum(line["change_usd"] for line in told["lines"])
    assert change == pytest.approx(told["total_usd"] - told["base_total_usd"])


def test_a_change_that_leaves_no_plan_says_so_with_exit_code_4(
    tiny: tuple[str, ...], gpubroker: Gpubroker
) -> None:
    ended = gpubroker(*tiny, "--what-if", "services.chat.slo.tpot={p95: 1 ms}")
    assert ended.code == 4
    (total,) = [line for line in ended.out.splitlines() if line.startswith("Total USD")]
    assert total.split()[2:] == ["55.28", "no", "plan"]
    assert "tpot missed" in ended.err


def test_no_plan_file_is_written_of_what_is_not_so(
    tiny: tuple[str, ...], gpubroker: Gpubroker, tmp_path: Path
) -> None:
    out = tmp_path / "plan.json"
    ended = gpubroker(*tiny, "--what-if", "traffic=2", "--out", str(out))
    assert ended.code == 2
    assert "--out does not go with --what-if" in ended.err
    assert not out.exists()


def test_an_unknown_key_is_told_with_the_nearest(
    tiny: tuple[str, ...], gpubroker: Gpubroker
) -> None:
    ended = gpubroker(*tiny, "--what-if", "trafic=2")
    assert ended.code == 2
    assert "unknown key 'trafic'" in ended.err
    assert "traffic" in ended.err.splitlines()[-1]
