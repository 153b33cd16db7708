"""A strategy that the plan keeps to itself costs no more than the plan; each stands once.

The plan made by hand costs 63,564, buys from aws and lab, and has commitments, spot and shared
nodes, all on the one model H100-SXM.
"""

from decimal import Decimal

import pytest

from broker.domain.case import Case
from broker.domain.offer import PriceKind
from broker.domain.plan import Comparison, Plan, Status
from broker.verification.check import check

TOTAL = 63_564


def compared(strategy: str, usd: int | None) -> Comparison:
    total = Decimal(usd) if usd is not None else None
    return Comparison(
        strategy=strategy,
        status=Status.OPTIMAL if usd is not None else Status.INFEASIBLE,
        total_usd=total,
        bound_usd=total,
        gap_fraction=0.0 if usd is not None else None,
    )


def refused(plan: Plan, case: Case, *comparisons: Comparison) -> list[tuple[str, str]]:
    found = check(plan.model_copy(update={"comparisons": comparisons}), case)
    return [(one.subject, one.message) for one in found if one.rule == "comparisons"]


@pytest.mark.parametrize("usd", [TOTAL + 1, None])
def test_a_plan_on_one_gpu_model_bounds_what_one_model_costs(
    usd: int | None, plan: Plan, case: Case
) -> None:
    ((subject, message),) = refused(plan, case, compared("one GPU model for all: H200", usd))
    assert subject == "one GPU model for all: H200"
    assert message.endswith("the plan keeps to it at 63564.000000")
    assert refused(plan, case, compared("one GPU model for all: H100-SXM", TOTAL)) == []


@pytest.mark.parametrize(
    "strategy",
    [
        "best single provider: aws",
        "on demand only",
        "no spot",
        "no commitments",
        "no sharing of nodes",
        "one NVIDIA generation for all: Hopper",
        "today's inventory kept",
        "somebody's own strategy",
    ],
)
def test_a_strategy_that_the_plan_does_not_keep_may_be_dearer(
    strategy: str, plan: Plan, case: Case
) -> None:
    assert refused(plan, case, compared(strategy, TOTAL + 1)) == []


@pytest.mark.parametrize(
    ("kinds", "kept"),
    [
        ({PriceKind.ON_DEMAND, PriceKind.OWNED}, {"on demand only", "no spot", "no commitments"}),
        ({PriceKind.ON_DEMAND, PriceKind.SPOT}, {"no commitments"}),
        ({PriceKind.RESERVED, PriceKind.CONTRACT, PriceKind.OWNED}, {"no spot"}),
    ],
)
def test_a_plan_bounds_the_price_kinds_that_it_keeps_to(
    kinds: set[PriceKind], kept: set[str], plan: Plan, case: Case
) -> None:
    names = ("on demand only", "no spot", "no commitments")
    fewer = tuple(one for one in plan.purchases if one.price_kind in kinds)
    narrow = plan.model_copy(update={"purchases": fewer})  # breaks other rules, not this one
    found = refused(narrow, case, *(compared(name, TOTAL + 1) for name in names))
    assert {subject for subject, _ in found} == kept


def test_a_plan_of_one_provider_bounds_the_best_single_one(plan: Plan, case: Case) -> None:
    own = [one for one in plan.purchases if one.offer.startswith("aws/")]
    narrow = plan.model_copy(update={"purchases": tuple(own)})
    assert [subject for subject, _ in refused(narrow, case, compared("best single provider", None))]
    assert refused(narrow, case, compared("best single provider: aws", TOTAL)) == []


def test_a_plan_whose_machines_serve_or_train_shares_nothing(plan: Plan, case: Case) -> None:
    serving = tuple(one for one in plan.serving if one.machine.startswith("aws/"))
    training = tuple(one for one in plan.training if one.machine.startswith("lab/"))
    assert serving
    assert training
    narrow = plan.model_copy(update={"serving": serving, "training": training})
    assert [one for one, _ in refused(narrow, case, compared("no sharing of nodes", TOTAL + 1))]


def test_one_strategy_is_compared_once(plan: Plan, case: Case) -> None:
    twice = (
        compared("best single provider: aws", TOTAL + 1),
        compared("best single provider: lab", TOTAL + 2),
    )
    assert refused(plan, case, *twice) == [
        ("best single provider", "is compared 2 times; once is right")
    ]
