"""A provider's share of a service's replicas, held against the plan that all tests start from.

`embed` has 2 replicas with lab on weekdays and 1 at weekends; `chat` has 3 firm replicas and 1 on
spot in eu-west, all with aws.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from broker.domain.case import Case
from broker.domain.plan import Plan
from broker.verification.check import Violation, check

Under = Callable[[Mapping[str, object]], tuple[Plan, Case]]
P5 = "aws/p5.48xlarge/us-east-1"


def test_all_of_two_replicas_with_one_provider_is_refused(under: Under) -> None:
    """24 weekdays of 4 slots, and the last slot of 4 Sundays, as replicas start ahead."""
    found = check(*under({"services.1.availability.max_provider_share": 0.9}))
    message = "2 of 2 replicas are with lab, 1 may be, at 2026-12-01 00:00 (and in 99 more slots)"
    assert found == (Violation("provider_share", "embed/eu-central", message),)


def test_the_policys_share_holds_for_every_service(under: Under) -> None:
    found = check(*under({"policy.max_provider_share": 0.5}))
    assert {one.rule for one in found} == {"provider_share"}
    assert [one.subject for one in found] == ["chat/us-east", "chat/eu-west", "embed/eu-central"]
    assert found[1].message.startswith("4 of 4 replicas are with aws, 2 may be, at 2026-12-01")


@pytest.mark.parametrize(("share", "is_kept"), [(0.75, True), (0.74, True), (0.5, False)])
def test_spot_replicas_count_and_the_share_is_rounded_up(
    under: Under, *, share: float, is_kept: bool
) -> None:
    """1 of 4 is on spot, now with another cloud: 3 of 4 are ⌈0.74 · 4⌉."""
    plan, case = under({"services.0.availability.max_provider_share": share})
    resold = plan.serving[2].model_copy(update={"machine": "elsewhere"})
    plan = plan.model_copy(update={"serving": (*plan.serving[:2], resold, *plan.serving[3:])})
    found = [one for one in check(plan, case) if one.subject == "chat/eu-west"]
    assert ("provider_share" not in {one.rule for one in found}) is is_kept


def test_a_resold_machine_counts_for_the_cloud_behind_it(under: Under) -> None:
    plan, case = under({"services.0.availability.max_provider_share": 0.75})
    resold = case.machines[P5].model_copy(update={"provider": "shop", "operator": "aws"})
    case = replace(case, machines={**case.machines, "shop/p5": resold})
    moved = plan.serving[2].model_copy(update={"machine": "shop/p5"})
    plan = plan.model_copy(update={"serving": (*plan.serving[:2], moved, *plan.serving[3:])})
    found = [one.message for one in check(plan, case) if one.rule == "provider_share"]
    assert any(one.startswith("4 of 4 replicas are with aws, 3 may be") for one in found)
