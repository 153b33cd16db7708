"""Capacity blocks that no plan may use, each with its reason."""

from datetime import timedelta

import pytest
from tiny_cases import START, offer, run_entry, workloads

from broker.domain.offer import Block, Offer, PriceKind
from broker.domain.policy import Policy
from broker.planning.filters import Freshness, why_no_block, why_not

_DAY = timedelta(days=1)
FRESH = Freshness(as_of=START, spot=_DAY, other=_DAY)
HORIZON = workloads(training=[run_entry(3600)], days=2).horizon
BEYOND = "commitment beyond the policy"


def _block(**more: object) -> Offer:
    block = Block.model_validate({"lengths_h": (48, 96)} | more)
    return offer("2", kind=PriceKind.CAPACITY_BLOCK).model_copy(update={"block": block})


def test_a_block_in_the_horizon_may_be_planned_with() -> None:
    for block in (_block(), _block(starts_at=START + _DAY), _block(book_ahead_days=0)):
        assert why_not(block, Policy(), FRESH) is None
        assert why_no_block(block, HORIZON) is None


@pytest.mark.parametrize(
    "commitments", [{"capacity_blocks": False}, {"max_term_months": 0}, {"payments": ("monthly",)}]
)
def test_a_policy_may_rule_blocks_out(commitments: dict[str, object]) -> None:
    policy = Policy.model_validate({"commitments": commitments}, strict=False)
    assert why_not(_block(), policy, FRESH) == BEYOND


def test_a_block_without_a_window_is_ruled_out() -> None:
    assert why_not(offer("2", kind=PriceKind.CAPACITY_BLOCK), Policy(), FRESH) == BEYOND


@pytest.mark.parametrize(
    ("window", "reason"),
    [
        ({"starts_at": START - _DAY}, "block begins outside the horizon"),
        ({"starts_at": START + 2 * _DAY}, "block begins outside the horizon"),
        (
            {"starts_at": START + _DAY, "book_ahead_days": 0},
            "block cannot be booked that far ahead",
        ),
    ],
)
def test_a_window_that_cannot_be_booked_has_its_reason(
    window: dict[str, object], reason: str
) -> None:
    assert why_no_block(_block(**window), HORIZON) == reason
