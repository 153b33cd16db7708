"""Burst kinds in the workloads file: what they are by default, and what is refused."""

from datetime import timedelta

import pytest
from tiny_cases import service_entry, workloads

from broker.domain.policy import Policy
from broker.domain.workload import Workloads


def asked(burst: object, *, slot: str = "4 h", **more: object) -> Workloads:
    entry = service_entry(1, 1, **more)
    return workloads(services=[entry], policy={"burst": burst}, slot=slot)


def test_by_default_there_are_none_and_then_one_a_day() -> None:
    assert Policy().burst is None
    assert "burst" not in Policy().model_dump()
    burst = asked({}).policy.burst
    assert burst is not None
    assert (burst.max_groups, burst.change_every) == (1, timedelta(days=1))


def test_one_kind_serves_only_where_none_is_beside_it() -> None:
    assert Policy().has_one_kind
    assert not Policy(max_groups=2).has_one_kind
    assert not asked({}).policy.has_one_kind
    assert asked({"max_groups": 2}).policy.most_groups == 3


@pytest.mark.parametrize(
    ("burst", "slot", "told"),
    [
        ({"change_every": "6 h"}, "4 h", "policy.burst.change_every 6:00:00 is not a whole number"),
        ({"change_every": "3 h"}, "4 h", "write a multiple of the slot, or shorter slots"),
        ({"change_every": "30 min"}, "30 min", "0:30:00 is less than an hour; write 1 h or more"),
        ({"change_every": "0 h"}, "4 h", "0:00:00 is less than an hour; write 1 h or more"),
        ({"max_groups": 0}, "4 h", "greater than or equal to 1"),
    ],
)
def test_windows_are_whole_slots_and_an_hour_at_least(burst: object, slot: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        asked(burst, slot=slot)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"min_up_time": "8 h"}, "min_up_time needs policy.max_groups: 1 and no policy.burst"),
        (
            {"availability": {"min_zones": 2, "spare_zone": True}, "min_replicas": 2},
            "spare_zone needs policy.max_groups: 1 and no policy.burst",
        ),
        ({"disaggregated": True}, "cannot be had with policy.burst; leave that out"),
    ],
)
def test_what_needs_one_kind_cannot_be_had_beside(more: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        asked({}, **more)


def test_scenarios_cannot_be_had_beside() -> None:
    scenarios = [{"name": "more", "probability": 0.5, "load": {"all": 2}}]
    policy = {"burst": {}, "robust": {"scenarios": scenarios}}
    with pytest.raises(ValueError, match="burst and robust cannot be had together"):
        workloads(services=[service_entry(1, 1)], policy=policy)
