"""A plan over scenarios, from a file to what people and machines read."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from command_line import Ended, run_apart
from tiny_files import write_sheet, write_workloads

from broker.domain.plan import Plan
from broker.planning.workloads_file import workloads_sha256

AWS = "aws/g6e.xlarge/eu-central-1@on_demand"
GCP = "gcp/a2-highgpu-1g/europe-west4@on_demand"
ROBUST = """\
policy:
  robust:
    measure: cvar
    alpha: 0.8
    weight: 0.5
    scenarios:
      - {name: growth, probability: 0.3, load: {all: 4}, prices: {on_demand: 1.5}}
"""


def files(folder: Path, more: str = ROBUST) -> tuple[str, ...]:
    return (str(write_workloads(folder, more=more)), "--sheet", str(write_sheet(folder)))


def planned(folder: Path, *more: str, policy: str = ROBUST) -> Ended:
    given = ("plan", *files(folder, policy), "--out", str(folder / "plan.json"), *more)
    return run_apart(folder / "data", *given)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scenarios")


@pytest.fixture(scope="module")
def table(folder: Path) -> Ended:
    return planned(folder)


@pytest.fixture(scope="module")
def plan(folder: Path, table: Ended) -> Plan:
    assert table.code == 0, table.err
    return Plan.model_validate_json((folder / "plan.json").read_bytes())


def test_the_page_tells_the_cost_in_each_scenario(table: Ended, plan: Plan) -> None:
    lines = table.out.splitlines()
    assert max(map(len, lines)) <= 80
    told = plan.scenarios
    assert told is not None
    for label, usd in (
        ("Total", plan.total_usd),
        ("Mean of scenarios", told.mean_usd),
        ("Mean of the worst", told.cvar_usd),
        ("Both, weighed", told.objective_usd),
        ("Bound", plan.bound_usd),
    ):
        (line,) = [line for line in lines if line.startswith(label)]
        assert f"{usd:,.2f}" in line
    for one in told.scenarios:
        (line,) = [line for line in lines if line.startswith(one.name)]
        assert f"{one.probability:.0%}" in line
        assert f"{one.total_usd:,.2f}" in line


def test_the_plan_is_proven_for_what_is_minimized(plan: Plan) -> None:
    assert plan.total_usd < plan.bound_usd <= plan.objective_usd
    assert plan.gap_fraction <= plan.settings.gap_fraction
    (single,) = plan.comparisons
    assert single.total_usd is not None
    assert single.total_usd >= plan.objective_usd


@pytest.mark.usefixtures("plan")
def test_the_plan_is_accepted_and_a_cheaper_scenario_is_not(folder: Path) -> None:
    given = (str(folder / "plan.json"), *files(folder))
    assert run_apart(folder / "data", "verify", *given).code == 0
    root = json.loads((folder / "plan.json").read_bytes())
    root["scenarios"]["scenarios"][1]["total_usd"] = "1"
    (folder / "false.json").write_text(json.dumps(root), encoding="utf-8")
    refused = run_apart(folder / "data", "verify", str(folder / "false.json"), *given[1:])
    assert refused.code != 0
    assert "in scenario 'growth'" in refused.out + refused.err


def test_markdown_has_the_scenarios(folder: Path, plan: Plan) -> None:
    out = folder / "plan.md"
    given = ("export", str(folder / "plan.json"), "--to", "markdown", "--out", str(out))
    ended = run_apart(folder / "data", *given)
    assert ended.code == 0, ended.err
    text = next(one for one in (out, *out.glob("*.md")) if one.is_file()).read_text("utf-8")
    assert "## What it costs in each scenario" in text
    assert plan.scenarios is not None
    assert f"{plan.scenarios.scenarios[1].total_usd:,.2f}" in text


def test_what_rules_cost_is_told(folder: Path, plan: Plan) -> None:
    given = (str(folder / "plan.json"), "--sheet", str(folder / "sheet.csv"))
    told = run_apart(folder / "data", "explain", *given, "--format", "json")
    assert told.code == 0, told.err
    assert json.loads(told.out)["total_usd"] == str(plan.objective_usd)


def test_an_offer_is_asked_about_over_all_scenarios(folder: Path, plan: Plan) -> None:
    assert plan.scenarios is not None
    bought = {one.offer for course in plan.scenarios.scenarios for one in course.purchases}
    (other,) = {AWS, GCP} - bought - {one.offer for one in plan.purchases}
    given = (str(folder / "plan.json"), "--sheet", str(folder / "sheet.csv"))
    ended = run_apart(folder / "data", "explain", *given, "--why-not", other, "--format", "json")
    assert ended.code == 0, ended.err
    told = json.loads(ended.out)["why_not"]
    assert told["verdict"] == "dearer"
    assert Decimal(told["instead"]["total_usd"]) > plan.objective_usd
    assert other in told["instead"]["buys"]
    assert Decimal(told["entry"]["least_usd_per_hour"]) < Decimal(told["entry"]["now_usd_per_hour"])


def test_too_much_of_a_scenario_leaves_no_plan(tmp_path: Path) -> None:
    budget = ROBUST.replace("policy:\n", "policy:\n  budget_usd_per_month: 2500\n")
    ended = planned(tmp_path, policy=budget)
    assert ended.code == 4
    only = planned(tmp_path, policy="policy:\n  budget_usd_per_month: 2500\n")
    assert only.code == 0


def test_a_plan_without_scenarios_says_nothing_of_them(tmp_path: Path) -> None:
    assert planned(tmp_path, policy="").code == 0
    text = (tmp_path / "plan.json").read_text(encoding="utf-8")
    assert '"scenarios"' not in text
    assert '"robust"' not in text
    plan = Plan.model_validate_json(text)
    assert plan.workloads_sha256 == workloads_sha256(plan.workloads)
