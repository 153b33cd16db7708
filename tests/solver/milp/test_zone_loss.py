"""The load is carried after the loss of any one zone: rows and costs worked out by hand.

A node is one replica here and carries 1 request/s, of which there are 4 all day.
"""

import pytest
from both_ways import both_ways, broken_without, cost_what_enumeration_finds, exact_usd
from changed_cases import placed, with_workloads
from priced_out import same_bound
from random_cases import random_case, zone_case
from solving import program_of, solved
from tiny_cases import offer, served_case, service_entry
from wide_cases import wide_case

from broker.domain.case import Case
from broker.domain.offer import Offer
from broker.domain.plan import Status
from solver.milp.build import build_sets
from solver.milp.dump import lines
from solver.milp.sets import has_hopeless_workload

_HOURS = 24


def _box(usd: str, zone: str) -> Offer:
    one = offer(usd)
    return one.model_copy(update={"place": one.place.model_copy(update={"zone": zone})})


A, B, C = _box("1", "a"), _box("2", "b"), _box("5", "c")


def test_two_zones_carry_the_load_twice_and_three_one_and_a_half_times() -> None:
    assert exact_usd(_of([A, B, C], 2)) == (4 * 1 + 4 * 2) * _HOURS
    assert exact_usd(_of([A, B, C], 3)) == (2 * 1 + 2 * 2 + 2 * 5) * _HOURS
    assert solved(_of([A, B], 3)).status is Status.INFEASIBLE
    assert solved(_of([A], 2)).status is Status.INFEASIBLE


def test_spares_and_the_least_number_are_part_of_the_fleet() -> None:
    """Of ten replicas asked for, four must be outside each zone: six of acme's cheap ones do."""
    assert exact_usd(_of([A, B], 2, min_replicas=10)) == (6 * 1 + 4 * 2) * _HOURS
    assert exact_usd(_of([A, B], 2, spares=5)) == (5 * 1 + 4 * 2) * _HOURS


def test_a_zone_to_spare_needs_two_and_one_kind() -> None:
    with pytest.raises(ValueError, match="spare_zone needs a zone to be left"):
        _of([A, B], 1)
    with pytest.raises(ValueError, match=r"spare_zone needs policy\.max_groups: 1"):
        _of([A, B], 2, policy={"max_groups": 2})


def test_rows_of_zone_loss() -> None:
    of = _of([A, B], 2)
    up = {at: " ".join(f"+1 replicas[{at},{block}]" for block in range(8)) for at in (0, 1)}
    assert list(lines(program_of(of), "zone_loss")) == [
        f"zone_loss[0,acme/here/a,0]: -4 kind_used[0] {up[0]} <= 0",
        f"zone_loss[0,acme/here/b,0]: -4 kind_used[0] {up[1]} <= 0",
    ]


def test_without_the_rows_a_plan_is_refused() -> None:
    of = _of([A, B], 2)
    (found,) = broken_without("zone_loss", of)
    assert (found.rule, found.subject) == ("spare_zone", "chat/us-east")
    start = "at 2026-12-01 00:00 (and in 2 more slots)"
    lost = "without acme/here/a 1 replicas are left, 4 carry the load"
    assert found.message == f"{lost}, {start}"


@pytest.mark.parametrize(
    "seed", [*range(14), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(14, 50))]
)
def test_lost_zones_cost_what_enumeration_finds(seed: int) -> None:
    cost_what_enumeration_finds(zone_case(seed, spare_zone=True), most_committed=8)


@pytest.mark.usefixtures("start_with_one_of_each")
def test_pricing_out_gives_the_bound_of_the_whole_relaxed_program() -> None:
    compared = 0
    for of in map(_many_machines, range(20)):
        sets = build_sets(of)
        if has_hopeless_workload(sets):
            continue
        if both := same_bound(sets):
            compared += len(both[0].groups or ()) < len(sets.groups)
    assert compared > 2


@pytest.mark.parametrize(
    "seeds", [range(6), pytest.param(range(6, 30), marks=pytest.mark.long)], ids=["few", "many"]
)
def test_step_by_step_costs_what_the_whole_program_does(seeds: range) -> None:
    for of in map(_many_machines, seeds):
        both_ways(of)


def _many_machines(seed: int) -> Case:
    drawn = wide_case(seed) if seed % 3 == 0 else random_case(seed, machines=(4, 6))
    places = {
        key: ("here", "abc"[(seed + number) % 3]) for number, key in enumerate(drawn.machines)
    }
    changes: dict[str, object] = {"policy.max_groups": 1}
    for at in range(len(drawn.workloads.services)):
        changes[f"services.{at}.min_replicas"] = 3
        changes[f"services.{at}.availability.min_zones"] = 2 + seed % 2
        changes[f"services.{at}.availability.spare_zone"] = True
    return with_workloads(placed(drawn, places), changes)


def _of(
    offers: list[Offer],
    zones: int,
    *,
    min_replicas: int = 3,
    spares: int = 0,
    policy: dict[str, object] | None = None,
) -> Case:
    asked = {"min_zones": zones, "spare_zone": True, "spare_replicas": spares}
    service = service_entry(4, 4, availability=asked, min_replicas=min_replicas)
    return served_case(offers, service, policy=policy)
