"""Kinds of replica: how many serve one demand, how many replicas of each, and which of them fail.

A kind is a GPU model, a number format and a layout, on any machines and by candidates of any name.

`chat` serves its users in eu-west by one kind, 3 firm replicas and 1 on spot; 4 carry all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType

import pytest
from solving import assembled, solved
from tiny_cases import case as case_of
from tiny_cases import offer, service_entry, serving, workloads

from broker.domain.candidate import Layout
from broker.domain.case import Case
from broker.domain.gpu import Precision
from broker.domain.plan import Plan, ServingAssignment
from broker.verification.check import Violation, check

Alter = Callable[[Mapping[str, object]], Plan]
Under = Callable[[Mapping[str, object]], tuple[Plan, Case]]

EU_WEST, ON_SPOT = "chat/eu-west", 2
HALF_TIME = datetime(2026, 12, 16, tzinfo=UTC)


def test_firm_and_spot_replicas_of_one_candidate_are_one_kind(under: Under) -> None:
    assert check(*under({"policy.max_groups": 1})) == ()


@pytest.mark.parametrize(
    "change",
    [{"precision": Precision.BF16}, {"gpu": "H200-SXM"}, {"layout": Layout(tensor=1, pipeline=2)}],
    ids=["number format", "GPU model", "layout"],
)
def test_another_configuration_on_the_same_machine_is_another_kind(
    under: Under, change: Mapping[str, object]
) -> None:
    found = check(*_with_a_second_kind(*under({"policy.max_groups": 1}), change=change))
    assert found == (Violation("groups", EU_WEST, "2 kinds of replica serve it, 1 are the most"),)


def test_another_candidate_of_the_same_configuration_is_the_same_kind(under: Under) -> None:
    assert check(*_with_a_second_kind(*under({"policy.max_groups": 1}), change={})) == ()


def test_two_kinds_are_accepted_where_two_are_allowed(plan: Plan, case: Case) -> None:
    assert check(*_with_a_second_kind(plan, case)) == ()


def test_the_same_configuration_on_another_machine_is_the_same_kind(under: Under) -> None:
    # `lab` has neither spot nodes nor the option: the plan is refused, but not for its kinds.
    plan, case = under({"policy.max_groups": 1})
    moved = plan.serving[ON_SPOT].model_copy(update={"machine": "lab/h100x8/fra1"})
    rules = {one.rule for one in check(_with_group(plan, ON_SPOT, moved), case)}
    assert rules == {"capacity", "serving_options", "unused_nodes"}


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


@pytest.mark.parametrize(("load", "carry_all"), [(2.0, 2), (2.001, 3), (0.1 + 0.2, 1)])
def test_a_load_that_fills_whole_replicas_has_none_to_spare(load: float, carry_all: int) -> None:
    """A replica carries 1 request/s, 0.3 of them in the last case; four fill a node."""
    box = offer("4", gpus=4)
    rate = 0.3 if load < 1 else 1.0
    of = case_of(
        workloads(services=[service_entry(load, load)]), [box], serving=[serving(box, [rate])]
    )
    plan = assembled(of, solved(of))
    (group,) = plan.serving
    assert {step.replicas for step in group.steps} == {carry_all}
    steps = [one.model_copy(update={"replicas": carry_all + 1}) for one in group.steps]
    more = _with_group(plan, 0, group.model_copy(update={"steps": tuple(steps)}))
    (found,) = check(more, of)
    assert found.rule == "idle_replicas"
    assert found.message.startswith(f"{carry_all + 1} replicas, {carry_all} carry all")


@pytest.mark.parametrize("max_groups", [1, 2])
def test_a_tiny_load_of_one_size_class_counts_as_a_part_of_its_peak(max_groups: int) -> None:
    """1.9999 and 0.00001 requests/s need two replicas, but 0.0001 of the peak of 10 a third."""
    sizes = [{"input_tokens": 1000, "output_tokens": tokens, "share": 0.5} for tokens in (100, 200)]
    by_size = [[1.9999, 1.0, 1.0], [0.00001, 10.0, 0.0]]
    load = {"requests_per_s": {"step": "8 h", "by_size": by_size}}
    box = offer("4", gpus=8)
    of = case_of(
        workloads(
            services=[service_entry(1, 1, traffic=load, sizes=sizes)],
            policy={"max_groups": max_groups},
        ),
        [box],
        serving=[serving(box, [1.0, 1.0])],
    )
    plan = assembled(of, solved(of))
    (group,) = plan.serving
    assert [step.replicas for step in group.steps] == [3, 11, 1]
    assert check(plan, of) == ()


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


def test_the_machines_of_a_kind_are_held_to_its_load_together(under: Under) -> None:
    # 3 firm replicas and 2 on spot by a candidate of another name: 5 of one kind, 4 carry all.
    plan, case = _with_a_second_kind(*under({}), replicas=2, change={})
    (found,) = check(plan, case)
    assert (found.rule, found.message) == (
        "idle_replicas",
        "5 replicas, 4 carry all at 2026-12-01 00:00 (and in 127 more slots)",
    )


def test_the_slowest_candidate_of_a_kind_says_how_many_carry_all(under: Under) -> None:
    # At half the rates 6 / 2.5 + 2 / 1 are 4.4 replicas, so 5, and 1 spare.
    plan, case = _with_a_second_kind(*under({}), replicas=3, change={})
    option = case.serving[-1]
    rates = [
        one.model_copy(update={"requests_per_s": one.requests_per_s / 2})
        for one in option.candidate.rates
    ]
    slow = option.candidate.model_copy(update={"rates": tuple(rates)})
    group = plan.serving[ON_SPOT].model_copy(update={"candidate": slow})
    case = replace(case, serving=(*case.serving[:-1], replace(option, candidate=slow)))
    assert check(_with_group(plan, ON_SPOT, group), case) == ()
    step = group.steps[0].model_copy(update={"replicas": 4})
    (found,) = check(_with_group(plan, ON_SPOT, group.model_copy(update={"steps": (step,)})), case)
    assert found.message.startswith("7 replicas, 6 carry all")


def test_replicas_of_one_kind_come_and_go_in_one_order(under: Under) -> None:
    # 3 firm and 1 on spot at first; then 2 firm and 2 on spot, which is as many.
    plan, case = under({"policy.max_groups": 1})
    plan = _later(_later(plan, 1, 2), ON_SPOT, 2)
    found = [one for one in check(plan, case) if one.rule == "one_order"]
    assert [(one.subject, one.message) for one in found] == [
        (
            "chat/eu-west on aws/p5.48xlarge/us-east-1 (chat-tp2)",
            "has fewer replicas in a larger fleet at 2026-12-16 00:00",
        )
    ]


def test_where_several_kinds_may_serve_replicas_come_and_go_in_any_order(under: Under) -> None:
    plan, case = under({"policy.max_groups": 2})
    plan = _later(_later(plan, 1, 2), ON_SPOT, 2)
    assert "one_order" not in {one.rule for one in check(plan, case)}


def test_fleets_that_shrink_on_one_machine_after_the_other_are_in_order(under: Under) -> None:
    plan, case = under({"policy.max_groups": 1})
    plan = _later(_later(plan, 1, 2), ON_SPOT, 0)
    assert "one_order" not in {one.rule for one in check(plan, case)}


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


def _later(plan: Plan, number: int, replicas: int) -> Plan:
    """Change the replicas of a group for the second half of its one step."""
    group = plan.serving[number]
    (step,) = group.steps
    first = step.model_copy(update={"to_at": HALF_TIME})
    second = step.model_copy(update={"from_at": HALF_TIME, "replicas": replicas})
    steps = (first, second) if replicas else (first,)
    return _with_group(plan, number, group.model_copy(update={"steps": steps}))


def _with_a_second_kind(
    plan: Plan,
    case: Case,
    replicas: int = 1,
    change: Mapping[str, object] = MappingProxyType({"precision": Precision.BF16}),
) -> tuple[Plan, Case]:
    """Serve eu-west on spot by a candidate of another name, changed, with the same rates."""
    group = plan.serving[ON_SPOT]
    candidate = group.candidate.model_copy(update={"id": "chat-tp2-b", **change})
    step = group.steps[0].model_copy(update={"replicas": replicas})
    other = group.model_copy(update={"candidate": candidate, "steps": (step,)})
    option = replace(case.serving[ON_SPOT], candidate=candidate)
    return _with_group(plan, ON_SPOT, other), replace(case, serving=(*case.serving, option))


def _with_group(plan: Plan, number: int, group: ServingAssignment) -> Plan:
    serving = list(plan.serving)
    serving[number] = group
    return plan.model_copy(update={"serving": tuple(serving)})
