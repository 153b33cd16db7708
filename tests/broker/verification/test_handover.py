"""A plan in which replicas take turns without overlap is refused; one that overlaps is not."""

from dataclasses import replace

from served_plans import plan_of
from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.case import Case, ServingOption
from broker.domain.plan import Plan
from broker.verification.check import check

_LOAD = 1.0


def two_kinds(start_up: str = "10 min") -> tuple[Case, ServingOption, ServingOption]:
    """One replica of either of two kinds carries the constant load."""
    one, two = offer("1", name="one"), offer("1", name="two")
    first, second = serving(one, [_LOAD]), serving(two, [_LOAD])
    service = service_entry(_LOAD, _LOAD, start_up=start_up)
    file = workloads(services=[service], policy={"max_groups": 2})
    return case(file, [one, two], serving=[first, second]), first, second


def broken(plan: Plan, of: Case) -> list[str]:
    return [one.message for one in check(plan, of) if one.rule == "start_up"]


def test_a_kind_that_takes_over_without_overlap_leaves_the_start_up_unserved() -> None:
    of, first, second = two_kinds()
    swapped = plan_of(of, (first, {0: 1, 1: 1}), (second, {2: 1}))
    (message,) = broken(swapped, of)
    assert message == (
        "0 replicas stay in place while others start at 2026-12-01 16:00: too few for 1 requests/s"
    )


def test_a_kind_that_takes_over_after_a_slot_of_both_is_accepted() -> None:
    of, first, second = two_kinds()
    assert broken(plan_of(of, (first, {0: 1, 1: 1}), (second, {1: 1, 2: 1})), of) == []


def test_a_rate_that_is_hardly_any_carries_nothing_and_stops_no_check() -> None:
    of, first, second = two_kinds()
    rates = (first.candidate.rates[0].model_copy(update={"requests_per_s": 5e-324}),)
    slow = replace(first, candidate=first.candidate.model_copy(update={"rates": rates}))
    swapped = plan_of(of, (slow, {0: 1, 1: 1}), (second, {1: 1, 2: 1}))
    assert len(broken(swapped, of)) == 1


def test_replicas_that_start_at_once_may_take_turns() -> None:
    of, first, second = two_kinds(start_up="0 s")
    assert broken(plan_of(of, (first, {0: 1, 1: 1}), (second, {2: 1})), of) == []


def test_a_start_up_longer_than_a_slot_counts_in_every_slot_that_it_touches() -> None:
    of, first, second = two_kinds(start_up="9 h")
    overlapping = plan_of(of, (first, {0: 1, 1: 1}), (second, {1: 1, 2: 1}))
    assert len(broken(overlapping, of)) == 1
    assert broken(plan_of(of, (first, {0: 1, 1: 1, 2: 1}), (second, {1: 1})), of) == []
