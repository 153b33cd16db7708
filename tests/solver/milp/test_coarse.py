"""Periods that are added up: every plan is still one, so the bound stays a bound."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest
from one_kind_sets import coarse_and_exact, one_kind_sets
from solving import solution_of
from two_by_two import two_by_two

from solver.milp.alike_periods import clusters_of
from solver.milp.build import build_sets
from solver.milp.coarse import Coarse, as_it_is, coarse
from solver.milp.constraints.whole_nodes import whole_nodes
from solver.milp.program import build_program
from solver.milp.rows import Entries, Rows
from solver.milp.sets import Floats
from solver.milp.tighten import tighter_fills


@pytest.mark.parametrize("clusters", [1, 2, 4])
def test_every_plan_keeps_the_coarse_rows(clusters: int) -> None:
    tried = 0
    for sets in one_kind_sets():
        program = build_program(sets)
        solution = solution_of(program)
        if not len(solution.values):
            continue
        added_up = clusters_of(sets, clusters)
        smaller = coarse(program, added_up)
        values = np.bincount(smaller.column_of, solution.values)
        fills = tighter_fills(program, time.monotonic() + 60, clusters=added_up)
        cuts = whole_nodes(replace(sets, fills=fills), program.columns)
        assert _excess(_rows_of(smaller), values) <= 1e-6
        if fills:
            assert _excess(smaller.added(cuts)[0], values) <= 1e-6
        tried += 1
    assert tried > 30


@pytest.mark.parametrize("clusters", [1, 3])
def test_the_coarse_bound_is_no_higher(clusters: int) -> None:
    lower = 0
    for sets in one_kind_sets():
        if both := coarse_and_exact(build_program(sets), clusters):
            smaller, exact = both
            lower += smaller.usd < exact.usd - 1e-6
    assert lower > 0


def test_costs_are_those_of_the_cheapest_period() -> None:
    program = build_program(build_sets(two_by_two(max_groups=1)))
    smaller = coarse(program, clusters_of(program.sets, 1))
    usd = np.zeros(len(smaller.members))
    terms = smaller.proto.objective.linear_coefficients
    usd[list(terms.ids)] = terms.values
    members = [program.cost[smaller.column_of == one] for one in range(len(usd))]
    assert usd.tolist() == [float(one.min()) for one in members]
    assert max(len(one) for one in members) > 1


def test_values_are_shared_out_evenly() -> None:
    program = build_program(build_sets(two_by_two(max_groups=1)))
    smaller = coarse(program, clusters_of(program.sets, 1))
    values = smaller.spread(np.arange(len(smaller.members), dtype=float))
    assert np.allclose(np.bincount(smaller.column_of, values), np.arange(len(smaller.members)))


def test_nothing_is_added_up_of_a_program_as_it_is() -> None:
    sets = build_sets(two_by_two(max_groups=1))
    program = build_program(sets)
    same = as_it_is(program)
    rows = program.families[2]
    added, row_of = same.added(rows)
    assert same.rows == sum(len(one.keys) for one in program.families)
    assert row_of.tolist() == list(range(len(rows.keys)))
    assert len(added.entries.row) == len(rows.entries.row)
    values = np.arange(program.columns.size, dtype=float)
    assert same.spread(values).tolist() == values.tolist()


def test_clusters_keep_apart_what_differs_in_more_than_load() -> None:
    for sets in one_kind_sets():
        cluster_of = clusters_of(sets, 1).of
        for cluster in range(int(cluster_of.max()) + 1):
            own = np.flatnonzero(cluster_of == cluster).tolist()
            assert len({tuple(one.owned[at] for one in sets.machines) for at in own}) == 1
            for one in sets.committed:
                assert len({one.active[at] for at in own}) == 1


def test_clusters_split_the_widest_first() -> None:
    sets = next(one for one in one_kind_sets() if len(one.periods) > 3)
    counts = [len(clusters_of(sets, most).count) for most in (1, 2, 3, 100)]
    assert counts == sorted(counts)
    assert counts[-1] <= len(sets.periods)


def _rows_of(smaller: Coarse) -> Rows:
    proto = smaller.proto
    matrix = proto.linear_constraint_matrix
    count = len(proto.linear_constraints.ids)
    return Rows(
        "all",
        tuple((one,) for one in range(count)),
        _entries(list(matrix.row_ids), list(matrix.column_ids), list(matrix.coefficients)),
        np.array(proto.linear_constraints.lower_bounds),
        np.array(proto.linear_constraints.upper_bounds),
    )


def _entries(row: list[int], column: list[int], value: list[float]) -> Entries:
    return Entries(np.array(row), np.array(column), np.array(value))


def _excess(rows: Rows, values: Floats) -> float:
    """Give by how much values break some rows at most."""
    own = rows.entries
    sums = np.bincount(own.row, own.coefficient * values[own.column], minlength=len(rows.keys))
    beyond = np.maximum(rows.lower - sums, sums - rows.upper)
    return float(beyond.max(initial=-math.inf))
