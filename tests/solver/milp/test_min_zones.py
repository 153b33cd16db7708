"""A service's replicas are in several zones at all times: rows and costs worked out by hand.

A node is one replica here and carries 1 request/s. A day has three slots of 8 hours.
"""

from collections.abc import Iterator

import numpy as np
import pytest
from both_ways import both_ways, broken_without, cost_what_enumeration_finds, exact_usd
from changed_cases import placed, with_workloads
from priced_out import same_bound
from random_cases import random_case, zone_case
from solving import least_usd, program_of, same_cost, solved
from tiny_cases import offer, served_case, service_entry
from wide_cases import wide_case

from broker.domain.case import Case
from broker.domain.offer import Offer
from broker.domain.plan import Status
from solver.milp.build import build_sets
from solver.milp.dump import lines
from solver.milp.sets import has_hopeless_workload
from solver.milp.zones import zones_of

_HOURS = 24


def _box(usd: str, zone: str | None, *, region: str = "here", provider: str = "acme") -> Offer:
    one = offer(usd, provider=provider)
    place = one.place.model_copy(update={"region": region, "zone": zone})
    return one.model_copy(update={"place": place})


A, B, C = _box("1", "a"), _box("2", "b"), _box("5", "c")


@pytest.mark.parametrize("max_groups", [1, 2])
def test_so_many_zones_have_a_replica_each_and_the_cheapest_has_the_rest(max_groups: int) -> None:
    usd = [exact_usd(_of([A, B, C], zones, max_groups=max_groups)) for zones in (1, 2, 3)]
    assert usd == [4 * 1 * _HOURS, (3 * 1 + 2) * _HOURS, (2 * 1 + 2 + 5) * _HOURS]
    assert solved(_of([A, B, C], 4, max_groups=max_groups)).status is Status.INFEASIBLE


@pytest.mark.parametrize("max_groups", [1, 2])
def test_a_fleet_that_shrinks_stays_in_its_zones(max_groups: int) -> None:
    """8 h of 2, of 4, and of 3 replicas: one is in b all day."""
    load = {"requests_per_s": {"step": "8 h", "by_size": [[2.0, 4.0, 3.0]]}}
    of = _of([A, B], 2, max_groups=max_groups, traffic=load)
    assert exact_usd(of) == 8 * (1 + 3 + 2) + _HOURS * 2


def test_where_a_machine_names_no_zone_its_region_is_one() -> None:
    anywhere, elsewhere = _box("4", None), _box("9", None, region="there")
    of = _of([A, B, anywhere, elsewhere], 2)
    assert set(zones_of(of).values()) == {"acme/here", "acme/there"}
    assert exact_usd(of) == (3 * 1 + 9) * _HOURS
    assert solved(_of([A, B, anywhere], 2)).status is Status.INFEASIBLE


def test_a_resold_machine_stands_in_a_zone_of_the_cloud_behind_it() -> None:
    resold = _box("2", "a", provider="shop").model_copy(update={"operator": "acme"})
    assert solved(_of([A, resold], 2)).status is Status.INFEASIBLE
    assert exact_usd(_of([A, _box("2", "a", provider="bolt")], 2)) == (3 * 1 + 2) * _HOURS


def test_zones_need_a_replica_each_also_without_load() -> None:
    with pytest.raises(ValueError, match="min_zones 2 needs a replica in each; min_replicas is 1"):
        _of([A, B], 2, min_replicas=1)


def test_rows_under_one_kind_look_at_the_smallest_fleet() -> None:
    load = {"requests_per_s": {"step": "8 h", "by_size": [[3.0, 2.0, 3.0]]}}
    of = _of([A, B], 2, traffic=load)
    assert list(lines(program_of(of), "min_zones")) == [
        "min_zones[enough,0]: 2 <= +1 zone_used[0] +1 zone_used[1]",
        "min_zones[used,0,acme/here/a,0]: +1 zone_used[0] -1 replicas[0,0] -1 replicas[0,1] <= 0",
        "min_zones[used,0,acme/here/b,0]: +1 zone_used[1] -1 replicas[1,0] -1 replicas[1,1] <= 0",
    ]


def test_rows_where_kinds_mix_look_at_each_period() -> None:
    load = {"requests_per_s": {"step": "12 h", "by_size": [[3.0, 2.0]]}}
    of = _of([A, B], 2, max_groups=2, traffic=load, slot="12 h")
    assert list(lines(program_of(of), "min_zones")) == [
        "min_zones[enough,0]: 2 <= +1 zone_used[0] +1 zone_used[1]",
        "min_zones[used,0,acme/here/a,0]: +1 zone_used[0] -1 replicas[0,0] <= 0",
        "min_zones[used,0,acme/here/a,1]: +1 zone_used[0] -1 replicas[0,1] <= 0",
        "min_zones[used,0,acme/here/b,0]: +1 zone_used[1] -1 replicas[1,0] <= 0",
        "min_zones[used,0,acme/here/b,1]: +1 zone_used[1] -1 replicas[1,1] <= 0",
    ]


@pytest.mark.parametrize("max_groups", [1, 2])
def test_without_the_rows_a_plan_is_refused(max_groups: int) -> None:
    of = _of([A, B], 2, max_groups=max_groups)
    (found,) = broken_without("min_zones", of)
    assert (found.rule, found.subject) == ("min_zones", "chat/us-east")
    assert found.message == "has a replica at all times in acme/here/a; 2 zones are right"


@pytest.mark.parametrize(
    "seed", [*range(14), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(14, 60))]
)
def test_zones_cost_what_enumeration_finds(seed: int) -> None:
    cost_what_enumeration_finds(zone_case(seed), most_committed=3)


def test_zones_cost_something_in_many_random_cases() -> None:
    dearer = 0
    for seed in range(30):
        of = zone_case(seed)
        usd = least_usd(of)
        free = least_usd(with_workloads(of, {"services.0.availability.min_zones": 1}))
        dearer += np.isfinite(usd) and not same_cost(usd, free)
    assert dearer > 5


@pytest.mark.usefixtures("start_with_one_of_each")
def test_pricing_out_gives_the_bound_of_the_whole_relaxed_program() -> None:
    compared = 0
    for of in _many_machines(range(40)):
        sets = build_sets(of)
        if has_hopeless_workload(sets) or not sets.has_one_kind:
            continue
        if both := same_bound(sets):
            compared += len(both[0].groups or ()) < len(sets.groups)
    assert compared > 5


@pytest.mark.parametrize(
    "seeds", [range(8), pytest.param(range(8, 40), marks=pytest.mark.long)], ids=["few", "many"]
)
def test_step_by_step_costs_what_the_whole_program_does(seeds: range) -> None:
    for of in _many_machines(seeds):
        both_ways(of)


def _many_machines(seeds: range) -> Iterator[Case]:
    """Draw cases with many machines in a few zones, which services must be in two or three of."""
    for seed in seeds:
        drawn = wide_case(seed) if seed % 2 == 0 else random_case(seed, machines=(4, 6))
        places = {
            key: (("here", "there")[number % 2], "abc"[(seed + number) % 3])
            for number, key in enumerate(sorted(drawn.machines))
        }
        asked = 2 + seed % 2
        changes: dict[str, object] = {"policy.max_groups": 2 if seed % 5 == 4 else 1}
        for at in range(len(drawn.workloads.services)):
            changes[f"services.{at}.min_replicas"] = asked
            changes[f"services.{at}.availability.min_zones"] = asked
        yield with_workloads(placed(drawn, places), changes)


def _of(
    offers: list[Offer],
    zones: int,
    *,
    max_groups: int = 1,
    min_replicas: int | None = None,
    slot: str = "8 h",
    **more: object,
) -> Case:
    least = zones if min_replicas is None else min_replicas
    service = service_entry(4, 4, availability={"min_zones": zones}, min_replicas=least, **more)
    return served_case(offers, service, policy={"max_groups": max_groups}, slot=slot)
