"""A commitment that outlives the horizon is for what services keep up for its break-even share.

The two p5 nodes of the year break even at 0.5466: 69.96 of the 128 slots.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from broker.domain.case import Case, OwnedNodes
from broker.domain.plan import Plan
from broker.verification.check import Violation, check

Alter = Callable[[Mapping[str, object]], Plan]

P5 = "aws/p5.48xlarge/us-east-1"


@pytest.mark.parametrize(
    ("busy_until", "refused"), [("2026-12-18T12:00", False), ("2026-12-18T06:00", True)]
)
def test_the_last_node_is_needed_for_its_break_even_share_of_the_slots(
    altered: Alter, case: Case, busy_until: str, *, refused: bool
) -> None:
    # 70 and 69 slots with 8 replicas of 2 GPUs, two nodes; then 4 of them, one node.
    plan = altered({"serving.0.steps": _steps(busy_until, 5, 1)})
    assert bool(_outliving(plan, case)) is refused


def test_a_node_that_is_used_in_part_is_needed_whole(altered: Alter, case: Case) -> None:
    # 5 replicas of 2 GPUs are a node and a quarter of one.
    plan = altered({"serving.0.steps": _steps("2026-12-02", 2, 2)})
    assert _outliving(plan, case) == []


def test_a_well_used_node_does_not_pay_for_an_idle_one(altered: Alter, case: Case) -> None:
    # The first node is used always, and two nodes for 0.55 of the time are less than 1.09.
    plan = altered({"serving.0.steps": _steps("2026-12-02", 5, 1)})
    kept = "services keep 8 GPUs of such nodes up for 0.5466 of the time"
    message = f"{kept}, where 2 committed nodes break even, 0 owned ones used first"
    assert _outliving(plan, case) == [Violation("outliving_commitments", "p5-year", message)]


@pytest.mark.parametrize(
    ("swap_at", "refused"), [("2026-12-18T12:00", False), ("2026-12-17", True)]
)
def test_what_one_group_keeps_up_does_not_stand_in_for_another(
    altered: Alter, case: Case, swap_at: str, *, refused: bool
) -> None:
    # 6 replicas of 2 GPUs all the time, which are two nodes: 5 of one group and 1 of the other,
    # then 1 and 5. In 70 slots the first keeps 5, in 64 each keeps 1, and that is one node.
    changes = {
        "serving.0.steps": _steps(swap_at, 5, 1),
        "serving.1.steps": _steps(swap_at, 1, 5),
    }
    assert bool(_outliving(altered(changes), case)) is refused


def test_a_run_does_not_justify_a_commitment_beyond_the_horizon(plan: Plan, case: Case) -> None:
    only_training = plan.model_copy(update={"serving": plan.serving[3:]})
    assert [one.subject for one in _outliving(only_training, case)] == ["p5-year"]


def test_owned_nodes_are_used_before_committed_ones(plan: Plan, case: Case) -> None:
    owning = replace(case, owned=(*case.owned, OwnedNodes(P5, 1, None)))
    assert [one.subject for one in _outliving(plan, owning)] == ["p5-year"]


def _steps(until: str, before: int, after: int) -> list[dict[str, object]]:
    routed = {"requests_per_s": [9.0, 3.0]}
    return [
        routed | {"from_at": "2026-12-01", "to_at": until, "replicas": before},
        routed | {"from_at": until, "to_at": "2027-01-02", "replicas": after},
    ]


def _outliving(plan: Plan, case: Case) -> list[Violation]:
    return [one for one in check(plan, case) if one.rule == "outliving_commitments"]
