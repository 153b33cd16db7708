"""The check of what data costs: weights, data sets, checkpoints, moved and kept."""

from dataclasses import replace
from decimal import Decimal

import pytest
from solving import assembled, solved
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case
from broker.domain.plan import Plan, Term
from broker.verification.check import check


@pytest.fixture(scope="module")
def of() -> Case:
    """A replica for 16 h and one for 24 h, 10 cents an hour and 3 dollars each; and a run."""
    box = offer("1")
    load = {"requests_per_s": {"step": "8 h", "by_size": [[1.0, 2.0, 2.0]]}}
    weights = {"storage_usd_per_hour": Decimal("0.1"), "egress_usd": Decimal(3)}
    run = replace(
        training(box, egress_usd="7.5"), result_egress_usd=Decimal(2), storage_usd=Decimal(5)
    )
    file = workloads(services=[service_entry(1, 2, traffic=load)], training=[run_entry(3600)])
    return case(file, [box], serving=[replace(serving(box, [1]), **weights)], training=[run])


@pytest.fixture(scope="module")
def plan(of: Case) -> Plan:
    return assembled(of, solved(of))


def test_data_is_charged_to_the_cent(of: Case, plan: Plan) -> None:
    lines = {(one.term, one.subject): one.usd for one in plan.cost_lines}
    assert lines[Term.STORAGE, "chat@acme/here"] == Decimal("4.0")
    assert lines[Term.EGRESS, "chat"] == 6
    assert check(plan, of) == ()


@pytest.mark.parametrize(
    ("term", "subject"),
    [
        (Term.STORAGE, "chat@acme/here"),
        (Term.EGRESS, "chat"),
        (Term.EGRESS, "tune"),
        (Term.EGRESS, "tune@acme/here"),
        (Term.STORAGE, "tune@acme/here"),
    ],
)
def test_a_plan_that_hides_some_of_it_is_refused(
    of: Case, plan: Plan, term: Term, subject: str
) -> None:
    hidden = next(one for one in plan.cost_lines if (one.term, one.subject) == (term, subject))
    less = [
        one.model_copy(update={"usd": one.usd - 1}) if one is hidden else one
        for one in plan.cost_lines
    ]
    without = [one for one in plan.cost_lines if one is not hidden]
    for lines in (less, without):
        altered = plan.model_copy(
            update={"cost_lines": tuple(lines), "total_usd": sum(one.usd for one in lines)}
        )
        assert ("cost_lines", subject) in {(one.rule, one.subject) for one in check(altered, of)}
