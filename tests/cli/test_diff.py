import csv
import io
import json
from decimal import Decimal
from pathlib import Path

import pytest
from command_line import Gpubroker, run_apart
from tiny_files import write_sheet, write_workloads

HOUSE = "aws,g6e.xlarge,L40S,1,eu-central-1,on_demand,{},USD,2026-11-20"
OTHER = "gcp,a2-highgpu-1g,A100-40GB,1,europe-west4,on_demand,2.80,USD,2026-11-20"


class Nights:
    """The plan of one night at 2.30 $/h, and those of nights on which that price has moved."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.first = self.plan("first", "2.30")

    def plan(self, name: str, price: str, *changes: tuple[str, str]) -> Path:
        folder = self.folder / name
        folder.mkdir()
        workloads = write_workloads(folder, *changes)
        sheet = write_sheet(folder, HOUSE.format(price), OTHER)
        out = folder / "plan.json"
        options = ("--sheet", str(sheet), "--gap", "0", "--out", str(out))
        ended = run_apart(folder / "data", "plan", str(workloads), *options)
        assert ended.code == 0, ended.err
        return out


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Nights:
    return Nights(tmp_path_factory.mktemp("nights"))


def test_two_nights_with_a_one_percent_move_yield_no_change(
    nights: Nights, gpubroker: Gpubroker
) -> None:
    second = nights.plan("one percent", "2.323")
    ended = gpubroker("diff", str(nights.first), str(second))
    assert (ended.code, ended.err) == (0, "")
    assert "no change: the new plan buys the same nodes at the same times" in ended.out
    assert "+0.55 for the old purchases at their new prices" in ended.out
    assert "How to get there" not in ended.out
    assert max(len(line) for line in ended.out.splitlines()) <= 80


def test_two_nights_with_a_thirty_percent_move_yield_one(
    nights: Nights, gpubroker: Gpubroker
) -> None:
    second = nights.plan("thirty percent", "2.99")
    sheet = second.parent / "sheet.csv"
    ended = gpubroker("diff", str(nights.first), str(second), "--sheet", str(sheet))
    assert ended.code == 0
    assert "no change: the new plan" not in ended.out
    order = [ended.out.index(f"  {word} ") for word in ("add", "wait", "drain", "remove")]
    assert order == sorted(order)
    assert max(len(line) for line in ended.out.splitlines()) <= 80


def test_json_has_lines_parts_and_steps_and_the_parts_add_up(
    nights: Nights, gpubroker: Gpubroker
) -> None:
    changes = (("peak: 2", "peak: 60"), ("tpot: {p95: 80 ms}", "tpot: {p95: 70 ms}"))
    second = nights.plan("more", "2.30", *changes)
    sheet = second.parent / "sheet.csv"
    arguments = ("diff", str(nights.first), str(second), "--sheet", str(sheet))
    told = json.loads(gpubroker(*arguments, "--format", "json").out, parse_float=Decimal)
    assert (told["schema"], told["verdict"]) == ("gpubroker.diff/1", "changed")
    assert sum(part["usd"] for part in told["parts"]) == told["change_usd"]
    assert [part["cause"] for part in told["parts"]] == ["price", "load", "catalog", "rules"]
    assert told["new_total_usd"] - told["old_total_usd"] == told["change_usd"]
    assert {step["action"] for step in told["steps"]} >= {"add"}

    unsolved = json.loads(gpubroker(*arguments, "--no-solve", "--format", "json").out)
    assert unsolved["parts"][-1]["cause"] == "load and rules together"


def test_csv_has_each_line_and_a_plan_does_not_differ_from_itself(
    nights: Nights, gpubroker: Gpubroker
) -> None:
    ended = gpubroker("diff", str(nights.first), str(nights.first), "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(ended.out)))
    assert [row["change"] for row in rows] == ["unchanged"]
    assert (rows[0]["old_usd"], rows[0]["change_usd"]) == ("55.2", "0.0")


def test_a_sheet_that_the_new_plan_was_not_made_from_is_refused(
    nights: Nights, gpubroker: Gpubroker, tmp_path: Path
) -> None:
    other = write_sheet(tmp_path)
    ended = gpubroker("diff", str(nights.first), str(nights.first), "--sheet", str(other))
    assert ended.code == 2
    assert "but NEW was made from" in ended.err
