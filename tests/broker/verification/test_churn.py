"""Churn held against the plan that all tests start from, at 50 USD for each moved node."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from broker.domain.case import Case
from broker.domain.in_force import lines_in_force, weighed_against_plan
from broker.domain.plan import CostLine, LineInForce, Plan, Term
from broker.verification.check import check

Under = Callable[[Mapping[str, object]], tuple[Plan, Case]]
MOST = {"p5-year": 2, "p5": 2, "p5-spot": 3, "lab-month": 1, "lab": 1}
"""The most nodes at one time of each line that is not owned."""


def _held(nodes: Mapping[str, int]) -> tuple[LineInForce, ...]:
    return tuple(LineInForce(line=line, nodes=count) for line, count in sorted(nodes.items()))


@pytest.fixture
def asking(under: Under) -> tuple[Plan, Case]:
    return under({"policy.churn.in_plan": True})


def _charged(plan: Plan, moved: Mapping[str, int]) -> Plan:
    lines = [
        CostLine(term=Term.CHURN, subject=line, usd=Decimal(50 * count))
        for line, count in moved.items()
    ]
    total = plan.total_usd + sum((one.usd for one in lines), Decimal(0))
    return plan.model_copy(
        update={
            "cost_lines": (*plan.cost_lines, *lines),
            "total_usd": total,
            "gap_fraction": float((total - plan.bound_usd) / total),
        }
    )


def test_the_lines_of_a_plan_are_its_peaks_and_owned_nodes_are_none(plan: Plan) -> None:
    assert lines_in_force(plan, plan.workloads.horizon) == _held(MOST)


def test_only_what_lies_in_the_horizon_is_in_force(plan: Plan) -> None:
    """From Christmas on, spot has one node, and of the rented ones there are only those of lab."""
    horizon = plan.workloads.horizon
    later = horizon.model_copy(update={"start": datetime(2026, 12, 25, tzinfo=UTC)})
    assert lines_in_force(plan, later) == _held(
        {"p5-year": 2, "p5-spot": 1, "lab-month": 1, "lab": 1}
    )
    after = horizon.model_copy(update={"start": horizon.end})
    assert lines_in_force(plan, after) is None
    before = horizon.model_copy(update={"start": datetime(2026, 1, 1, tzinfo=UTC)})
    assert lines_in_force(plan, before) is None


def test_a_policy_that_does_not_ask_weighs_nothing(plan: Plan, case: Case) -> None:
    assert weighed_against_plan(case, plan).in_force is None


def test_a_plan_without_purchases_is_not_in_force(plan: Plan) -> None:
    empty = plan.model_copy(update={"purchases": ()})
    assert lines_in_force(empty, plan.workloads.horizon) is None


def test_a_plan_beside_itself_moves_nothing(asking: tuple[Plan, Case]) -> None:
    plan, case = asking
    beside = weighed_against_plan(case, plan)
    again = plan.model_copy(update={"in_force": beside.in_force})
    assert again.in_force == _held(MOST)
    assert check(again, beside) == check(again, case) == ()


def test_each_node_more_is_due(asking: tuple[Plan, Case]) -> None:
    """Of spot one node is in force and two are moved; of the year's one; lab's are not missed."""
    plan, case = asking
    held = {"p5-year": 1, "p5": 2, "p5-spot": 1, "lab-month": 1, "lab": 9, "gone": 4}
    bare = plan.model_copy(update={"in_force": _held(held)})
    found = check(bare, case)
    assert {one.rule for one in found} == {"cost_lines"}
    assert [(one.subject, one.message.rpartition(" ")[2]) for one in found] == [
        ("p5-spot", "100.000000"),
        ("p5-year", "50.000000"),
    ]
    assert check(_charged(bare, {"p5-spot": 2, "p5-year": 1}), case) == ()


def test_a_line_that_is_not_due_is_refused(asking: tuple[Plan, Case]) -> None:
    plan, case = asking
    for held in (None, _held(MOST)):
        stated = _charged(plan, {"p5": 1}).model_copy(update={"in_force": held})
        (found,) = check(stated, case)
        assert (found.rule, found.subject) == ("cost_lines", "p5")


def test_what_is_moved_is_not_paid_from_a_budget(under: Under, plan: Plan) -> None:
    a_month = float(plan.total_usd) / plan.workloads.horizon.hours * 730 + 1
    asks = {"policy.churn.in_plan": True, "policy.budget_usd_per_month": a_month}
    asks["policy.budgets"] = [{"usd": float(plan.total_usd)}]
    given, case = under(asks)
    counted = _charged(given.model_copy(update={"in_force": ()}), MOST)
    assert counted.billed_usd == plan.total_usd
    assert check(counted, case) == ()


def test_nodes_in_force_are_stated_only_where_the_policy_asks(plan: Plan, case: Case) -> None:
    stated = plan.model_copy(update={"in_force": _held(MOST)})
    (found,) = check(stated, case)
    assert (found.rule, found.subject) == ("in_force", "in_force")


def test_a_line_is_in_force_once(asking: tuple[Plan, Case]) -> None:
    plan, case = asking
    twice = plan.model_copy(update={"in_force": (*_held(MOST), *_held({"p5": 2}))})
    assert [(one.rule, one.subject) for one in check(twice, case)] == [("in_force", "p5")]


@pytest.mark.parametrize("number", range(len(MOST)))
@pytest.mark.parametrize("change", [{"nodes": 9}, {"line": "other"}], ids=str)
def test_nodes_in_force_are_those_of_the_plan_that_is(
    asking: tuple[Plan, Case], number: int, change: dict[str, object]
) -> None:
    plan, case = asking
    beside = weighed_against_plan(case, plan)
    held = list(_held(MOST))
    held[number] = held[number].model_copy(update=change)
    other = plan.model_copy(update={"in_force": tuple(held)})
    assert "in_force" in {one.rule for one in check(other, beside)}
    assert "in_force" in {one.rule for one in check(plan, beside)}


def test_any_figure_of_a_line_is_checked(asking: tuple[Plan, Case]) -> None:
    plan, case = asking
    beside = replace(case, in_force=_held({**MOST, "p5": 1}))
    right = _charged(plan.model_copy(update={"in_force": beside.in_force}), {"p5": 1})
    assert check(right, beside) == ()
    for step in ("0.000001", "-0.000001"):
        lines = [
            one.model_copy(update={"usd": one.usd + Decimal(step)})
            if one.term is Term.CHURN
            else one
            for one in right.cost_lines
        ]
        wrong = right.model_copy(update={"cost_lines": tuple(lines)})
        assert {"cost_lines", "total"} <= {one.rule for one in check(wrong, beside)}


def test_a_plan_says_nothing_of_it_where_nothing_is_weighed(plan: Plan) -> None:
    text = plan.model_dump_json(by_alias=True)
    assert "in_force" not in json.loads(text)
    assert "in_plan" not in json.loads(text)["workloads"]["policy"]["churn"]
    assert Plan.model_validate_json(text) == plan
