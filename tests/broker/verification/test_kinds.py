"""Kinds of replica: how many serve one demand, how many replicas of each, and which of them fail.

`chat` serves its users in eu-west by one kind, 3 firm replicas and 1 on spot; 4 carry all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from broker.domain.case import Case
from broker.domain.plan import Plan, ServingAssignment
from broker.verification.check import Violation, check

Alter = Callable[[Mapping[str, object]], Plan]
Under = Callable[[Mapping[str, object]], tuple[Plan, Case]]

EU_WEST, ON_SPOT = "chat/eu-west", 2


def test_firm_and_spot_replicas_of_one_candidate_are_one_kind(under: Under) -> None:
    assert check(*under({"policy.max_groups": 1})) == ()


def test_another_candidate_on_the_same_machine_is_another_kind(under: Under) -> None:
    found = check(*_with_a_second_kind(*under({"policy.max_groups": 1})))
    assert found == (Violation("groups", EU_WEST, "2 kinds of replica serve it, 1 are the most"),)


def test_two_kinds_are_accepted_where_two_are_allowed(plan: Plan, case: Case) -> None:
    assert check(*_with_a_second_kind(plan, case)) == ()


def test_the_same_candidate_on_another_machine_is_another_kind(under: Under) -> None:
    plan, case = under({"policy.max_groups": 1})
    moved = plan.serving[ON_SPOT].model_copy(update={"machine": "lab/h100x8/fra1"})
    found = check(_with_group(plan, ON_SPOT, moved), case)
    assert [one.subject for one in found if one.rule == "groups"] == [EU_WEST]


@pytest.mark.parametrize(
    ("group", "subject", "message"),
    [
        (0, "chat/us-east on aws/p5.48xlarge/us-east-1 (chat-tp2)", "6 replicas, 5 carry all"),
        (1, "chat/eu-west on aws/p5.48xlarge/us-east-1 (chat-tp2)", "5 replicas, 4 carry all"),
        (2, "chat/eu-west on aws/p5.48xlarge/us-east-1 (chat-tp2)", "5 replicas, 4 carry all"),
        (3, "embed/eu-central on lab/h100x8/fra1 (embed-tp1)", "3 replicas, 2 carry all"),
    ],
)
def test_a_replica_more_than_carry_all_is_refused(
    altered: Alter, case: Case, *, group: int, subject: str, message: str
) -> None:
    plan = altered({})
    step = plan.serving[group].steps[0]
    more = altered({f"serving.{group}.steps.0.replicas": step.replicas + 1})
    (found,) = [one for one in check(more, case) if one.rule == "idle_replicas"]
    assert found.subject == subject
    assert found.message.startswith(f"{message} at 2026-12-01 00:00")


def test_an_idle_replica_breaks_no_other_rule_where_its_node_has_room(
    altered: Alter, case: Case
) -> None:
    found = check(altered({"serving.2.steps.0.replicas": 2}), case)
    assert [one.rule for one in found] == ["idle_replicas"]


def test_a_replica_that_the_weekday_needs_is_idle_at_the_weekend(
    altered: Alter, case: Case
) -> None:
    (found,) = check(altered({"serving.3.steps.1.replicas": 2}), case)
    assert (found.rule, found.message) == (
        "idle_replicas",
        "2 replicas, 1 carry all at 2026-12-05 00:00 (and in 6 more slots)",
    )


def test_the_least_number_of_replicas_is_never_idle(under: Under) -> None:
    plan, case = under({"services.1.min_replicas": 2})
    weekday, weekend, *others = plan.serving[3].steps
    busier = weekend.model_copy(update={"replicas": 2})
    rest = [one.model_copy(update={"replicas": 2}) for one in others]
    group = plan.serving[3].model_copy(update={"steps": (weekday, busier, *rest)})
    assert check(_with_group(plan, 3, group), case) == ()


def test_kinds_that_carry_a_part_each_are_held_to_the_whole_load(under: Under) -> None:
    # 4 replicas of the second kind beside 3 of the first, though 4 of either carry all.
    plan, case = _with_a_second_kind(*under({}), replicas=4)
    assert check(plan, case) == ()
    plan, case = _with_a_second_kind(*under({}), replicas=5)
    assert {one.rule for one in check(plan, case)} == {"capacity", "idle_replicas"}


@pytest.mark.parametrize(
    ("group", "replicas", "rules"),
    [(1, 2, {"replica_rate"}), (2, 1, set())],
    ids=["firm without its spare", "spot without a spare"],
)
def test_spares_are_firm_replicas(
    altered: Alter, case: Case, *, group: int, replicas: int, rules: set[str]
) -> None:
    found = check(altered({f"serving.{group}.steps.0.replicas": replicas}), case)
    assert {one.rule for one in found} == rules


@pytest.mark.parametrize(
    ("on_spot", "firm", "size_class", "figures"),
    [
        # 0.3 of 6 are 1.8, and 0.3 of 2 are 0.6; of both together 2.4 would be the share.
        ([1.81, 0.5], [4.19, 1.5], 0, "1.81 requests/s of size class 0 are on spot, 1.8 may be"),
        ([1.75, 0.61], [4.25, 1.39], 1, "0.61 requests/s of size class 1 are on spot, 0.6 may be"),
        ([2.4, 0.0], [3.6, 2.0], 0, "2.4 requests/s of size class 0 are on spot, 1.8 may be"),
    ],
)
def test_the_spot_share_holds_for_each_size_class(
    altered: Alter,
    case: Case,
    *,
    on_spot: Sequence[float],
    firm: Sequence[float],
    size_class: int,
    figures: str,
) -> None:
    changes = {
        "serving.1.steps.0.requests_per_s": list(firm),
        "serving.2.steps.0.requests_per_s": list(on_spot),
    }
    (found,) = check(altered(changes), case)
    assert (found.rule, found.subject) == ("spot_share", EU_WEST)
    assert f"size class {size_class}" in found.message
    assert found.message.startswith(figures)


def test_the_whole_share_of_each_size_class_may_be_on_spot(altered: Alter, case: Case) -> None:
    # 1.8 / 5 + 0.6 / 2 = 0.66 replicas on spot; 4.2 / 5 + 1.4 / 2 = 1.54 firm ones.
    changes = {
        "serving.1.steps.0.requests_per_s": [4.2, 1.4],
        "serving.2.steps.0.requests_per_s": [1.8, 0.6],
    }
    assert check(altered(changes), case) == ()


def _with_a_second_kind(plan: Plan, case: Case, replicas: int = 1) -> tuple[Plan, Case]:
    """Serve eu-west on spot by a candidate of another name with the same figures."""
    group = plan.serving[ON_SPOT]
    candidate = group.candidate.model_copy(update={"id": "chat-tp2-b"})
    step = group.steps[0].model_copy(update={"replicas": replicas})
    other = group.model_copy(update={"candidate": candidate, "steps": (step,)})
    option = replace(case.serving[ON_SPOT], candidate=candidate)
    return _with_group(plan, ON_SPOT, other), replace(case, serving=(*case.serving, option))


def _with_group(plan: Plan, number: int, group: ServingAssignment) -> Plan:
    serving = list(plan.serving)
    serving[number] = group
    return plan.model_copy(update={"serving": tuple(serving)})
