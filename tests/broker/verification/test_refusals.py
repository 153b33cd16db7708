"""Each rule refuses a plan in which one thing is changed, and says so under its own name."""

from collections.abc import Callable, Mapping

import pytest

from broker.domain.case import Case
from broker.domain.plan import Plan
from broker.verification.check import check

Alter = Callable[[Mapping[str, object]], Plan]

FIRST_DAY = {"from_at": "2026-12-01", "to_at": "2026-12-02"}
REST = {"from_at": "2026-12-02", "to_at": "2027-01-02"}

Change = tuple[str, str, Mapping[str, object]]
"""The rule that must refuse, what it must name, and what is changed in the plan."""

CHANGES: list[Change] = [
    ("purchases", "p5-spot", {"purchases.2.price_kind": "on_demand"}),
    ("purchases", "lab-owned", {"purchases.5.offer": "aws/p5.48xlarge/us-east-1@on_demand"}),
    ("steps", "p5", {"purchases.1.steps.0.to_at": "2026-12-04"}),
    ("steps", "p5-spot", {"purchases.2.steps.1.from_at": "2026-12-11"}),
    ("steps", "p5-spot", {"purchases.2.steps.4.to_at": "2027-01-03"}),
    ("steps", "tune", {"training.0.steps.0.from_at": "2026-12-04T01:00"}),
    ("steps", "chat/eu-west", {"serving.1.steps.0.from_at": "2026-11-30"}),
    ("size_classes", "chat/us-east", {"serving.0.steps.0.requests_per_s": [12.0]}),
    ("size_classes", "chat/us-east", {"serving.0.steps.0.requests_per_s": [9.0, 3.0, -1.0]}),
    ("node_hours", "p5-spot", {"purchases.2.node_hours": "923"}),
    ("purchase_cost", "p5", {"purchases.1.usd": "3839.999999"}),
    ("purchase_cost", "p5", {"purchases.1.upfront_usd": "0.000001"}),
    ("purchase_cost", "p5-year", {"purchases.0.upfront_usd": "87600.000001"}),
    ("purchase_cost", "p5-year", {"purchases.0.steps.0.nodes": 1}),
    ("purchase_cost", "lab-owned", {"purchases.5.usd": "0.000001"}),
    ("owned_nodes", "lab/h100x8/fra1", {"purchases.5.steps.0.nodes": 2}),
    ("owned_nodes", "lab/h100x8/fra1", {"purchases.5.steps.1.to_at": "2026-12-17T06:00"}),
    ("commitment_span", "p5-year", {"purchases.0.steps.0.to_at": "2026-12-30"}),
    ("commitment_span", "lab-month", {"purchases.3.steps.0.to_at": "2026-12-31T12:00"}),
    ("commitment_span", "lab-month", {"purchases.3.steps.0.from_at": "2026-12-02"}),
    ("breakeven", "p5-year", {"purchases.0.breakeven_utilization": 0.54659594}),
    ("breakeven", "p5-year", {"purchases.0.breakeven_utilization": None}),
    ("breakeven", "p5", {"purchases.1.breakeven_utilization": 1.0}),
    ("cost_lines", "p5-year", {"cost_lines.0.usd": "21503", "cost_lines.1.usd": "7681"}),
    ("cost_lines", "tune", {"cost_lines.7.usd": "89", "cost_lines.3.usd": "13861"}),
    ("cost_lines", "lab", {"cost_lines.6.subject": "lab-owned"}),
    ("cost_lines", "p5-spot", {"cost_lines.3.term": "on_demand"}),
    ("cost_lines", "p5", {"cost_lines.7": {"term": "on_demand", "subject": "p5", "usd": "90"}}),
    ("cost_lines", "tax", {"cost_lines.7": {"term": "egress", "subject": "tax", "usd": "90"}}),
    ("capacity", "aws/p5.48xlarge/us-east-1", {"purchases.1.steps.0.to_at": "2026-12-05"}),
    ("capacity", "aws/p5.48xlarge/us-east-1", {"purchases.2.steps.3.nodes": 2}),
    ("capacity", "aws/p5.48xlarge/us-east-1", {"serving.0.steps.0.replicas": 6}),
    ("capacity", "lab/h100x8/fra1", {"purchases.5.steps.1.from_at": "2026-12-09T06:00"}),
    ("packing", "chat/us-east", {"serving.0.candidate.layout.tensor": 3}),
    ("serve_load", "chat/us-east", {"serving.0.steps.0.requests_per_s": [9.0, 2.9999]}),
    ("serve_load", "embed/eu-central", {"serving.3.steps.1.to_at": "2026-12-06T12:00"}),
    ("replica_rate", "chat/us-east", {"serving.0.steps.0.replicas": 4}),
    ("replica_rate", "chat/eu-west", {"serving.1.steps.0.requests_per_s": [5.01, 2.0]}),
    ("min_replicas", "chat/us-east", {"serving.0.steps.0.to_at": "2027-01-01T18:00"}),
    ("serving_options", "chat/us-east", {"serving.0.on_spot": True}),
    ("serving_options", "chat/eu-north", {"serving.0.user_region": "eu-north"}),
    ("serving_options", "chat/us-east", {"serving.0.machine": "lab/h100x8/fra1"}),
    ("serving_options", "chat/us-east", {"serving.0.candidate.rates.1.requests_per_s": 2.5}),
    ("training_options", "tune", {"training.0.on_spot": True}),
    ("training_options", "tune", {"training.0.machine": "lab/h100x8/fra1"}),
    ("training_options", "tune", {"training.0.candidate.nodes": 1}),
    ("spot_share", "chat/eu-west", {"serving.2.steps.0.requests_per_s": [2.401, 0.0]}),
    ("runs", "tune", {"training.0.run": "distill"}),
    ("runs", "distill", {"training.0.run": "distill"}),
    ("runs", "walk", {"training.0.run": "walk"}),
    ("windows", "tune", {"training.0.steps.0.from_at": "2026-12-02T18:00"}),
    ("windows", "pretrain", {"training.2.steps.1.to_at": "2026-12-20T06:00"}),
    ("interruptions", "tune", {"training.0.steps": [FIRST_DAY, REST]}),
    ("interruptions", "tune", {"training.0.on_spot": True}),
    ("tokens", "tune", {"training.0.tokens": 8.6101e9}),
    ("tokens", "distill", {"training.1.steps.1.to_at": "2026-12-09T18:00"}),
    ("quotas", "quota aws/us-east-1/H100-SXM/spot", {"purchases.2.steps.3.nodes": 4}),
    ("quotas", "quota lab", {"purchases.4.steps.0.nodes": 2}),
    ("limits", "aws/p5.48xlarge/us-east-1@spot", {"purchases.2.steps.1.nodes": 4}),
    ("limits", "aws/p5.48xlarge/us-east-1@on_demand", {"purchases.1.steps.0.nodes": 3}),
    ("price_kinds", "p5", {"purchases.1.price_kind": "savings_plan"}),
    ("outliving_commitments", "p5-year", {"purchases.0.steps.0.nodes": 3}),
    ("proof", "plan", {"bound_usd": "63564.000001"}),
    ("proof", "plan", {"gap_fraction": 0.0022055}),
    ("proof", "plan", {"status": "feasible"}),
    ("proof", "plan", {"settings.gap_fraction": 0.001}),
    ("comparisons", "on demand only", {"comparisons.0.gap_fraction": 0.021}),
    ("comparisons", "on demand only", {"comparisons.0.bound_usd": "90001"}),
    ("comparisons", "on demand only", {"comparisons.0.bound_usd": None}),
    ("comparisons", "on demand only", {"comparisons.0.status": "infeasible"}),
    ("comparisons", "one provider", {"comparisons.1.status": "feasible"}),
    (
        "comparisons",
        "on demand only",
        {"comparisons.0.total_usd": "63000", "comparisons.0.bound_usd": "61740"},
    ),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change[0]}-{change[1]}")
def test_a_plan_with_one_thing_changed_is_refused_by_the_rule_it_breaks(
    altered: Alter, case: Case, change: Change
) -> None:
    rule, subject, changes = change
    found = check(altered(changes), case)
    named = [one.subject for one in found if one.rule == rule]
    assert any(one == subject or one.startswith(f"{subject} on ") for one in named), found


def test_a_missing_run_is_refused(plan: Plan, case: Case) -> None:
    found = check(plan.model_copy(update={"training": plan.training[1:]}), case)
    assert ("runs", "tune", "has 0 assignments; 1 is right") in [
        (one.rule, one.subject, one.message) for one in found
    ]


def test_nothing_may_rest_on_an_offer_that_the_case_does_not_have(
    altered: Alter, case: Case
) -> None:
    found = check(altered({"purchases.0.offer": "aws/p6/us-east-1@reserved-12m-monthly"}), case)
    assert {"purchases", "capacity", "cost_lines"} <= {one.rule for one in found}
