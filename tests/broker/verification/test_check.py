"""A right plan is accepted, also when it was written and read back; other inputs are not."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal

import pytest

from broker.domain.case import Case
from broker.domain.plan import Plan, Status
from broker.verification.check import Violation, check

Alter = Callable[[Mapping[str, object]], Plan]


def test_a_right_plan_is_accepted(plan: Plan, case: Case) -> None:
    assert check(plan, case, snapshot="c5a1", workloads_sha256="10ad") == ()


def test_a_plan_reads_back_as_it_was_written(plan: Plan, case: Case) -> None:
    read = Plan.model_validate_json(plan.model_dump_json(by_alias=True))
    assert read == plan
    assert check(read, case) == ()


def test_a_violation_names_the_rule_the_subject_and_both_figures(
    altered: Alter, case: Case
) -> None:
    found = check(altered({"purchases.3.later_usd": "0.000001"}), case)
    message = "later_usd is 0.000001; by its offer it is 0.000000"
    assert found == (Violation("purchase_cost", "lab-month", message),)


def test_another_snapshot_is_refused(plan: Plan, case: Case) -> None:
    (found,) = check(plan, case, snapshot="c5a2")
    assert found == Violation("inputs", "catalog", "the catalog snapshot is c5a1, not c5a2")


def test_another_workloads_hash_is_refused(plan: Plan, case: Case) -> None:
    (found,) = check(plan, case, workloads_sha256="10ae")
    assert (found.rule, found.subject) == ("inputs", "workloads_sha256")


def test_other_workloads_are_refused_by_their_first_difference(altered: Alter, case: Case) -> None:
    (found,) = check(altered({"workloads.services.0.spot.max_share": 0.4}), case)
    assert found.message == (
        "the plan is for other workloads: services[0].spot.max_share: 0.4 is not 0.3"
    )


def test_a_price_that_the_catalog_does_not_have_is_refused(altered: Alter, case: Case) -> None:
    (found,) = check(altered({"offers.1.usd_per_hour": "14.999999"}), case)
    assert (found.rule, found.subject) == ("offers", "aws/p5.48xlarge/us-east-1@spot")
    assert ".usd_per_hour: 14.999999 is not 15" in found.message


def test_an_offer_that_the_catalog_lost_is_refused(plan: Plan, case: Case) -> None:
    spot = case.offers[1]
    without = replace(case, offers=tuple(offer for offer in case.offers if offer != spot))
    rules = {(one.rule, one.subject) for one in check(plan, without)}
    assert {("offers", spot.key), ("purchases", "p5-spot")} <= rules


def test_an_offer_that_the_plan_does_not_embed_is_refused(plan: Plan, case: Case) -> None:
    bare = plan.model_copy(update={"offers": plan.offers[:-1]})
    (found,) = check(bare, case)
    assert (found.rule, found.subject) == ("purchases", "lab-month")


def test_offers_and_purchases_stand_once(plan: Plan, case: Case) -> None:
    doubled = plan.model_copy(
        update={
            "offers": (*plan.offers, plan.offers[0]),
            "purchases": (*plan.purchases, plan.purchases[5]),
        }
    )
    found = [one.message for one in check(doubled, case) if one.rule in ("offers", "purchases")]
    assert found == [
        "stands 2 times among the offers; once is right",
        "stands 2 times among the purchases; once is right",
    ]


def test_a_total_that_is_not_the_sum_of_the_lines_is_refused(plan: Plan, case: Case) -> None:
    cheaper = plan.model_copy(
        update={"total_usd": Decimal("63563.999999"), "gap_fraction": 139.999999 / 63563.999999}
    )
    (found,) = check(cheaper, case)
    assert found.message == "total_usd is 63563.999999; the cost lines add up to 63564.000000"


@pytest.mark.parametrize("part", ["purchases", "serving", "training"])
def test_a_part_without_steps_is_refused(altered: Alter, case: Case, part: str) -> None:
    found = check(altered({f"{part}.0.steps": []}), case)
    assert "steps" in {one.rule for one in found}


def test_an_empty_infeasible_plan_is_accepted(plan: Plan, case: Case) -> None:
    assert check(_infeasible(plan), case) == ()


def test_an_infeasible_plan_with_purchases_is_refused(plan: Plan, case: Case) -> None:
    full = _infeasible(plan).model_copy(update={"purchases": plan.purchases[5:]})
    assert {one.rule for one in check(full, case)} == {"infeasible"}


def test_an_empty_plan_that_claims_to_be_feasible_is_refused(plan: Plan, case: Case) -> None:
    empty = _infeasible(plan).model_copy(update={"status": Status.OPTIMAL})
    assert {one.rule for one in check(empty, case)} == {"serve_load", "min_replicas", "runs"}


def _infeasible(plan: Plan) -> Plan:
    nothing = {"purchases": (), "serving": (), "training": (), "cost_lines": (), "comparisons": ()}
    sums = {"total_usd": Decimal(0), "bound_usd": Decimal(0), "gap_fraction": 0.0}
    return plan.model_copy(update=nothing | sums | {"status": Status.INFEASIBLE})
