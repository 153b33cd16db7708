"""Pricing out gives the bound of the whole relaxed program, and penalties that hold for it."""

import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from gang_cases import gang_case
from priced_out import as_if_large, one_of_each_first, same_bound
from random_cases import random_case
from shared_cases import shared_case
from solving import EXACT, objective_usd, solution_of
from wide_cases import wide_case

from broker.domain.case import Case
from solver.milp.build import build_sets
from solver.milp.clusters import Clusters
from solver.milp.flat_bound import flat_bound
from solver.milp.market import Market
from solver.milp.narrow import possible
from solver.milp.price_out import relaxed_over_all
from solver.milp.program import Program, build_program
from solver.milp.relax import Relaxed, solve_relaxed
from solver.milp.rows import entries, rows_of
from solver.milp.sets import Sets, has_hopeless_workload
from solver.milp.variables import Ints

pytestmark = pytest.mark.usefixtures("start_with_one_of_each")
TOLERANCE = 1e-6
Priced = list[tuple[Sets, Relaxed | None, float]]
"""Each case, what pricing out found of it, and what its plan costs."""
SHARED_SEEDS = (*range(8), 23, 39, 52, 180, 279, 292, 297)


def one_kind(of: Case) -> Case:
    policy = of.workloads.policy.model_copy(update={"max_groups": 1})
    return replace(of, workloads=of.workloads.model_copy(update={"policy": policy}))


def drawn() -> Iterator[Sets]:
    cases = [
        *(random_case(seed) for seed in range(15)),
        *(random_case(seed, machines=(4, 6)) for seed in range(40)),
        *(shared_case(seed) for seed in SHARED_SEEDS),
        *(wide_case(seed) for seed in range(6)),
        *(gang_case(seed) for seed in range(12)),
    ]
    for one in cases:
        sets = build_sets(one_kind(one))
        if not has_hopeless_workload(sets):
            yield sets


@pytest.fixture(scope="module")
def priced() -> Priced:
    """Price out and solve each of them, once for all tests."""
    with one_of_each_first():
        return [
            (
                sets,
                relaxed_over_all(sets, time.monotonic() + 60),
                _optimum_usd(build_program(sets)),
            )
            for sets in drawn()
        ]


@pytest.fixture(scope="module")
def priced_as_if_large(priced: Priced) -> Priced:
    """Price them out with hours added up, in several looks."""
    with one_of_each_first(), as_if_large():
        return [
            (sets, relaxed_over_all(sets, time.monotonic() + 60), usd) for sets, _, usd in priced
        ]


@pytest.fixture(
    params=[nullcontext, pytest.param(as_if_large, marks=pytest.mark.long)],
    ids=["as it is", "as if large"],
)
def look(request: pytest.FixtureRequest) -> Iterator[None]:
    """Look as closely as the market is small, or as if it were large."""
    with request.param():
        yield


def test_the_bound_is_that_of_the_whole_relaxed_program() -> None:
    compared = rounded = 0
    for sets in drawn():
        if both := same_bound(sets):
            found, _, _ = both
            compared += len(found.groups or ()) < len(sets.groups)
            rounded += bool(found.fills)
    assert compared > 20
    assert rounded > 20


def test_whole_nodes_lift_the_bound_towards_the_plan(priced: Priced) -> None:
    gaps = []
    for sets, found, usd in priced:
        plain = solve_relaxed(build_program(sets))
        if plain is not None and found is not None:
            gaps.append((usd - plain.bound_usd, usd - found.bound_usd))
    before, after = np.sum(gaps, axis=0)
    assert 0 <= after < 0.6 * before


def test_the_bound_is_never_above_the_optimum(priced: Priced) -> None:
    for sets, late, usd in priced:
        early = relaxed_over_all(sets, time.monotonic())
        for found in (early, late):
            assert found is None or found.bound_usd <= usd * (1 + TOLERANCE) + 1e-4


def test_the_cheapest_way_to_have_each_gpu_is_a_bound_before_any_program(priced: Priced) -> None:
    near = fewer = 0
    for sets, found, usd in priced:
        flat = flat_bound(Market(sets))
        assert flat.bound_usd <= usd * (1 + TOLERANCE) + 1e-4
        if found is None or np.isinf(usd):
            continue
        assert flat.bound_usd <= found.bound_usd * (1 + TOLERANCE) + 1e-4
        left = possible(sets, flat, usd)
        assert _optimum_usd(build_program(left.sets)) == pytest.approx(usd, rel=1e-5, abs=1e-4)
        near += flat.bound_usd > 0.5 * usd
        fewer += len(left.sets.groups) < len(sets.groups)
    assert near > 20
    assert fewer > 10


def test_adding_up_hours_gives_a_bound_too(priced: Priced, priced_as_if_large: Priced) -> None:
    lower = 0
    for (_, close, usd), (_, found, _) in zip(priced, priced_as_if_large, strict=True):
        if np.isfinite(usd):
            assert close is not None
            assert found is not None
            assert found.bound_usd <= usd * (1 + TOLERANCE) + 1e-4
            lower += found.bound_usd < close.bound_usd - 1e-6
    assert lower >= 10


@pytest.mark.parametrize(("ends_at", "closest"), [(150.0, 1), (10_000.0, 3)])
def test_a_closer_look_begins_only_where_there_is_time_for_it(
    monkeypatch: pytest.MonkeyPatch, ends_at: float, closest: int
) -> None:
    ticks = count(0.0, 10.0)
    looked = list[int]()
    look_at = Market.look_at

    def told(market: Market, clusters: Clusters | None) -> None:
        look_at(market, clusters)
        looked.append(0 if clusters is None else len(clusters.count))

    monkeypatch.setattr(Market, "look_at", told)
    with as_if_large():
        sets = build_sets(one_kind(random_case(3, machines=(4, 6))))
        relaxed = relaxed_over_all(sets, ends_at, lambda: next(ticks))
    assert relaxed is not None
    assert len(looked) - 1 == closest


def test_adding_up_hours_drops_nothing_of_the_optimum(priced_as_if_large: Priced) -> None:
    fewer = 0
    for sets, found, usd in priced_as_if_large:
        if found is not None and np.isfinite(usd):
            left = possible(sets, found, usd)
            assert _optimum_usd(build_program(left.sets)) == pytest.approx(usd, rel=1e-5, abs=1e-4)
            fewer += len(left.sets.groups) < len(sets.groups)
    assert fewer > 10


def test_dropping_what_penalties_exclude_never_loses_the_optimum(priced: Priced) -> None:
    fewer_groups = fewer_options = 0
    for sets, found, usd in priced:
        if found is None or np.isinf(usd):
            continue
        left = possible(sets, found, usd)
        assert np.isinf(left.beyond_usd) or left.beyond_usd > usd
        assert not has_hopeless_workload(left.sets)
        assert _optimum_usd(build_program(left.sets)) == pytest.approx(usd, rel=1e-5, abs=1e-4)
        fewer_groups += len(left.sets.groups) < len(sets.groups)
        fewer_options += len(left.sets.run_options) < len(sets.run_options)
    assert fewer_groups > 20
    assert fewer_options > 5


@pytest.mark.usefixtures("look")
def test_a_plan_with_a_kind_or_group_costs_its_penalty_more_than_the_bound() -> None:
    kinds_held = groups_held = 0
    for seed in range(12):
        for sets in (build_sets(one_kind(random_case(seed, machines=(4,)))), _shared(seed)):
            found = relaxed_over_all(sets, time.monotonic() + 60)
            if found is None or found.group_penalty_usd is None or has_hopeless_workload(sets):
                continue
            program = build_program(sets)
            for number, penalty in enumerate(found.kind_penalty_usd):
                used = program.columns.kind_used.at(np.array([number]))
                _holds(program, used, found.bound_usd + float(penalty))
                kinds_held += bool(penalty > TOLERANCE)
            for number, group in enumerate(sets.groups):
                beside = float(found.group_penalty_usd[number])
                penalty = float(found.kind_penalty_usd[group.kind]) + beside
                blocks = np.arange(sets.kinds[group.kind].blocks)
                replicas = program.columns.replicas.at(number, blocks)
                _holds(program, replicas, found.bound_usd + penalty)
                groups_held += beside > TOLERANCE
    assert kinds_held > 20
    assert groups_held > 20


@pytest.mark.usefixtures("look")
def test_a_plan_with_a_run_option_costs_its_penalty_more_than_the_bound() -> None:
    held = 0
    for seed in range(20):
        sets = build_sets(one_kind(random_case(seed, machines=(4,))))
        found = relaxed_over_all(sets, time.monotonic() + 60)
        if found is None or has_hopeless_workload(sets):
            continue
        program = build_program(sets)
        for number, penalty in enumerate(found.option_penalty_usd):
            used = program.columns.option_used.at(np.array([number]))
            _holds(program, used, found.bound_usd + float(penalty))
            held += bool(penalty > TOLERANCE)
    assert held > 10


def _shared(seed: int) -> Sets:
    return build_sets(shared_case(SHARED_SEEDS[seed]))


def _holds(program: Program, columns: Ints, least_usd: float) -> None:
    """Ask for one of some columns: whatever plan has it costs no less."""
    part = entries(0, columns, 1.0)
    forced = rows_of("forced", [(0,)], [part], lower=1.0)
    usd = _optimum_usd(replace(program, families=(*program.families, forced)))
    assert usd >= least_usd * (1 - TOLERANCE) - 1e-4


def _optimum_usd(program: Program) -> float:
    return objective_usd(program, solution_of(program, EXACT))
