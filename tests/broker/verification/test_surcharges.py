"""Surcharges, held against the plan that all tests start from: it pays aws and lab no more."""

from collections.abc import Callable, Mapping
from decimal import Decimal

import pytest

from broker.domain.case import Case
from broker.domain.plan import CostLine, Plan, Term
from broker.verification.check import check

Under = Callable[[Mapping[str, object]], tuple[Plan, Case]]


def test_a_plan_without_what_is_due_is_refused(under: Under) -> None:
    plan, case = under({"policy.surcharges": [{"rate": "0.1", "providers": ["AWS"]}]})
    found = check(plan, case)
    assert {one.rule for one in found} >= {"purchase_cost", "cost_lines"}
    due = [one for one in found if "the surcharge line is missing; it is due" in one.message]
    assert {one.subject for one in due} == {"p5-year", "p5", "p5-spot"}


def test_a_line_that_nothing_asks_for_is_refused(plan: Plan, case: Case) -> None:
    extra = CostLine(term=Term.SURCHARGE, subject=plan.purchases[0].id, usd=Decimal(1))
    more = plan.model_copy(
        update={"cost_lines": (*plan.cost_lines, extra), "total_usd": plan.total_usd + 1}
    )
    assert {one.rule for one in check(more, case)} == {"cost_lines", "proof"}


@pytest.mark.parametrize(
    ("part", "is_due"),
    [
        ({"regions": ["US"]}, True),
        ({"regions": ["aws/us-east-1"]}, True),
        ({"regions": ["ap"]}, False),
        ({"providers": ["aws"], "regions": ["ap"]}, False),
        ({"providers": ["nobody"]}, False),
        ({"certifications": ["anything else"]}, False),
    ],
)
def test_it_is_due_where_all_that_is_named_matches(
    under: Under, *, part: Mapping[str, object], is_due: bool
) -> None:
    plan, case = under({"policy.surcharges": [{"rate": "0.1", **part}]})
    assert ("purchase_cost" in {one.rule for one in check(plan, case)}) is is_due
