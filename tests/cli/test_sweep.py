import csv
import io
import json
from pathlib import Path

import pytest
from command_line import Gpubroker
from tiny_files import write_sheet, write_workloads


@pytest.fixture
def tiny(tmp_path: Path) -> tuple[str, ...]:
    workloads, sheet = write_workloads(tmp_path), write_sheet(tmp_path)
    return ("sweep", str(workloads), "--sheet", str(sheet), "--gap", "0")


def test_the_table_and_the_bars_have_every_point(
    tiny: tuple[str, ...], gpubroker: Gpubroker
) -> None:
    ended = gpubroker(*tiny, "--vary", "traffic=1,20", "--vary", "price.L40S=1x,3x")
    lines = ended.out.splitlines()
    assert (ended.code, ended.err) == (0, "")
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("Sweep  2026-12-01 to 2026-12-02, 1 workload, catalog ")
    assert lines[2].split()[:3] == ["traffic", "price.L40S", "USD"]
    # One L40S all day, 24 × 2.30, and its weights on a volume, 0.08; no gap is left.
    assert lines[4].split() == ["1", "1x", "55.28", "55.28", "0.00%", "24", "L40S"]
    bars = ended.out.partition("Cost in USD: ")[2].splitlines()[1:]
    assert [line.split()[:2] for line in bars if line] == [
        ["1", "1x"],
        ["1", "3x"],
        ["20", "1x"],
        ["20", "3x"],
    ]
    assert bars[2] == ""  # between the groups of the first key


def test_machines_get_every_point_in_its_order(tiny: tuple[str, ...], gpubroker: Gpubroker) -> None:
    arguments = (*tiny, "--vary", "traffic=2,1", "--jobs", "1", "--format")
    told = json.loads(gpubroker(*arguments, "json").out)
    assert told["schema"] == "gpubroker.sweep/1"
    assert [one["value"] for one in told["points"]] == ["2", "1"]
    assert told["points"][1]["total_usd"] == 55.276169
    assert told["points"][1]["gpu_hours"] == {"L40S": 24}
    rows = list(csv.DictReader(io.StringIO(gpubroker(*arguments, "csv").out)))
    assert [(row["key"], row["value"], row["second_key"]) for row in rows] == [
        ("traffic", "2", ""),
        ("traffic", "1", ""),
    ]


def test_a_point_without_a_plan_is_told_and_does_not_end_the_others(
    tiny: tuple[str, ...], gpubroker: Gpubroker
) -> None:
    ended = gpubroker(*tiny, "--vary", "services.chat.slo.tpot={p95: 1 ms},{p95: 80 ms}")
    assert ended.code == 0
    assert "no plan" in ended.out
    assert "55.28" in ended.out


def test_where_no_point_has_a_plan_the_exit_code_is_4(
    tiny: tuple[str, ...], gpubroker: Gpubroker
) -> None:
    ended = gpubroker(*tiny, "--vary", "services.chat.slo.tpot={p95: 1 ms}")
    assert ended.code == 4
    assert "no purchase meets every rule at any point" in ended.err
    assert "tpot missed" in ended.err


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        (("trafic=1,2",), "--vary trafic=1: unknown key 'trafic'"),
        (("traffic=1", "traffic=2"), "stands twice"),
        (("a=1", "b=1", "c=1"), "one or two keys, not 3"),
    ],
)
def test_a_wrong_key_is_told(
    vary: tuple[str, ...], message: str, tiny: tuple[str, ...], gpubroker: Gpubroker
) -> None:
    ended = gpubroker(*tiny, *(word for one in vary for word in ("--vary", one)))
    assert ended.code == 2
    assert message in ended.err
