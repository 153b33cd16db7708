"""A provider policy may name a provider's tier, as lab:community."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from broker.domain.case import Case
from broker.domain.plan import Plan
from broker.domain.policy import AllowDeny
from broker.verification.check import check

LAB = "lab/h100x8/fra1"
LAB_PURCHASES = {"lab-month", "lab", "lab-owned"}


def test_a_plan_that_buys_of_a_tier_is_accepted(plan: Plan, case: Case) -> None:
    assert check(*_of_community(plan, case)) == ()


@pytest.mark.parametrize(
    ("allow", "deny"),
    [
        ([], ["lab:community"]),
        ([], ["LAB:Community"]),
        ([], ["lab"]),
        (["lab:community", "aws"], ["lab"]),
        (["lab", "aws"], ["lab:community"]),
        (["lab:secure", "aws"], []),
        (["aws"], []),
    ],
)
def test_purchases_of_a_tier_that_is_not_allowed_are_refused(
    plan: Plan, case: Case, allow: Sequence[str], deny: Sequence[str]
) -> None:
    found = check(*_under(AllowDeny(allow=tuple(allow), deny=tuple(deny)), plan, case))
    assert {(one.rule, one.subject) for one in found} == {
        ("places", purchase) for purchase in LAB_PURCHASES
    }


@pytest.mark.parametrize(
    ("allow", "deny"),
    [
        ([], ["lab:secure"]),
        ([], ["aws:community"]),
        (["lab:community", "aws"], []),
        (["Lab:Community", "AWS"], ["lab:secure"]),
        (["lab", "aws"], []),
    ],
)
def test_purchases_of_a_tier_that_is_allowed_are_accepted(
    plan: Plan, case: Case, allow: Sequence[str], deny: Sequence[str]
) -> None:
    assert check(*_under(AllowDeny(allow=tuple(allow), deny=tuple(deny)), plan, case)) == ()


def test_the_message_names_the_entry_that_denies(plan: Plan, case: Case) -> None:
    found = check(*_under(AllowDeny(deny=("lab:community",)), plan, case))
    assert {one.message for one in found} == {"provider 'lab' is denied by 'lab:community'"}


def _under(providers: AllowDeny, plan: Plan, case: Case) -> tuple[Plan, Case]:
    plan, case = _of_community(plan, case)
    policy = case.workloads.policy.model_copy(update={"providers": providers})
    workloads = case.workloads.model_copy(update={"policy": policy})
    return plan.model_copy(update={"workloads": workloads}), replace(case, workloads=workloads)


def _of_community(plan: Plan, case: Case) -> tuple[Plan, Case]:
    """Put lab's offers into its tier community, under which the machine has another name."""
    offers = tuple(
        offer.model_copy(update={"tier": "community"}) if offer.provider == "lab" else offer
        for offer in case.offers
    )
    changed = replace(
        case,
        offers=offers,
        machines={offer.machine: offer for offer in reversed(offers)},
        serving=tuple(replace(one, machine=_named(one.machine)) for one in case.serving),
        training=tuple(replace(one, machine=_named(one.machine)) for one in case.training),
        owned=tuple(replace(one, machine=_named(one.machine)) for one in case.owned),
    )
    moved = plan.model_copy(
        update={
            "offers": offers,
            "purchases": tuple(
                one.model_copy(update={"offer": _named(one.offer)}) for one in plan.purchases
            ),
            "serving": tuple(
                one.model_copy(update={"machine": _named(one.machine)}) for one in plan.serving
            ),
            "training": tuple(
                one.model_copy(update={"machine": _named(one.machine)}) for one in plan.training
            ),
        }
    )
    return moved, changed


def _named(text: str) -> str:
    return text.replace(LAB, f"{LAB}:community")
