"""Kinds that serve for a time alone: which plans keep to the windows, and which are refused.

Three kinds, of GPUs of their own, may serve a constant load over two days in slots of 8 h.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from served_plans import plan_of
from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.case import Case
from broker.verification.check import check

_SLOTS = 6


def served(
    burst: Mapping[str, object] | None, *fleets: Sequence[int], **policy: object
) -> list[str]:
    """Say what is wrong with the kinds of a plan, each of which has replicas in some slots."""
    of = _case(policy | ({} if burst is None else {"burst": burst}))
    groups = [
        (option, dict.fromkeys(slots, 1)) for option, slots in zip(of.serving, fleets, strict=False)
    ]
    return [one.message for one in check(plan_of(of, *groups), of) if one.rule == "groups"]


def _case(policy: Mapping[str, object]) -> Case:
    boxes = [offer("1", name=name) for name in ("one", "two", "three")]
    options = []
    for gpu, box in zip(("H100-SXM", "H200-SXM", "L40S"), boxes, strict=True):
        option = serving(box, [1.0])
        candidate = option.candidate.model_copy(update={"gpu": gpu})
        options.append(replace(option, candidate=candidate))
    file = workloads(services=[service_entry(1, 1)], days=2, policy=policy)
    return case(file, boxes, serving=options)


ALL = range(_SLOTS)


def test_one_kind_beside_another_is_accepted_in_every_window() -> None:
    assert served({}, ALL, [1, 2]) == []
    assert served({}, ALL, ALL) == []
    assert served(None, ALL, [1, 2]) == ["2 kinds of replica serve it, 1 are the most"]


def test_another_kind_may_follow_with_the_next_window() -> None:
    assert served({}, ALL, [0, 1, 2], [3, 4]) == []
    (message,) = served({}, ALL, [0, 1], [2, 3])
    assert message == (
        "more than 1 kinds of replica for the horizon and 1 others in each 1 day, 0:00:00 serve "
        "it, 3 of them at 2026-12-01 00:00 (and in 2 more slots)"
    )


def test_windows_are_counted_from_the_start_and_the_last_may_be_short() -> None:
    every = {"change_every": "32 h"}
    assert served(every, ALL, [0, 3], [4, 5]) == []
    assert len(served(every, ALL, [0, 3], [3, 5])) == 1


@pytest.mark.parametrize("kinds", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_the_kind_that_is_kept_is_the_one_that_suits(kinds: tuple[int, int, int]) -> None:
    fleets = [[0, 1, 2, 3, 5], [0], [4]]
    assert served({}, *(fleets[one] for one in kinds)) == []


def test_no_kind_needs_to_be_kept() -> None:
    every = {"change_every": "8 h"}
    assert served(every, [0, 3], [1, 4], [2, 5]) == []


def test_more_kinds_may_be_kept_or_serve_for_a_time() -> None:
    assert len(served({}, ALL, ALL, [0])) == 1
    assert served({}, ALL, ALL, [0], max_groups=2) == []
    assert served({"max_groups": 2}, ALL, ALL, [0]) == []
