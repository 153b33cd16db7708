"""The policy of the workloads is held against what the plan buys and costs."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from broker.domain.case import Case
from broker.domain.offer import Evidence, Limits, Place
from broker.domain.plan import Plan
from broker.verification.check import check

Under = Callable[[Mapping[str, object]], tuple[Plan, Case]]
Change = tuple[str, set[str], Mapping[str, object]]

P5_PURCHASES, LAB_PURCHASES = {"p5-year", "p5", "p5-spot"}, {"lab-month", "lab", "lab-owned"}

REFUSED: list[Change] = [
    ("places", P5_PURCHASES, {"policy.providers.deny": ["AWS"]}),
    ("places", P5_PURCHASES, {"policy.providers": {"allow": ["lab"], "deny": []}}),
    ("places", P5_PURCHASES, {"policy.regions.deny": ["aws/us-east-1"]}),
    ("places", P5_PURCHASES, {"policy.regions.deny": ["us-east-1"]}),
    ("places", LAB_PURCHASES, {"policy.regions.deny": ["EU"]}),
    ("places", LAB_PURCHASES, {"policy.regions.deny": ["de"]}),
    ("places", P5_PURCHASES | LAB_PURCHASES, {"policy.regions.deny": ["commercial"]}),
    ("places", P5_PURCHASES, {"policy.regions.allow": ["eu"]}),
    ("certifications", P5_PURCHASES | LAB_PURCHASES, {"policy.certifications": ["hipaa"]}),
    ("commitment_terms", {"p5-year"}, {"policy.commitments.max_term_months": 11}),
    ("commitment_terms", {"lab-month"}, {"policy.commitments.payments": ["partial_upfront"]}),
    ("commitment_terms", {"plan"}, {"policy.commitments.max_upfront_usd": "88329.999999"}),
    ("new_commitments", {"plan"}, {"policy.commitments.max_new_usd_per_hour": "58.999"}),
    ("budget", {"plan"}, {"policy.budget_usd_per_month": "60418.906249"}),
    ("interruptions", {"pretrain"}, {"training.2.restartable": False}),
    ("min_replicas", {"chat/us-east"}, {"services.0.min_replicas": 6}),
    ("spot_share", {"chat/eu-west"}, {"services.0.spot.max_share": 0.29}),
    ("quotas", {"quota lab"}, {"quotas.1.gpus": 15}),
]

ALLOWED: list[Mapping[str, object]] = [
    {"policy.regions.allow": ["Commercial"]},
    {"policy.regions.allow": ["aws/us-east-1", "fra1"]},
    {"policy.regions.allow": [], "policy.regions.deny": []},
    {"policy.commitments.max_upfront_usd": "88330"},
    {"policy.commitments.max_new_usd_per_hour": "59"},
    {"policy.budget_usd_per_month": "60418.90625"},
    {"policy.certifications": ["SOC2", "iso27001"]},
    {"policy.max_groups": 1},
    {"policy.sharing": "split"},
    {"quotas.1.price_kind": "spot", "quotas.1.gpus": 0},
    {"quotas.1.region": "fra2", "quotas.1.gpus": 0},
    {"quotas.1.gpu": "H200-SXM", "quotas.1.gpus": 0},
]


@pytest.mark.parametrize(
    "change", REFUSED, ids=lambda change: f"{change[0]}-{next(iter(change[2]))}"
)
def test_a_plan_that_breaks_a_changed_policy_is_refused(under: Under, change: Change) -> None:
    rule, subjects, changes = change
    found = check(*under(changes))
    assert subjects <= {one.subject for one in found if one.rule == rule}, found


@pytest.mark.parametrize("changes", ALLOWED, ids=str)
def test_a_plan_that_keeps_a_changed_policy_is_accepted(
    under: Under, changes: Mapping[str, object]
) -> None:
    assert check(*under(changes)) == ()


def test_no_upfront_counts_that_is_within_the_limit_only_without_the_rest(under: Under) -> None:
    found = check(*under({"policy.commitments.max_upfront_usd": "87600"}))
    assert [one.message for one in found] == [
        "upfront_usd add up to 88330.000000; at most 87600.000000 are allowed"
    ]


def test_an_offer_in_an_unknown_region_is_refused(plan: Plan, case: Case) -> None:
    moved = _with_offer(case, 1, {"place": Place(region="unknown")})
    plan = plan.model_copy(update={"offers": moved.offers, "purchases": _bought(plan, moved, 2, 1)})
    assert ("whole_nodes", "p5-spot") in {(one.rule, one.subject) for one in check(plan, moved)}


def test_an_offer_of_a_part_of_a_gpu_is_refused(plan: Plan, case: Case) -> None:
    hardware = case.offers[1].hardware
    shape = hardware.shape.model_copy(update={"gpu_count": Fraction(1, 6)})
    changes = {"hardware": hardware.model_copy(update={"shape": shape}), "limits": Limits()}
    cut = _with_offer(case, 1, changes)
    found = check(plan.model_copy(update={"offers": cut.offers}), cut)
    assert [(one.rule, one.subject) for one in found] == [("whole_nodes", "p5-spot")]


def test_a_contract_without_a_term_is_refused(plan: Plan, case: Case) -> None:
    endless = _with_offer(case, 4, {"commitment": None})
    changes = {"offers": endless.offers, "purchases": _bought(plan, endless, 3, 4)}
    found = check(plan.model_copy(update=changes), endless)
    assert ("price_kinds", "lab-month") in {(one.rule, one.subject) for one in found}


def test_an_example_is_bought_only_where_the_policy_names_it(under: Under) -> None:
    for changes, found in (
        ({}, {"p5-spot"}),
        ({"policy.providers": {"allow": ["lab", "AWS"], "deny": []}}, set[str]()),
    ):
        plan, case = under(changes)
        seen = case.offers[1].provenance.model_copy(update={"evidence": Evidence.EXAMPLE})
        invented = _with_offer(case, 1, {"provenance": seen})
        checked = check(plan.model_copy(update={"offers": invented.offers}), invented)
        assert {one.subject for one in checked if one.rule == "examples"} == found


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (
            Limits(stock_nodes=2),
            "3 nodes, stock_nodes is 2 at 2026-12-12 00:00 (and in 12 more slots)",
        ),
        (
            Limits(stock_nodes=0),
            "1 nodes, stock_nodes is 0 at 2026-12-01 00:00 (and in 127 more slots)",
        ),
        (Limits(max_nodes=2), "3 nodes, max_nodes is 2 at 2026-12-12 00:00 (and in 12 more slots)"),
        (
            Limits(until=datetime(2026, 12, 12, 1, 30, tzinfo=UTC)),
            (
                "3 nodes, its host takes them back on 2026-12-12 01:30 "
                "at 2026-12-12 00:00 (and in 83 more slots)"
            ),
        ),
        (
            Limits(min_nodes=2),
            "1 nodes, min_nodes is 2 at 2026-12-01 00:00 (and in 114 more slots)",
        ),
    ],
)
def test_stock_most_and_least_nodes_of_an_offer_are_kept(
    plan: Plan, case: Case, limits: Limits, message: str
) -> None:
    short = _with_offer(case, 1, {"limits": limits})
    found = check(plan.model_copy(update={"offers": short.offers}), short)
    assert [one.message for one in found if one.rule == "limits"] == [message]
    # A stock that is stated in nodes is one of GPUs too.
    also = {"stock"} if limits.stock_nodes is not None else set()
    assert {one.rule for one in found} == {"limits"} | also


def _with_offer(case: Case, number: int, changes: Mapping[str, object]) -> Case:
    offers = list(case.offers)
    offers[number] = offers[number].model_copy(update=changes)
    machines = {offers[0].machine: offers[0], offers[3].machine: offers[3]}
    return replace(case, offers=tuple(offers), machines=machines)


def _bought(plan: Plan, case: Case, purchase: int, offer: int) -> tuple[object, ...]:
    purchases = list(plan.purchases)
    key = case.offers[offer].key
    purchases[purchase] = purchases[purchase].model_copy(update={"offer": key})
    return tuple(purchases)
