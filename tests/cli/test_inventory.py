"""What is owned where the policy lets nothing stand is left unused, and the plan says why."""

from pathlib import Path

import pytest
from command_line import Gpubroker
from tiny_files import write_sheet, write_workloads

from broker.domain.plan import Plan, Status

OWNED = "aws/g6e.xlarge/eu-central-1"
INVENTORY = f"inventory:\n  - {{offer: {OWNED}, nodes: 4}}\n"


def planned(tmp_path: Path, gpubroker: Gpubroker, policy: str = "") -> Plan:
    workloads = write_workloads(tmp_path, more=INVENTORY + policy)
    out = tmp_path / "plan.json"
    ended = gpubroker(
        "plan", str(workloads), "--sheet", str(write_sheet(tmp_path)), "--out", str(out)
    )
    assert ended.code == 0, ended.err
    return Plan.model_validate_json(out.read_bytes())


def test_owned_nodes_are_used_where_they_may_stand(tmp_path: Path, gpubroker: Gpubroker) -> None:
    plan = planned(tmp_path, gpubroker)
    assert {one.price_kind for one in plan.purchases} == {"owned"}
    assert not [one for one in plan.warnings if "is not used" in one]


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ("policy: {regions: {deny: [de]}}\n", "region not allowed"),
        ("policy: {providers: {deny: [aws]}}\n", "provider not allowed"),
    ],
)
def test_owned_nodes_that_the_policy_forbids_are_not_used(
    policy: str, reason: str, tmp_path: Path, gpubroker: Gpubroker
) -> None:
    plan = planned(tmp_path, gpubroker, policy)
    assert plan.status is Status.OPTIMAL
    assert {one.offer.partition("/")[0] for one in plan.purchases} == {"gcp"}
    assert f"inventory: what is owned of {OWNED} is not used: {reason}" in plan.warnings
