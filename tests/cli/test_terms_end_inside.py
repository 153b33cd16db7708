"""A term that ends in the horizon is paid for to its last hour, even inside a slot."""

from pathlib import Path

import pytest
from command_line import Gpubroker
from tiny_files import write_sheet, write_workloads

from broker.domain.plan import Plan, Term

HEADER = (
    "provider,instance_type,gpu_name,gpu_count,region,price_kind,price,currency,observed_on,"
    "term_months,payment,upfront"
)
ROWS = (
    "aws,g6e.xlarge,L40S,1,eu-central-1,on_demand,5,USD,2026-11-20,,,",
    "aws,g6e.xlarge,L40S,1,eu-central-1,reserved,1,USD,2026-11-20,1,partial_upfront,73",
)
BUDGET = "policy: {budgets: [{usd_per_calendar_month: %s}]}\nservices:"


def arguments(tmp_path: Path, *changes: tuple[str, str]) -> tuple[str, ...]:
    days = ("days: 1, slot: 6h", "days: 33, slot: 1d")
    workloads = write_workloads(tmp_path, days, *changes)
    sheet = write_sheet(tmp_path, *ROWS, header=HEADER)
    out = tmp_path / "plan.json"
    return ("plan", str(workloads), "--sheet", str(sheet), "--out", str(out), "--gap", "0")


def test_all_hours_of_the_term_are_in_the_total(tmp_path: Path, gpubroker: Gpubroker) -> None:
    ended = gpubroker(*arguments(tmp_path))
    assert ended.code == 0, ended.err
    plan = Plan.model_validate_json((tmp_path / "plan.json").read_bytes())
    (reserved,) = [one for one in plan.purchases if one.price_kind == "reserved"]
    (step,) = reserved.steps
    assert f"{step.to_at:%m-%d %H:%M}" == "12-31 10:00"
    # A month has 730 hours, of which the last 10 are in a slot that has none of the nodes.
    assert reserved.node_hours == 730 * step.nodes
    assert reserved.usd == (730 * 1 + 73) * step.nodes
    assert reserved.later_usd == 0
    assert not [one for one in plan.warnings if "after the horizon" in one]
    rented = sum(one.usd for one in plan.cost_lines if one.term is Term.ON_DEMAND)
    assert rented == 3 * 24 * 5 * step.nodes


@pytest.mark.parametrize(
    ("gpus", "bought"), [(2, {"on_demand", "reserved"}), (1, {"on_demand"})], ids=["two", "one"]
)
def test_its_nodes_count_for_a_quota_to_their_last_hour(
    gpus: int, bought: set[str], tmp_path: Path, gpubroker: Gpubroker
) -> None:
    # On the 31st the reserved node is had until 10:00, and another one is rented from 00:00 on.
    quota = f"quotas: [{{provider: aws, gpus: {gpus}}}]\nservices:"
    ended = gpubroker(*arguments(tmp_path, ("services:", quota)))
    assert ended.code == 0, ended.err
    plan = Plan.model_validate_json((tmp_path / "plan.json").read_bytes())
    assert {str(one.price_kind) for one in plan.purchases} == bought


@pytest.mark.parametrize(("usd", "code"), [(928, 0), (922, 4)])
def test_its_last_hours_fall_due_in_their_month(
    usd: int, code: int, tmp_path: Path, gpubroker: Gpubroker
) -> None:
    # 73 upfront and 730 hours at 1 USD, and a day at 5 USD an hour are 923 USD,
    # and the weights that are kept take two more.
    ended = gpubroker(*arguments(tmp_path, ("services:", BUDGET % usd)))
    assert ended.code == code, ended.err
