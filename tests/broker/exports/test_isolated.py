"""What exports and reports make of nodes that are one workload's: it alone is on them.

Three services of a GPU each, of which one is isolated, on nodes of two.
"""

import pytest
from solving import EXACT, assembled
from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.plan import Plan
from broker.exports.buying import bought
from broker.exports.charges import charges
from broker.exports.forms import FORMS, export
from broker.exports.lines import lines
from broker.reports.plan_rows import buy_rows
from solver.milp.optimize import optimize

NAMES = ("chat", "embed", "rank")
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


@pytest.mark.parametrize("form", FORMS)
def test_every_export_writes_the_plan(plan: Plan, form: str) -> None:
    assert all(file.text for file in export(plan, form))
