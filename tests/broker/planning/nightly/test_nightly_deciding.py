"""When a change is worth its churn: each rule by figures worked out by hand."""

from decimal import Decimal

import pytest

from broker.domain.policy import Churn
from broker.planning.nightly.deciding import Gain, Verdict, decide
from broker.planning.nightly.moves import Disturbed

CHURN = Churn()


def gain(before: str, saving: str, nodes: int = 1, of_nodes: int = 10) -> Gain:
    return Gain(Decimal(before), Decimal(saving), Disturbed(nodes, of_nodes))


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (gain("1000", "50.000000"), "usd_per_moved_node"),  # 50 saved, a node is worth 50
        (gain("10000", "199", of_nodes=100), "min_saving_fraction"),  # 1.99 % of the cost
        (gain("10000", "600", nodes=2, of_nodes=12), "min_saving_per_disturbance"),  # 6 % / 16.7 %
    ],
)
def test_each_rule_alone_keeps_the_plan_in_force_and_says_so(given: Gain, rule: str) -> None:
    decision = decide(given, (), CHURN)
    assert decision.verdict is Verdict.KEEP
    said, *against = decision.why
    assert said.startswith("it saves")
    assert [f"policy.churn.{rule}" in one for one in against] == [True]


def test_a_change_that_passes_every_rule_by_little_is_made() -> None:
    # 200.01 of 4,000 is 5.0003 %, for a tenth of the nodes 0.50003; a node is worth 50.
    decision = decide(gain("4000", "200.01"), (), CHURN)
    assert decision.verdict is Verdict.BETTER
    assert decision.why == (
        "it saves 200.01 USD of 4,000.00 from now on and disturbs 1 node, of 10 in force",
    )


def test_all_nodes_are_moved_for_half_the_cost_and_no_less() -> None:
    assert decide(gain("9000", "4499", 10), (), CHURN).verdict is Verdict.KEEP
    assert decide(gain("9000", "4500", 10), (), CHURN).verdict is Verdict.BETTER


def test_without_a_threshold_any_saving_is_taken_and_none_is_not() -> None:
    loose = Churn(
        usd_per_moved_node=Decimal(0), min_saving_fraction=0.0, min_saving_per_disturbance=0.0
    )
    assert decide(gain("9000", "0.01", 10), (), loose).verdict is Verdict.BETTER
    assert decide(gain("9000", "0", 10), (), loose).verdict is Verdict.KEEP
    assert decide(gain("9000", "-5", 10), (), loose).verdict is Verdict.KEEP


def test_where_nothing_would_be_moved_nothing_is_done() -> None:
    assert decide(gain("9000", "4000", nodes=0), (), CHURN).verdict is Verdict.KEEP


def test_the_first_plan_is_taken_whatever_it_costs() -> None:
    assert decide(None, (), CHURN).verdict is Verdict.FIRST


def test_a_plan_that_cannot_go_on_is_replaced_though_the_new_one_costs_more() -> None:
    reasons = [f"offer {number} is not offered any more" for number in range(5)]
    decision = decide(gain("100", "-900", 9), reasons, CHURN)
    assert decision.verdict is Verdict.NEEDED
    assert decision.why == ("the plan in force cannot go on", *reasons[:3], "and 2 more reasons")
