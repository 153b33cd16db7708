"""Batch jobs held against a plan: each change to the plan of two days breaks a rule by name."""

from datetime import timedelta

import pytest
from batch_cases import batch, daily
from solving import assembled, solved
from tiny_cases import case, offer

from broker.domain.case import Case
from broker.domain.plan import Plan, TrainingAssignment
from broker.verification.check import check

HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def of() -> Case:
    """Two days with 8 h of work each before 16:00, on a node with 2 GPUs."""
    box = offer("2", name="box", gpus=2)
    file = daily(2, tokens_per_day=8 * 3600.0, by="16:00 UTC")
    return case(file, [box], training=[batch(box, run=one.name) for one in file.runs])


@pytest.fixture(scope="module")
def plan(of: Case) -> Plan:
    return assembled(of, solved(of))


def broken(plan: Plan, of: Case, *, second: TrainingAssignment | None) -> set[str]:
    """Name the rules that a plan with another second day breaks."""
    days = (plan.training[0], *([second] if second else []))
    return {one.rule for one in check(plan.model_copy(update={"training": days}), of)}


def moved(one: TrainingAssignment, by: timedelta) -> TrainingAssignment:
    steps = tuple(
        step.model_copy(update={"from_at": step.from_at + by, "to_at": step.to_at + by})
        for step in one.steps
    )
    return one.model_copy(update={"steps": steps})


def test_the_plan_is_accepted(plan: Plan, of: Case) -> None:
    assert check(plan, of) == ()


def test_a_day_that_is_left_out_is_missed(plan: Plan, of: Case) -> None:
    found = check(plan.model_copy(update={"training": plan.training[:1]}), of)
    assert {one.rule for one in found} == {"runs", "batch_days", "unused_nodes"}
    (day,) = (one for one in found if one.rule == "batch_days")
    message = "0 of 28800 tokens are processed from 2026-12-02 00:00 to 2026-12-02 16:00"
    assert (day.subject, day.message) == ("embed", message)


def test_a_day_that_is_done_on_another_day_is_refused(plan: Plan, of: Case) -> None:
    late = moved(plan.training[1], 16 * HOUR)
    assert {"windows", "batch_days"} <= broken(plan, of, second=late)


def test_a_shorter_piece_of_work_is_not_enough(plan: Plan, of: Case) -> None:
    last = plan.training[1]
    step = last.steps[0].model_copy(update={"to_at": last.steps[0].to_at - HOUR})
    short = last.model_copy(update={"steps": (step,)})
    assert {"tokens", "batch_days"} <= broken(plan, of, second=short)


def test_a_faster_rate_than_the_option_has_is_refused(plan: Plan, of: Case) -> None:
    last = plan.training[1]
    faster = last.candidate.model_copy(update={"tokens_per_s": 2.0})
    assert "training_options" in broken(
        plan, of, second=last.model_copy(update={"candidate": faster})
    )


def test_more_replicas_than_a_node_holds_are_refused(plan: Plan, of: Case) -> None:
    last = plan.training[1]
    crowded = last.candidate.model_copy(update={"replicas": 3})
    found = broken(plan, of, second=last.model_copy(update={"candidate": crowded}))
    assert {"batch_replicas", "training_options"} <= found


def test_spot_nodes_are_refused_for_a_job_that_cannot_be_restarted(plan: Plan, of: Case) -> None:
    data = of.workloads.model_dump(by_alias=True)
    data["batch"][0]["restartable"] = False
    file = type(of.workloads).model_validate(data, strict=False)
    firm = plan.model_copy(update={"workloads": file})
    last = plan.training[1].model_copy(update={"on_spot": True})
    changed = case(file, list(of.offers), training=list(of.training))
    assert check(firm, changed) == ()
    assert "interruptions" in broken(firm, changed, second=last)
