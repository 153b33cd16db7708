"""Under `sharing: split`, no committed node both serves and trains, not even at different times."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from broker.domain.case import Case, OwnedNodes
from broker.domain.plan import Plan
from broker.verification.check import check

Under = Callable[[Mapping[str, object]], tuple[Plan, Case]]

SPLIT = {"policy.sharing": "split"}
P5, LAB = "aws/p5.48xlarge/us-east-1", "lab/h100x8/fra1"


def test_nodes_that_serve_and_others_that_train_may_be_kept_apart(under: Under) -> None:
    # chat takes the 2 committed p5 nodes throughout, tune takes rented ones.
    assert check(*under(SPLIT)) == ()


def test_a_committed_node_may_be_kept_for_training_alone(under: Under) -> None:
    # Of 3 committed nodes chat takes 2 throughout; tune takes the other and 1 that is rented.
    plan, case = under(SPLIT)
    assert _capacity_rules(_committed_more(plan), case) == []


def test_a_node_that_serves_after_it_trained_is_refused(under: Under) -> None:
    plan, case = under(SPLIT)
    busier = _with_replicas(_committed_more(plan), "2026-12-20")
    assert _capacity_rules(busier, case) == [
        ("split", f"{P5}: {_apart(serving=3, training=0, at='2026-12-20', rented=0)}")
    ]


def test_a_node_that_trains_after_it_served_is_refused(under: Under) -> None:
    plan, case = under(SPLIT)
    busier = _with_replicas(_committed_more(plan), None, until="2026-12-03")
    assert _capacity_rules(busier, case) == [
        ("split", f"{P5}: {_apart(serving=2, training=2, at='2026-12-04', rented=1)}")
    ]


@pytest.mark.parametrize("busy", [("2026-12-20", None), (None, "2026-12-03")])
def test_converged_nodes_may_serve_and_train_in_turn(
    under: Under, busy: tuple[str | None, str | None]
) -> None:
    plan, case = under({})
    busier = _with_replicas(_committed_more(plan), busy[0], until=busy[1])
    assert _capacity_rules(busier, case) == []


def test_a_side_keeps_no_node_whose_holding_has_ended(under: Under) -> None:
    plan, case = under(SPLIT)
    # distill trains on the owned node, embed serves on the contract; without the owned node the
    # plan has nothing to take, and the node of the contract cannot do both.
    bare = replace(case, owned=(OwnedNodes(LAB, 1, case.workloads.horizon.start),))
    assert {"owned_nodes", "split"} == {one.rule for one in check(plan, bare)}


def _capacity_rules(plan: Plan, case: Case) -> list[tuple[str, str]]:
    return [
        (one.rule, f"{one.subject}: {one.message}")
        for one in check(plan, case)
        if one.rule in ("capacity", "split")
    ]


def _apart(serving: int, training: int, at: str, rented: int) -> str:
    found = f"serving takes {serving} nodes, training {training} at {at} 00:00"
    return f"{found}; 3 committed or owned and {rented} rented cannot be kept apart"


def _committed_more(plan: Plan) -> Plan:
    """Commit to 3 p5 nodes and rent 1 for tune, at whatever cost."""
    year, rented, *others = plan.purchases
    three = tuple(step.model_copy(update={"nodes": 3}) for step in year.steps)
    one = tuple(step.model_copy(update={"nodes": 1}) for step in rented.steps)
    changed = (year.model_copy(update={"steps": three}), rented.model_copy(update={"steps": one}))
    return plan.model_copy(update={"purchases": (*changed, *others)})


def _with_replicas(plan: Plan, since: str | None, *, until: str | None = None) -> Plan:
    """Let chat take all 3 p5 nodes for a while: 9 replicas of 2 GPUs beside 3 others are 24."""
    root = plan.model_dump(mode="json", by_alias=True)
    (step,) = root["serving"][0]["steps"]
    parts = [(step["from_at"], until, 9)] if until else []
    parts.append((until or step["from_at"], since or step["to_at"], 5))
    parts.extend([(since, step["to_at"], 9)] if since else [])
    root["serving"][0]["steps"] = [
        step | {"from_at": start, "to_at": end, "replicas": count} for start, end, count in parts
    ]
    return Plan.model_validate(root, strict=False)
