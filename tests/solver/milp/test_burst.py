"""Kinds of replica that serve for a time beside those that are kept for the horizon."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from burst_cases import burst_case, burst_handover_case, three_sizes, two_sizes_case
from changed_cases import with_workloads
from inline_snapshot import snapshot
from oracle import INFEASIBLE, Tiny, cheapest_usd
from rows_text import rows_text
from solving import (
    EXACT,
    assembled,
    least_usd,
    no_dearer,
    objective_usd,
    program_of,
    same_cost,
    solution_of,
    solved,
)
from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.case import Case
from broker.domain.offer import PriceKind
from broker.domain.plan import Status
from broker.domain.workload import Workloads
from broker.verification.check import check
from solver.milp import periods
from solver.milp.optimize import optimize, relaxed_bound_usd
from solver.milp.optimum import optimum_of
from solver.milp.relax import solve_relaxed
from solver.milp.rows import some_of

_SLOT_H = 8
_CENT = 0.01


@pytest.mark.parametrize("seed", range(40))
def test_burst_kinds_cost_what_enumeration_finds(seed: int) -> None:
    _agrees(burst_case(seed), most_committed=4)


@pytest.mark.parametrize("seed", range(40))
def test_small_kinds_beside_large_ones_cost_what_enumeration_finds(seed: int) -> None:
    _agrees(two_sizes_case(seed), most_committed=3)


@pytest.mark.parametrize("seed", range(20))
def test_burst_kinds_that_need_time_to_start_do_too(seed: int) -> None:
    _agrees(burst_handover_case(seed), most_committed=0)


def test_many_of_these_plans_are_cheaper_by_their_burst_kinds() -> None:
    drawn = [two_sizes_case(seed) for seed in range(20)]
    costs = [(least_usd(one), least_usd(with_workloads(one, _NONE))) for one in drawn]
    cheaper = [usd < without and not same_cost(usd, without) for usd, without in costs]
    assert sum(cheaper) >= len(drawn) // 3


@pytest.mark.parametrize(
    ("burst", "usd_per_hour"),
    [
        (None, [2.2, 2.2, 4.4]),
        ({}, [1, 3, 3.3]),
        ({"change_every": "16 h"}, [1, 2.2, 3.3]),
        ({"change_every": "8 h"}, [1, 2.2, 3.3]),
        ({"max_groups": 2}, [1, 2.2, 3.3]),
    ],
    ids=["none", "one a day", "one in 16 h", "one in 8 h", "two a day"],
)
def test_so_many_kinds_serve_beside_one(burst: object, usd_per_hour: Sequence[float]) -> None:
    of = three_sizes(burst=burst)
    optimum = optimize(of, EXACT)
    assert float(optimum.total_usd) == pytest.approx(sum(usd_per_hour) * _SLOT_H)
    assert check(assembled(of, optimum), of) == ()


@pytest.mark.parametrize("seed", range(40, 70))
def test_the_whole_way_to_a_plan_finds_the_cheapest(seed: int) -> None:
    of = two_sizes_case(seed)
    usd = least_usd(of)
    optimum = optimize(of, EXACT)
    assert same_cost(float(optimum.total_usd), usd)
    assert no_dearer(float(optimum.bound_usd), usd)
    assert no_dearer(relaxed_bound_usd(of), usd)


@pytest.mark.parametrize("seed", [31, 156, 158, 233, 257])
def test_a_kind_that_is_dear_for_the_horizon_is_kept_for_a_window(seed: int) -> None:
    """Its spares at all times would cost more than the plan in which it serves for a while."""
    spares = {"services.0.availability.spare_replicas": 1, "services.0.min_replicas": 0}
    of = with_workloads(two_sizes_case(seed), spares)
    program = program_of(of)
    relaxed, values = solve_relaxed(program), solution_of(program).values
    assert relaxed is not None
    usd = float(program.cost @ values)
    used = program.columns.burst_used.of(values).any(axis=1)
    always_usd = relaxed.bound_usd + program.columns.kind_used.of(relaxed.reduced_usd)
    assert (used & (always_usd > usd + _CENT)).any()
    assert not (used & (relaxed.bound_usd + relaxed.kind_penalty_usd > usd + _CENT)).any()


def test_a_kind_that_serves_at_all_times_is_no_burst_kind_beside() -> None:
    """Else it could have twice the replicas, and those that stand idle would justify a year.

    A second node is needed two days of five, and a year of it pays from 44 % of its time on.
    """
    names = ("one", "two")
    boxes = [offer("1", name=name) for name in names]
    years = [offer("0.38", name=name, kind=PriceKind.RESERVED, term_months=12) for name in names]
    load = {"step": "24 h", "by_size": [[0.9, 0.9, 0.9, 1.8, 1.8]]}
    file = workloads(
        services=[service_entry(1, 1, traffic={"requests_per_s": load})],
        policy={"burst": {}, "price_trend_per_year": -0.25},
        horizon={"start": "2026-12-01", "days": 5, "slot": "24 h"},
    )
    of = case(file, [*boxes, *years], serving=[serving(box, [1]) for box in boxes])
    program = program_of(of)
    assert objective_usd(program, solution_of(program)) == pytest.approx(0.38 * 120 + 48)
    limits = next(rows for rows in program.families if rows.family == "burst_limit")
    kept = np.array([at for at, key in enumerate(limits.keys) if key[0] != "once"])
    families = [some_of(one, kept) if one is limits else one for one in program.families]
    without = replace(program, families=tuple(families))
    optimum = optimum_of(without, solution_of(without), EXACT)
    assert float(optimum.total_usd) == pytest.approx(2 * 0.38 * 120)
    assert {one.rule for one in check(assembled(of, optimum), of)} == {"idle_replicas"}


def test_days_that_are_alike_are_one_window() -> None:
    week = {"horizon.start": "2026-12-07", "horizon.days": 14}
    curve = {"mean": 1, "peak": 2, "weekend_factor": 0.5}
    changes = {**week, "services.0.traffic.requests_per_s": curve}
    sets = program_of(with_workloads(three_sizes(burst={}), changes)).sets
    assert sets.burst_windows == 2
    assert [(one.window, len(one.slots)) for one in sets.periods] == [(0, 10)] * 3 + [(1, 4)] * 3


def test_equal_slots_of_days_that_differ_are_apart() -> None:
    """The second day has the loads of the first in another order, and another kind may serve."""
    load = {"step": "8 h", "by_size": [[0.9, 2.5, 2.5, 2.5, 2.5, 0.9]]}
    changes = {"horizon.days": 2, "services.0.traffic.requests_per_s": load}
    sets = program_of(with_workloads(three_sizes(burst={}), changes)).sets
    assert [(one.window, one.slots) for one in sets.periods] == [
        (0, (0,)),
        (0, (1, 2)),
        (1, (3, 4)),
        (1, (5,)),
    ]


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_lost_where_windows_that_are_alike_are_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = with_workloads(two_sizes_case(seed), {"horizon.days": 3, **_REPEATED})
    usd, few = least_usd(of), program_of(of).sets.burst_windows
    monkeypatch.setattr(periods, "_burst_windows", _each_window)
    assert program_of(of).sets.burst_windows > few
    assert same_cost(least_usd(of), usd)


def test_rows_of_burst_limit() -> None:
    of = three_sizes(max_groups=2, burst={"change_every": "16 h"})
    changes = {
        "services.0.min_replicas": 0,
        "services.0.traffic.requests_per_s.by_size": [[0.9, 2.5, 0.0]],
    }
    program = program_of(with_workloads(of, changes))
    assert rows_text(program, "kind_limit") == snapshot(
        "kind_limit[0]: 0 <= +1 kind_used[0] +1 kind_used[1] +1 kind_used[2] <= 2\n"
    )
    assert rows_text(program, "burst_limit") == snapshot("""\
burst_limit[most,0,0]: +1 burst_used[0,0] +1 burst_used[1,0] +1 burst_used[2,0] <= 1
burst_limit[most,0,1]: +1 burst_used[0,1] +1 burst_used[1,1] +1 burst_used[2,1] <= 1
burst_limit[some,0,0]: 1 <= +1 burst_used[0,0] +1 burst_used[1,0] +1 burst_used[2,0]
    +1 kind_used[0] +1 kind_used[1] +1 kind_used[2]
burst_limit[some,0,1]: 0 <= +1 burst_used[0,1] +1 burst_used[1,1] +1 burst_used[2,1]
    +1 kind_used[0] +1 kind_used[1] +1 kind_used[2]
burst_limit[once,0,0]: +1 burst_used[0,0] +1 kind_used[0] <= 1
burst_limit[once,0,1]: +1 burst_used[0,1] +1 kind_used[0] <= 1
burst_limit[once,1,0]: +1 burst_used[1,0] +1 kind_used[1] <= 1
burst_limit[once,1,1]: +1 burst_used[1,1] +1 kind_used[1] <= 1
burst_limit[once,2,0]: +1 burst_used[2,0] +1 kind_used[2] <= 1
burst_limit[once,2,1]: +1 burst_used[2,1] +1 kind_used[2] <= 1
""")


def test_rows_that_count_kinds_count_those_in_force() -> None:
    of = three_sizes(burst={"change_every": "16 h"})
    program = program_of(with_workloads(of, {"services.0.availability.spare_replicas": 1}))
    assert rows_text(program, "kind_link") == snapshot("""\
kind_link[0,0]: +1 replicas[0,0] -2 kind_used[0] -2 burst_used[0,0] <= 0
kind_link[0,1]: +1 replicas[0,1] -4 kind_used[0] -4 burst_used[0,0] <= 0
kind_link[0,2]: +1 replicas[0,2] -6 kind_used[0] -6 burst_used[0,1] <= 0
kind_link[1,0]: +1 replicas[1,0] -2 kind_used[1] -2 burst_used[1,0] <= 0
kind_link[1,1]: +1 replicas[1,1] -2 kind_used[1] -2 burst_used[1,0] <= 0
kind_link[1,2]: +1 replicas[1,2] -3 kind_used[1] -3 burst_used[1,1] <= 0
kind_link[2,0]: +1 replicas[2,0] -2 kind_used[2] -2 burst_used[2,0] <= 0
kind_link[2,1]: +1 replicas[2,1] -2 kind_used[2] -2 burst_used[2,0] <= 0
kind_link[2,2]: +1 replicas[2,2] -2 kind_used[2] -2 burst_used[2,1] <= 0
""")
    assert rows_text(program, "fewest_replicas") == snapshot("""\
fewest_replicas[0,0]: 1 <= +1 replicas[0,0] +1 replicas[1,0] +1 replicas[2,0]
    -1 kind_used[0] -1 burst_used[0,0] -1 kind_used[1] -1 burst_used[1,0] -1 kind_used[2]
    -1 burst_used[2,0]
fewest_replicas[0,1]: 1 <= +1 replicas[0,1] +1 replicas[1,1] +1 replicas[2,1]
    -1 kind_used[0] -1 burst_used[0,0] -1 kind_used[1] -1 burst_used[1,0] -1 kind_used[2]
    -1 burst_used[2,0]
fewest_replicas[0,2]: 1 <= +1 replicas[0,2] +1 replicas[1,2] +1 replicas[2,2]
    -1 kind_used[0] -1 burst_used[0,1] -1 kind_used[1] -1 burst_used[1,1] -1 kind_used[2]
    -1 burst_used[2,1]
""")
    assert rows_text(program, "serve_load") == snapshot("""\
serve_load[0,0,0]: 1 <= +1 replicas[0,0] +2.77778 replicas[1,0] +5 replicas[2,0]
    -1 kind_used[0] -1 burst_used[0,0] -2.77778 kind_used[1] -2.77778 burst_used[1,0]
    -5 kind_used[2] -5 burst_used[2,0]
serve_load[0,0,1]: 1 <= +0.36 replicas[0,1] +1 replicas[1,1] +1.8 replicas[2,1]
    -0.36 kind_used[0] -0.36 burst_used[0,0] -1 kind_used[1] -1 burst_used[1,0]
    -1.8 kind_used[2] -1.8 burst_used[2,0]
serve_load[0,0,2]: 1 <= +0.2 replicas[0,2] +0.555556 replicas[1,2] +1 replicas[2,2]
    -0.2 kind_used[0] -0.2 burst_used[0,1] -0.555556 kind_used[1] -0.555556 burst_used[1,1]
    -1 kind_used[2] -1 burst_used[2,1]
""")


_NONE: dict[str, object] = {"policy.burst": None}
_REPEATED: dict[str, object] = {
    "policy.burst.change_every": "24 h",
    "services.0.traffic.requests_per_s.by_size": [[0.9, 2.5, 0.5, 4.5, 2.5, 6.5] * 3],
}


def _each_window(workloads: Workloads, data: Sequence[object]) -> list[int]:
    burst = workloads.policy.burst
    assert burst is not None
    slots = burst.change_every // workloads.horizon.slot
    return [number // slots for number in range(len(data))]


def _agrees(of: Case, *, most_committed: int) -> None:
    expected = cheapest_usd(Tiny(of, most_committed=most_committed))
    optimum = solved(of)
    if expected == INFEASIBLE:
        assert optimum.status is Status.INFEASIBLE
        return
    assert float(optimum.total_usd) == pytest.approx(expected, rel=1e-5, abs=1e-4)
    assert check(assembled(of, optimum), of) == ()
