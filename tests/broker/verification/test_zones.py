"""Zones of a service, held against the plan that all tests start from.

`chat` has firm and spot replicas with aws in us-east-1 for the users of eu-west; none of its
machines names a zone.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from broker.domain.case import Case
from broker.domain.plan import Plan
from broker.verification.check import check

Under = Callable[[Mapping[str, object]], tuple[Plan, Case]]
P5 = "aws/p5.48xlarge/us-east-1"
ASKED = {"services.0.availability.min_zones": 2, "services.0.min_replicas": 2}


def test_one_region_without_zones_is_one_zone(under: Under) -> None:
    found = [one for one in check(*under(ASKED)) if one.rule == "min_zones"]
    message = "has a replica at all times in aws/us-east-1; 2 zones are right"
    assert [(one.subject, one.message) for one in found] == [
        ("chat/us-east", message),
        ("chat/eu-west", message),
    ]


def test_a_second_zone_counts_only_where_all_machines_of_the_region_name_theirs(
    under: Under,
) -> None:
    plan, case = under(ASKED)
    for zones, is_kept in ((("a", "b"), True), (("a", None), False), (("a", "a"), False)):
        both = _in_zones(case, zones)
        found = {one.subject for one in check(_spread(plan), both) if one.rule == "min_zones"}
        assert ("chat/eu-west" not in found) is is_kept


def test_a_zone_that_is_left_for_a_while_does_not_count(under: Under) -> None:
    plan, case = under(ASKED)
    both = _in_zones(case, ("a", "b"))
    (step, *others) = plan.serving[2].steps
    later = step.model_copy(update={"from_at": step.from_at + case.workloads.horizon.slot})
    left = _spread(plan, steps=(later, *others))
    found = {one.subject for one in check(left, both) if one.rule == "min_zones"}
    assert "chat/eu-west" in found


def test_what_is_left_without_a_zone_must_carry_the_load(under: Under) -> None:
    """`chat` keeps three firm replicas in one zone and one on spot in the other."""
    one_kind = {"policy.max_groups": 1, "services.0.availability.spare_zone": True}
    plan, case = under({**ASKED, **one_kind})
    both = _in_zones(case, ("a", "b"))
    found = [one for one in check(_spread(plan), both) if one.rule == "spare_zone"]
    assert {one.subject for one in found} == {"chat/us-east", "chat/eu-west"}
    assert any("without aws/us-east-1/a 1 replicas are left" in one.message for one in found)


def test_replicas_without_a_rate_for_each_size_are_refused_and_carry_nothing(under: Under) -> None:
    one_kind = {"policy.max_groups": 1, "services.0.availability.spare_zone": True}
    plan, case = under({**ASKED, **one_kind})
    candidate = plan.serving[1].candidate
    short = candidate.model_copy(update={"rates": candidate.rates[:1]})
    groups = [*plan.serving]
    groups[1] = groups[1].model_copy(update={"candidate": short})
    found = check(plan.model_copy(update={"serving": tuple(groups)}), case)
    refused = {one.rule for one in found if one.subject == "chat/eu-west"}
    assert {"serving_options", "spare_zone"} <= refused


def _spread(plan: Plan, **changes: object) -> Plan:
    """Move the replicas of `chat` on spot to the other machine."""
    moved = plan.serving[2].model_copy(update={"machine": "p5b", **changes})
    return plan.model_copy(update={"serving": (*plan.serving[:2], moved, *plan.serving[3:])})


def _in_zones(case: Case, zones: tuple[str, str | None]) -> Case:
    """Put p5 in one zone of its region, and another machine like it in the other."""
    own = case.machines[P5]
    one, two = (
        own.model_copy(update={"place": own.place.model_copy(update={"zone": zone})})
        for zone in zones
    )
    return replace(case, machines={**case.machines, P5: one, "p5b": two})
