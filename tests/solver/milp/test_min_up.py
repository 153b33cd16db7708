"""Least times up: the fleets of kinds by hand and by enumeration, and plans with them.

A node is one replica and carries 1 request/s; a slot has 4 hours.
"""

import itertools
import random
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from both_ways import both_ways, cost_what_enumeration_finds, exact_optimum, exact_usd
from changed_cases import with_workloads
from priced_out import penalties_held, same_bound
from pydantic import ValidationError
from random_cases import random_case, steady_case
from scenario_cases import scenario_case
from solving import EXACT, assembled, least_usd, no_dearer, same_cost, solved
from tiny_cases import offer, served_case, service_entry
from wide_cases import wide_case

from broker.domain.case import Case
from broker.domain.plan import ServingAssignment, Status
from broker.verification.check import check
from solver.milp.build import build_sets
from solver.milp.min_up import fewest_up
from solver.milp.optimize import optimize
from solver.milp.prune import prune
from solver.milp.sets import has_hopeless_workload

BOX = offer("1")
MANY = [*range(16), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(16, 120))]


@pytest.mark.parametrize(
    ("wanted", "slots", "up"),
    [
        ([0, 1, 0, 0], 1, [0, 1, 0, 0]),
        ([0, 1, 0, 0], 2, [0, 1, 1, 0]),
        ([0, 1, 1, 1], 3, [0, 1, 1, 1]),
        ([0, 0, 0, 1], 3, [0, 0, 0, 1]),  # the end of the horizon ends it
        ([1, 0, 0, 0], 3, [1, 1, 1, 0]),
        ([1, 0, 0, 0, 1, 0, 0, 0], 3, [1, 1, 1, 1, 1, 0, 0, 0]),  # staying costs 5, twice 3 is 6
        ([1, 0, 0, 1, 0, 0], 2, [1, 1, 0, 1, 1, 0]),  # two ways cost 4: the later one
        ([0, 1, 2, 0, 0, 0], 3, [0, 2, 2, 2, 0, 0]),  # the second comes early, so both may go
        ([1, 1, 2, 1, 1, 0], 3, [1, 1, 2, 2, 2, 0]),  # the second one stays, and the first does
        ([0, 1, 2, 1, 0, 0], 2, [0, 1, 2, 2, 0, 0]),
    ],
)
def test_what_is_up_is_the_least_that_keeps_the_time(
    wanted: list[int], slots: int, up: list[int]
) -> None:
    assert fewest_up(np.array(wanted), slots).tolist() == up


def test_no_series_of_fewer_replica_hours_keeps_the_time() -> None:
    draw = random.Random(7)  # noqa: S311 - instances, not secrets
    for _ in range(150):
        wanted = [draw.choice([0, draw.randint(0, 3)]) for _ in range(draw.randint(1, 7))]
        slots = draw.randint(2, 5)
        every = itertools.product(*(range(one, max(wanted) + 1) for one in wanted))
        best = min((one for one in every if _keeps(one, slots)), key=lambda one: (sum(one), *one))
        assert fewest_up(np.array(wanted), slots).tolist() == list(best)


def test_less_load_or_a_shorter_time_never_has_more_replica_hours() -> None:
    draw = random.Random(8)  # noqa: S311 - instances, not secrets
    for _ in range(200):
        wanted = np.array([draw.choice([0, 0, draw.randint(0, 4)]) for _ in range(40)])
        slots = draw.randint(2, 9)
        hours = fewest_up(wanted, slots).sum()
        assert fewest_up(wanted, slots - 1).sum() <= hours
        assert fewest_up(np.maximum(wanted - draw.randint(0, 2), 0), slots).sum() <= hours


def test_a_replica_stays_through_the_night_that_is_shorter_than_its_time() -> None:
    """Two replicas are wanted from 8 to 12 and from 20 on, one else; each stays for 12 hours."""
    of = _stepwise([1, 1, 2, 1, 1, 2], "12 h")
    found = exact_optimum(of)
    (group,) = found.serving
    assert {one.from_at.hour: one.replicas for one in group.steps} == {
        0: 1,
        8: 2,
        12: 2,
        20: 2,
    }
    assert float(found.total_usd) == 4 * (6 + 4)
    assert exact_usd(_stepwise([1, 1, 2, 1, 1, 2], "0 s")) == 4 * (6 + 2)


def test_slots_are_planned_alike_only_where_as_many_are_up() -> None:
    """Of four slots that ask for nothing, the one after the peak keeps its replica."""
    sets = build_sets(_stepwise([0, 1, 0, 0, 0, 0], "8 h"))
    assert [period.slots for period in sets.periods] == [(0, 3, 4, 5), (1,), (2,)]
    free = build_sets(_stepwise([0, 1, 0, 0, 0, 0], "4 h"))
    assert [period.slots for period in free.periods] == [(0, 2, 3, 4, 5), (1,)]


def test_several_kinds_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"services.chat.min_up_time needs policy.max_groups"):
        served_case([BOX], _entry([1.0], "8 h"), policy={"max_groups": 2})


def test_a_time_of_more_than_a_day_is_refused() -> None:
    with pytest.raises(ValidationError, match="1 day, 1:00:00 is more than a day; write 24 h"):
        served_case([BOX], _entry([1.0], "25 h"))


def test_a_plan_whose_replicas_go_too_soon_is_refused() -> None:
    of = _stepwise([1, 2, 1, 1, 1, 1], "0 s")
    plan = assembled(of, solved(of))
    asked = _stepwise([1, 2, 1, 1, 1, 1], "8 h")
    told = plan.model_copy(update={"workloads": asked.workloads})
    (found,) = check(told, asked)
    assert found.rule == "min_up_time"
    assert found.message == (
        "not all of 2 replicas have been up for 8:00:00 when fewer are left at 2026-12-01 08:00"
    )


def test_a_plan_whose_replicas_stay_for_longer_than_they_must_is_refused() -> None:
    of = _stepwise([0, 1, 0, 0, 0, 0], "12 h")
    plan = assembled(of, solved(of))
    assert check(plan, of) == ()
    asked = _stepwise([0, 1, 0, 0, 0, 0], "8 h")
    told = plan.model_copy(update={"workloads": asked.workloads})
    assert {one.rule for one in check(told, asked)} == {"idle_replicas"}


@pytest.mark.parametrize("seed", MANY)
def test_least_times_up_cost_what_enumeration_finds(seed: int) -> None:
    cost_what_enumeration_finds(steady_case(seed), most_committed=3)


def test_least_times_up_cost_money_in_many_random_cases() -> None:
    free = [
        with_workloads(steady_case(seed), {"services.0.min_up_time": "0 s"}) for seed in range(16)
    ]
    bound = [least_usd(steady_case(seed)) for seed in range(16)]
    dearer = [not same_cost(usd, least_usd(one)) for usd, one in zip(bound, free, strict=True)]
    assert sum(dearer) > 8
    assert all(no_dearer(least_usd(one), usd) for usd, one in zip(bound, free, strict=True))


@pytest.mark.usefixtures("start_with_one_of_each")
def test_pricing_out_gives_the_bound_of_the_whole_relaxed_program() -> None:
    held = 0
    for of in _many_machines(range(10)):
        sets = build_sets(of)
        held += not has_hopeless_workload(sets) and same_bound(sets) is not None
    assert held > 7


def test_a_plan_with_a_kind_or_option_costs_its_penalty_more_than_the_bound() -> None:
    assert sum(penalties_held(build_sets(of)) for of in _many_machines(range(4))) > 8


@pytest.mark.parametrize(
    "seeds", [range(3), pytest.param(range(3, 60), marks=pytest.mark.long)], ids=["few", "many"]
)
def test_step_by_step_and_pruned_it_costs_what_the_whole_program_does(seeds: range) -> None:
    for of in _many_machines(seeds):
        whole, _ = both_ways(of)
        pruned = solved(prune(of).case)
        assert pruned.status is whole.status
        assert same_cost(float(pruned.total_usd), float(whole.total_usd))


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_plans_over_scenarios_keep_the_time_in_each(seed: int) -> None:
    of = with_workloads(
        scenario_case(seed),
        {"policy.max_groups": 1, "horizon.slot": "4 h", "services.0.min_up_time": "12 h"},
    )
    found = optimize(of, EXACT)
    assert found.status is not Status.INFEASIBLE
    plan = assembled(of, found)
    assert check(plan, of) == ()
    steady = [_fleet(plan.serving)] + [
        _fleet(one.serving) for one in (plan.scenarios.scenarios if plan.scenarios else ())
    ]
    assert len(steady) > 1
    assert all(_keeps(one, 3) for one in steady if any(one))


def _fleet(serving: Sequence[ServingAssignment]) -> tuple[int, ...]:
    """Count the replicas in each slot of the day."""
    count = [0] * 6
    for group in serving:
        for step in group.steps:
            first = step.from_at.hour // 4
            slots = int((step.to_at - step.from_at).total_seconds()) // (4 * 3600)
            for slot in range(first, first + slots):
                count[slot] += step.replicas
    return tuple(count)


def _keeps(series: tuple[int, ...], slots: int) -> bool:
    """Say whether each replica of a series stays up for so many slots, or to the end."""
    up_for = [0] * max(series)
    for count in series:
        for number in range(len(up_for)):
            if number < count:
                up_for[number] += 1
            elif up_for[number] in range(1, slots):
                return False
            else:
                up_for[number] = 0
    return True


def _many_machines(seeds: range) -> Iterator[Case]:
    """Draw cases of many machines whose services have bursts, and stay up for a time."""
    for seed in seeds:
        draw = random.Random(f"steady {seed}")  # noqa: S311 - instances, not secrets
        few = random_case(seed, machines=(4, 6), providers=("acme", "zeta"))
        drawn = wide_case(seed) if seed % 2 else few
        slots = drawn.workloads.horizon.days * 4
        changes: dict[str, object] = {"policy.max_groups": 1, "horizon.slot": "6 h"}
        for number, service in enumerate(drawn.workloads.services):
            loads = [draw.choice([0, 0, draw.uniform(0.5, 6)]) for _ in range(slots)]
            loads[draw.randrange(slots)] = draw.uniform(1, 6)
            rows = [[size.share * load for load in loads] for size in service.sizes]
            changes[f"services.{number}.traffic.requests_per_s"] = {"step": "6 h", "by_size": rows}
            changes[f"services.{number}.min_up_time"] = draw.choice(["8 h", "16 h", "24 h"])
        yield with_workloads(drawn, changes)


def _entry(loads: list[float], least: str) -> dict[str, object]:
    series = {"requests_per_s": {"step": "4 h", "by_size": [loads]}}
    return service_entry(1, 1, traffic=series, min_replicas=0, min_up_time=least)


def _stepwise(loads: list[float], least: str) -> Case:
    return served_case([BOX], _entry(loads, least), slot="4 h")
