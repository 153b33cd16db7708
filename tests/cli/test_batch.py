"""Batch jobs from a file and a sheet to a plan, and through every command that reads the plan."""

import csv
import json
from pathlib import Path

import pytest
import yaml
from command_line import Ended, Gpubroker, run_apart
from tiny_files import write, write_sheet

from broker.domain.plan import Plan

JOBS = """\
schema: gpubroker.workloads/1
horizon: {start: 2026-12-01, days: 2, slot: 6h}
batch:
  - name: embed
    model: mistral-7b
    tokens_per_day: 1.0e+9
    output_share: 0.1
    by: "06:00 UTC"
    data: {at: aws/us-east-1, size: 100 GB}
  - name: once
    model: mistral-7b
    tokens: 5.0e+8
    window: {earliest: 2026-12-01, deadline: 2026-12-02}
    output_share: 0
"""
SPOT = "aws,g6e.xlarge,L40S,1,eu-central-1,spot,1.10,USD,2026-11-20"
FIRM = "aws,g6e.xlarge,L40S,1,eu-central-1,on_demand,2.30,USD,2026-11-20"


class Made:
    """A plan file with what it was made from."""

    def __init__(self, folder: Path) -> None:
        self.workloads = write(folder / "workloads.yaml", JOBS)
        self.sheet = write_sheet(folder, FIRM, SPOT)
        self.file = folder / "plan.json"
        options = ("--sheet", str(self.sheet), "--out", str(self.file))
        self.ended: Ended = run_apart(folder / "data", "plan", str(self.workloads), *options)

    @property
    def plan(self) -> Plan:
        return Plan.model_validate_json(self.file.read_bytes())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("batch"))


def test_each_day_and_the_job_that_is_done_once_are_planned(made: Made) -> None:
    assert made.ended.code == 0
    assert {one.run for one in made.plan.training} == {
        "embed@2026-12-01",
        "embed@2026-12-02",
        "once",
    }
    assert all(one.tokens >= (5e8 if one.run == "once" else 1e9) for one in made.plan.training)


def test_the_report_shows_a_daily_job_once_with_its_days(made: Made) -> None:
    shown = " ".join(made.ended.out.split())
    assert "embed, once" in shown
    assert "over 2" in shown
    assert "tokens/s, 1 replica" in shown
    assert "embed@" not in shown


def test_its_data_is_charged_for_every_day(made: Made) -> None:
    egress = {one.subject: one.usd for one in made.plan.cost_lines if one.term == "egress"}
    assert set(egress) == {"embed@2026-12-01", "embed@2026-12-02"}
    assert len(set(egress.values())) == 1
    assert all(egress.values())


def test_the_plan_is_verified(made: Made, gpubroker: Gpubroker) -> None:
    options = ("--sheet", str(made.sheet))
    assert gpubroker("verify", str(made.file), str(made.workloads), *options).code == 0


@pytest.mark.long
def test_the_plan_is_explained_and_held_against_another(made: Made, gpubroker: Gpubroker) -> None:
    told = gpubroker("explain", str(made.file), "--sheet", str(made.sheet), "--time-limit", "20")
    assert "batch.embed.precisions: bf16 → bf16, fp8" in told.out
    assert "embed, once" in told.out
    more = ("--what-if", "deadline.embed=12:00", "--what-if", "batch.once.tokens=9e8")
    options = ("--sheet", str(made.sheet), *more, "--format", "json")
    asked = json.loads(gpubroker("plan", str(made.workloads), *options).out)
    assert asked["total_usd"] != asked["base_total_usd"]


@pytest.mark.parametrize("form", ["terraform", "focus", "csv", "html", "markdown"])
def test_every_form_takes_a_plan_with_a_batch_job(
    made: Made, gpubroker: Gpubroker, tmp_path: Path, form: str
) -> None:
    ended = gpubroker("export", str(made.file), "--to", form, "--out", str(tmp_path / form))
    assert ended.code == 0, ended.err


def test_focus_gives_the_job_and_not_its_days_as_the_workload(
    made: Made, gpubroker: Gpubroker, tmp_path: Path
) -> None:
    gpubroker("export", str(made.file), "--to", "focus", "--out", str(tmp_path))
    with (tmp_path / "focus-1.0.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    named = {json.loads(row["Tags"])["gpubroker-workload"] for row in rows}
    assert named <= {"embed", "once", "embed once"}
    sizes = {row["ConsumedQuantity"] for row in rows if row["ResourceType"] == "data set"}
    assert {float(one) for one in sizes} == {100.0}


@pytest.mark.parametrize(
    ("form", "suffix", "ranks"),
    [
        ("skypilot", ".yaml", 'NODE_RANK="$SKYPILOT_NODE_RANK" NODES="$SKYPILOT_NUM_NODES"'),
        ("dstack", ".dstack.yml", 'NODE_RANK="$DSTACK_NODE_RANK" NODES="$DSTACK_NODES_NUM"'),
    ],
)
def test_launch_files_start_the_users_script_on_every_node(
    made: Made, gpubroker: Gpubroker, tmp_path: Path, *, form: str, suffix: str, ranks: str
) -> None:
    gpubroker("export", str(made.file), "--to", form, "--out", str(tmp_path))
    (path,) = tmp_path.glob(f"embed-2026-12-01-*{suffix}")
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    nodes = next(one.candidate.nodes for one in made.plan.training if one.run.endswith("-01"))
    assert (data.get("num_nodes") or data["nodes"]) == nodes
    told = data.get("envs") or data["env"]
    assert (told["TOKENS"], told["BATCH_SCRIPT"]) == ("1000000000", "")
    script = data.get("run") or data["commands"][0]
    assert ranks in script
    assert '"$BATCH_SCRIPT" $BATCH_ARGS' in script


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("mistral-7b\n    tokens_per_day", "mistral-70\n    tokens_per_day", "batch[0].model"),
        ('by: "06:00 UTC"', "by: 18:00", "batch[0].by: 1080 is no time of day"),
        ('by: "06:00 UTC"', 'by: "01:00"', "has no whole slot of 6 h in it"),
        ("2026-12-01, deadline: 2026-12-02", "2026-11-01, deadline: 2026-11-02", "batch[1].window"),
        ("days: 2", "days: 1", 'after: "20:00"'),
        ("at: aws/us-east-1", "at: aws/us-east-one", "batch[0].data.at: unknown place"),
        ("output_share: 0\n", "output_share: 0\n    gpu_models: [L4000]\n", "batch[1].gpu_models"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_key_and_remedy(
    tmp_path: Path, gpubroker: Gpubroker, *, old: str, new: str, says: str
) -> None:
    text = JOBS.replace(old, new, 1)
    if says.startswith("after"):
        text = text.replace('by: "06:00 UTC"', 'by: "06:00 UTC"\n    after: "20:00"')
        says = "batch[0]: no window from 20:00 UTC to 06:00 UTC lies in the horizon"
    workloads, sheet = write(tmp_path / "w.yaml", text), write_sheet(tmp_path, FIRM)
    ended = gpubroker("plan", str(workloads), "--sheet", str(sheet))
    assert ended.code == 2
    assert says in " ".join(ended.err.split())
    assert "hint: " in ended.err


def test_days_that_the_horizon_cuts_are_named_in_the_plan(
    tmp_path: Path, gpubroker: Gpubroker
) -> None:
    text = JOBS.replace('by: "06:00 UTC"', 'by: "06:00 UTC"\n    after: "20:00"')
    workloads, sheet = write(tmp_path / "w.yaml", text), write_sheet(tmp_path, FIRM)
    ended = gpubroker("plan", str(workloads), "--sheet", str(sheet), "--format", "json")
    (told,) = (one for one in json.loads(ended.out)["warnings"] if "not planned" in one)
    assert "embed@2026-12-01, embed@2026-12-03" in told


def test_a_job_that_no_machine_does_in_time_is_named_with_its_reason(
    tmp_path: Path, gpubroker: Gpubroker
) -> None:
    text = JOBS.replace("output_share: 0.1", "output_share: 0.1\n    start_up: 7 h")
    workloads, sheet = write(tmp_path / "w.yaml", text), write_sheet(tmp_path, FIRM)
    ended = gpubroker("plan", str(workloads), "--sheet", str(sheet))
    assert ended.code == 4
    told = " ".join((ended.out + ended.err).split())
    assert "embed@2026-12-01 fits nowhere: window too short (1 offers)" in told
    assert "embed@2026-12-02 fits nowhere" not in told
