"""Rates of savings plans that no plan may use, each with its reason."""

from datetime import timedelta

import pytest
from savings_cases import RENTED, rate
from tiny_cases import START, run_entry, workloads

from broker.domain.offer import Offer
from broker.domain.policy import Policy
from broker.planning.case import build_case
from broker.planning.filters import Freshness, why_not
from broker.specs.load import load_specs

_DAY = timedelta(days=1)
FRESH = Freshness(as_of=START, spot=_DAY, other=_DAY)
BEYOND = "commitment beyond the policy"
ALONE = rate("1", of=RENTED.model_copy(update={"instance_type": "alone"}))


@pytest.mark.parametrize(
    ("offer", "commitments", "reason"),
    [
        (rate("2"), {}, "savings plans are off in the policy"),
        (rate("2"), {"savings_plans": True}, None),
        (rate("2", scope=""), {"savings_plans": True}, "savings plan of unknown scope"),
        (rate("2", term_months=36), {"savings_plans": True}, BEYOND),
        (rate("2"), {"savings_plans": True, "payments": ("monthly",)}, BEYOND),
    ],
)
def test_a_rate_is_planned_with_where_the_policy_asks_for_it(
    offer: Offer, commitments: dict[str, object], reason: str | None
) -> None:
    policy = Policy.model_validate({"commitments": commitments}, strict=False)
    assert why_not(offer, policy, FRESH) == reason


def test_a_rate_without_an_on_demand_price_has_nothing_to_cover() -> None:
    file = workloads(training=[run_entry(3600)], policy={"commitments": {"savings_plans": True}})
    report = build_case(file, [RENTED, rate("2"), ALONE], load_specs(), FRESH)
    assert {one.key for one in report.case.offers} == {RENTED.key, rate("2").key}
    reason = "savings plan for a machine without an on-demand price"
    assert {one.reason: one.example for one in report.rejected}[reason] == ALONE.key
