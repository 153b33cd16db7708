import csv
import io
import json
from decimal import Decimal
from pathlib import Path

import pytest
from command_line import Ended, Gpubroker, run_apart
from tiny_files import HEADER, write_sheet, write_workloads

from broker.domain.plan import Plan, Status

SPOT = (
    "aws,g6e.xlarge,L40S,1,eu-central-1,on_demand,2.30,USD,2026-11-20",
    "aws,g6e.xlarge,L40S,1,eu-central-1,spot,0.90,USD,2026-11-20",
    "gcp,a2-highgpu-1g,A100-40GB,1,europe-west4,on_demand,3.40,USD,2026-11-20",
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Give workloads of which half may be on spot, a sheet, and where the plan is written."""
    folder = tmp_path_factory.mktemp("compared")
    change = ("users:", "spot: {max_share: 1}\n    users:")
    workloads = write_workloads(folder, change)
    return workloads, write_sheet(folder, *SPOT, header=HEADER), folder / "plan.json"


@pytest.fixture(scope="module")
def compared(files: tuple[Path, Path, Path]) -> Ended:
    """Compare once, as a table, and write the plan."""
    workloads, sheet, out = files
    options = ("--sheet", str(sheet), "--out", str(out), "--gap", "0")
    return run_apart(out.parent / "data", "compare", str(workloads), *options)


def test_the_table_has_every_strategy_with_what_the_joint_plan_saves(compared: Ended) -> None:
    lines = compared.out.splitlines()
    assert compared.code == 0
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("Strategies  2026-12-01 to 2026-12-02, 1 workload, catalog ")
    table, chart = lines[2 : lines.index("")], compared.out.partition("Cost in USD: ")[2]
    (rented,) = [line for line in lines if line.startswith("on demand only  ")][:1]
    # A day on demand is 24 × 2.30 = 55.20, on spot 24 × 0.90 = 21.60: 33.60 less, or 60.8 %, as the
    # weights, 14.5 GB, are kept for 0.16 USD a GB and month either way: 0.076 for the day.
    assert rented.split()[3:] == ["55.28", "55.28", "33.60", "60.8%", "33.60"]
    for name in ("joint plan", "no commitments", "no spot", "no sharing of nodes"):
        assert any(line.startswith(name) for line in lines), (name, table)
    assert "best single provider: aws" in chart
    assert "█" in chart
    assert "░" in chart
    assert "There is no inventory in the workloads file, so none is kept." in compared.out


def test_the_steps_tell_which_freedom_saves_how_much(compared: Ended) -> None:
    steps = compared.out.partition("where the saving comes from")[2]
    (spot,) = [line.split() for line in steps.splitlines() if line.startswith("  + spot")]
    assert spot == ["+", "spot", "21.68", "33.60", "33.60"]


def test_the_plan_that_is_written_has_every_comparison_and_is_accepted(
    compared: Ended, files: tuple[Path, Path, Path], gpubroker: Gpubroker
) -> None:
    workloads, sheet, out = files
    assert compared.err == f"plan written to {out}\n"
    plan = Plan.model_validate_json(out.read_bytes())
    assert plan.status is Status.OPTIMAL
    assert plan.total_usd == Decimal("21.676169")
    assert {one.strategy: one.total_usd for one in plan.comparisons} == {
        "on demand only": Decimal("55.276169"),
        "no commitments": Decimal("21.676169"),
        "no spot": Decimal("55.276169"),
        "no sharing of nodes": Decimal("21.676169"),
        "best single provider: aws": Decimal("21.676169"),
        "one GPU model for all: L40S": Decimal("21.676169"),
        "one NVIDIA generation for all: Ada": Decimal("21.676169"),
    }
    ended = gpubroker("verify", str(out), str(workloads), "--sheet", str(sheet))
    assert (ended.code, ended.out[:9]) == (0, "accepted:")


def test_machines_get_the_same_figures(
    files: tuple[Path, Path, Path], gpubroker: Gpubroker
) -> None:
    workloads, sheet, _ = files
    arguments = ("compare", str(workloads), "--sheet", str(sheet), "--gap", "0", "--format")
    told = json.loads(gpubroker(*arguments, "json").out)
    assert told["schema"] == "gpubroker.comparison/1"
    joint, rented, *_ = told["strategies"]
    assert (joint["strategy"], joint["total_usd"], joint["saving_usd"]) == (
        "joint plan",
        21.676169,
        None,
    )
    assert (rented["strategy"], rented["saving_usd"]) == ("on demand only", 33.6)
    assert told["steps"][0] == {
        "step": "",
        "strategy": "on demand only",
        "total_usd": 55.276169,
        "saving_usd": None,
        "proven_saving_usd": None,
    }
    rows = list(csv.DictReader(io.StringIO(gpubroker(*arguments, "csv").out)))
    assert [row["strategy"] for row in rows] == [one["strategy"] for one in told["strategies"]]


def test_without_a_plan_there_is_nothing_to_compare(gpubroker: Gpubroker, tmp_path: Path) -> None:
    workloads = write_workloads(tmp_path, ("{p95: 80 ms}", "{p95: 1 ms}"))
    ended = gpubroker("compare", str(workloads), "--sheet", str(write_sheet(tmp_path)))
    assert ended.code == 4
    assert "There is no plan." in ended.out
    assert "chat cannot serve eu-central" in ended.err
