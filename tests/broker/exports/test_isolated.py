"""What exports and reports make of nodes that are one workload's: it alone is on them.

Three services of a GPU each, of which one is isolated, on nodes of two.
"""

import pytest
import yaml
from solving import EXACT, assembled
from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.plan import Plan
from broker.exports import kubernetes
from broker.exports.buying import bought
from broker.exports.charges import charges
from broker.exports.forms import FORMS, export
from broker.exports.hcl import hcl_text
from broker.exports.launches import WORKLOAD_LABEL, short_name
from broker.exports.lines import lines
from broker.exports.terraform_clouds import CLOUDS
from broker.reports.plan_rows import buy_rows
from solver.milp.optimize import optimize

NAMES = ("chat", "embed", "rank")
CHAT = short_name("chat")
SHARED, ALONE = "acme/box/here@on_demand", "acme/box/here@on_demand#chat"


@pytest.fixture(scope="module")
def plan() -> Plan:
    box = offer("1", gpus=2)
    file = workloads(
        services=[service_entry(1, 1, name=name) for name in NAMES], policy={"isolated": ["chat"]}
    )
    of = case(file, [box], serving=[serving(box, [1], service=name) for name in NAMES])
    return assembled(of, optimize(of, EXACT))


def test_each_purchase_names_what_it_may_carry(plan: Plan) -> None:
    assert {one.purchase.id: one.workloads for one in bought(plan)} == {
        SHARED: ("embed", "rank"),
        ALONE: ("chat",),
    }
    assert {row.offer: row.workloads for row in buy_rows(plan)} == {
        SHARED: "embed, rank",
        ALONE: "chat",
    }


def test_replicas_are_on_the_nodes_of_their_tenant(plan: Plan) -> None:
    carried = {
        line.id: {share.assignment.service for share in line.serving} for line in lines(plan)
    }
    assert carried == {SHARED: {"embed", "rank"}, ALONE: {"chat"}}
    assert sum(one.effective_usd for one in charges(plan)) == plan.total_usd == 48


def test_pods_of_others_are_kept_off(plan: Plan) -> None:
    marks = {}
    for file in kubernetes.export(plan):
        deployment = next(yaml.safe_load_all(file.text))
        pod = deployment["spec"]["template"]["spec"]
        name = deployment["metadata"]["labels"][WORKLOAD_LABEL]
        marks[name] = [
            (one["value"], one["effect"])
            for one in pod["tolerations"]
            if one["key"] == "gpubroker-isolated"
        ]
    assert marks.pop(CHAT) == [(CHAT, "NoSchedule")]
    assert list(marks.values()) == [[], []]


@pytest.mark.parametrize(
    ("cloud", "taint"),
    [
        ("aws", f'taint {{\n    key    = "gpubroker-isolated"\n    value  = "{CHAT}"'),
        ("gcp", f'taint {{\n      key    = "gpubroker-isolated"\n      value  = "{CHAT}"'),
        ("azure", f'"gpubroker-isolated={CHAT}:NoSchedule"'),
    ],
)
def test_node_pools_of_one_workload_are_tainted(plan: Plan, cloud: str, taint: str) -> None:
    for line in lines(plan):
        text = hcl_text([CLOUDS[cloud].pool(line, 0)])
        assert (taint in text) == (line.id == ALONE)


@pytest.mark.parametrize("form", FORMS)
def test_every_export_writes_the_plan(plan: Plan, form: str) -> None:
    assert all(file.text for file in export(plan, form))
