"""Capacity blocks in a plan: each figure that is wrong is refused, with the right one.

To the plan that all tests start from, 2 nodes of lab are added in a block of 48 h from the 3rd on,
at 10 USD an hour: 10 × 48 × 2 = 960. The slots are 6 h, the horizon is 32 days from the 1st.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from pydantic import ValidationError

from broker.domain.case import Case
from broker.domain.offer import Block, Offer, PriceKind
from broker.domain.plan import (
    LONGEST_BLOCK_H,
    BookedBlock,
    CostLine,
    NodeStep,
    Plan,
    Purchase,
    Term,
)
from broker.domain.workload import Workloads
from broker.verification.check import check

LAB = "lab/h100x8/fra1"
HOUR = timedelta(hours=1)
THIRD = datetime(2026, 12, 3, tzinfo=UTC)


def test_a_block_that_is_booked_right_is_accepted(plan: Plan, case: Case) -> None:
    assert _broken(plan, case) == {}


def test_a_block_that_ends_after_the_horizon_is_charged_whole(plan: Plan, case: Case) -> None:
    first = datetime(2027, 1, 1, tzinfo=UTC)
    window = {"starts_at": first, "step": (first, first + 24 * HOUR), "hours": 48}
    assert _broken(plan, case, **window) == {}
    assert set(_broken(plan, case, **window, usd="480")) == {"purchase_cost"}


@pytest.mark.parametrize(
    ("block", "rule", "message"),
    [
        (
            Block(lengths_h=(24, 72)),
            "block_window",
            "is 48 h long; 24, 72 are sold",
        ),
        (
            Block(starts_at=THIRD + 6 * HOUR, lengths_h=(48,)),
            "block_window",
            "starts at 2026-12-03 00:00; 2026-12-03 06:00 is sold",
        ),
        (
            Block(lengths_h=(48,), book_ahead_days=5),
            "block_window",
            "starts at 2026-12-03 00:00; 2026-12-02 00:00 is the last that can be booked",
        ),
    ],
)
def test_what_the_offer_does_not_sell_is_refused(
    plan: Plan, case: Case, *, block: Block, rule: str, message: str
) -> None:
    assert _broken(plan, case, block=block) == {rule: message}


@pytest.mark.parametrize(
    "at", [datetime(9999, 12, 31, 23, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC)]
)
def test_a_window_at_the_end_of_all_time_is_refused(
    plan: Plan, case: Case, *, at: datetime
) -> None:
    broken = _broken(plan, case, starts_at=at, step=(THIRD, THIRD + 48 * HOUR))
    assert {"block_span", "block_window"} <= set(broken)


def test_no_block_is_longer_than_a_year() -> None:
    with pytest.raises(ValidationError, match="less than or equal to 8784"):
        BookedBlock(starts_at=THIRD, length_h=10**30)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"capacity_blocks": False}, "is a capacity block; the policy books none"),
        ({"payments": ("monthly",)}, "is paid all upfront, which the policy does not accept"),
        ({"max_term_months": 0}, "is 48 h long; at most 0 months are allowed"),
    ],
)
def test_what_the_policy_does_not_allow_is_refused(
    plan: Plan, case: Case, *, policy: Mapping[str, object], message: str
) -> None:
    assert _broken(plan, case, policy=policy)["block_window"] == message


def test_cash_for_a_block_counts_toward_the_cap(plan: Plan, case: Case) -> None:
    before = sum((one.upfront_usd for one in plan.purchases), Decimal(0))
    assert "commitment_terms" not in _broken(plan, case, policy={"max_upfront_usd": before + 960})
    short = _broken(plan, case, policy={"max_upfront_usd": before + 959})
    assert "upfront_usd add up to" in short["commitment_terms"]


def test_a_start_within_a_day_of_the_buyers_choice_is_refused(plan: Plan, case: Case) -> None:
    at = THIRD + 6 * HOUR
    found = _broken(plan, case, starts_at=at, step=(at, at + 48 * HOUR))
    message = "starts at 2026-12-03 06:00; whole days after the horizon's start are right"
    assert found == {"block_window": message}


def test_a_start_before_the_horizon_is_refused(plan: Plan, case: Case) -> None:
    at = datetime(2026, 11, 30, tzinfo=UTC)
    found = _broken(plan, case, starts_at=at, step=(at + 24 * HOUR, at + 48 * HOUR))
    assert found == {"block_window": "starts at 2026-11-30 00:00, which is not in the horizon"}


def test_nodes_outside_the_window_or_fewer_slots_are_refused(plan: Plan, case: Case) -> None:
    longer = _broken(plan, case, step=(THIRD, THIRD + 54 * HOUR))
    right = "the one step 2026-12-03 00:00 to 2026-12-05 00:00 is right"
    assert longer == {"block_span": f"is kept 2026-12-03 00:00 to 2026-12-05 06:00; {right}"}
    shorter = _broken(plan, case, step=(THIRD + 6 * HOUR, THIRD + 48 * HOUR))
    assert shorter["block_span"].endswith(right)


def test_a_window_beyond_all_time_is_refused(plan: Plan, case: Case) -> None:
    step = (THIRD, THIRD + 48 * HOUR)
    found = _broken(plan, case, hours=LONGEST_BLOCK_H, step=step)
    assert found["block_window"].startswith(f"is {LONGEST_BLOCK_H} h long")
    found = _broken(plan, case, starts_at=datetime(9999, 12, 31, tzinfo=UTC), step=step)
    assert found["block_window"].startswith("starts at 9999-12-31")


def test_a_cost_that_is_not_the_whole_price_is_refused(plan: Plan, case: Case) -> None:
    found = _broken(plan, case, usd="959")
    assert found == {"purchase_cost": "usd is 959.000000; by its offer it is 960.000000"}


def test_a_block_without_a_window_and_a_window_without_a_block_are_refused(
    plan: Plan, case: Case
) -> None:
    assert "block_window" in _broken(plan, case, booked=None)
    window = BookedBlock(starts_at=THIRD, length_h=48)
    first = plan.purchases[1].model_copy(update={"block": window})
    odd = plan.model_copy(update={"purchases": (plan.purchases[0], first, *plan.purchases[2:])})
    assert [one.rule for one in check(odd, case)] == ["block_window"]


def _broken(  # noqa: PLR0913 - each argument is one thing that a test changes
    plan: Plan,
    case: Case,
    *,
    block: Block | None = None,
    starts_at: datetime = THIRD,
    hours: int = 48,
    step: tuple[datetime, datetime] | None = None,
    usd: str = "960",
    policy: Mapping[str, object] | None = None,
    booked: BookedBlock | str | None = "as it is",
) -> dict[str, str]:
    """Add the block to plan and case, and give the first message of each rule that is broken."""
    offer = _offer(case, block or Block(lengths_h=(24, 48)))
    workloads = _with_policy(case.workloads, policy or {})
    from_at, to_at = step or (starts_at, starts_at + hours * HOUR)
    window = BookedBlock(starts_at=starts_at, length_h=hours)
    purchase = Purchase(
        id="lab-block",
        offer=offer.key,
        price_kind=PriceKind.CAPACITY_BLOCK,
        steps=(NodeStep(from_at=from_at, to_at=to_at, nodes=2),),
        node_hours=Decimal(2 * int((to_at - from_at) / HOUR)),
        usd=Decimal(usd),
        upfront_usd=Decimal(960),
        breakeven_utilization=10 / 30,
        block=window if booked == "as it is" else None,
    )
    line = CostLine(term=Term.CAPACITY_BLOCK, subject="lab-block", usd=Decimal(usd))
    total = plan.total_usd + Decimal(usd)
    with_block = plan.model_copy(
        update={
            "purchases": (*plan.purchases, purchase),
            "cost_lines": (*plan.cost_lines, line),
            "total_usd": total,
            "bound_usd": total,
            "gap_fraction": 0.0,
            "offers": (*plan.offers, offer),
            "workloads": workloads,
        }
    )
    of = replace(case, offers=(*case.offers, offer), workloads=workloads)
    # The block is added to nodes that are enough, so something always stands idle.
    found = [one for one in check(with_block, of) if one.rule != "unused_nodes"]
    return {one.rule: one.message for one in reversed(found)}


def _offer(case: Case, block: Block) -> Offer:
    return case.machines[LAB].model_copy(
        update={
            "price_kind": PriceKind.CAPACITY_BLOCK,
            "usd_per_hour": Decimal(10),
            "block": block,
        }
    )


def _with_policy(workloads: Workloads, changes: Mapping[str, object]) -> Workloads:
    data = workloads.model_dump(by_alias=True)
    data["policy"]["commitments"] |= changes
    data["quotas"] = ()
    return Workloads.model_validate(data, strict=False)
