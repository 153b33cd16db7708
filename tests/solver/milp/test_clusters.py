"""Periods that are added up: sums, means, and what is the same in a cluster."""

from dataclasses import replace

import numpy as np
import pytest
from one_kind_sets import one_kind_sets

from solver.milp.alike_periods import clusters_of
from solver.milp.clusters import Clusters
from solver.milp.coarse import coarse
from solver.milp.linear import LinearProgram
from solver.milp.program import build_program

THREE = Clusters(np.array([0, 1, 0]))
BY_PERIOD = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 4.0]])


def test_what_is_by_period_is_added_up_in_the_last_place() -> None:
    assert THREE.summed(BY_PERIOD).tolist() == [[4.0, 2.0], [8.0, 5.0]]
    assert THREE.mean(BY_PERIOD).tolist() == [[2.0, 2.0], [4.0, 5.0]]
    assert THREE.least(BY_PERIOD).tolist() == [[1.0, 2.0], [4.0, 5.0]]
    assert THREE.summed(BY_PERIOD[0]).tolist() == [4.0, 2.0]


def test_a_row_is_even_where_all_periods_of_a_cluster_are_the_same() -> None:
    assert THREE.is_even(BY_PERIOD).tolist() == [False, True]
    assert Clusters.single(3).is_even(BY_PERIOD).all()


def test_single_periods_stay_as_they_are() -> None:
    single = Clusters.single(3)
    for of in (single.summed, single.mean, single.least):
        assert of(BY_PERIOD).tolist() == BY_PERIOD.tolist()


def test_more_clusters_are_parts_of_fewer() -> None:
    for sets in one_kind_sets():
        few, more = clusters_of(sets, 2), clusters_of(sets, 4)
        for cluster in range(len(more.count)):
            assert len(set(few.of[more.of == cluster].tolist())) == 1


@pytest.mark.parametrize("clusters", [1, 2, 4])
def test_rows_that_are_made_added_up_are_those_that_are_added_up_later(clusters: int) -> None:
    for sets in one_kind_sets():
        added_up = clusters_of(sets, clusters)
        later = coarse(build_program(sets), added_up)
        at_once = coarse(build_program(replace(sets, clusters=added_up)), added_up)
        assert later.rows == at_once.rows
        assert len(later.members) == len(at_once.members)
        usd = [LinearProgram(one.copy()).solve(60).plan for one in (later, at_once)]
        assert (usd[0] is None) == (usd[1] is None)
        if usd[0] is not None and usd[1] is not None:
            assert usd[0].usd == pytest.approx(usd[1].usd, rel=1e-9, abs=1e-6)
