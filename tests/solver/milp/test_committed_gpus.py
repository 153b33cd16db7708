"""Prices of GPUs are lowered and raised until no way to have them earns more than it costs."""

import numpy as np
import pytest
from one_kind_sets import one_kind_sets

from solver.milp.clusters import Clusters
from solver.milp.committed_gpus import CommittedGpus, committed_gpus

TWO_PERIODS = np.array([[1.0, 1.0], [1.0, 0.0]])
HOURS = np.array([10.0, 10.0])


def _of(*usd: tuple[float, float]) -> CommittedGpus:
    """Commitments for both periods, and for the first one."""
    return CommittedGpus(np.array(usd), TWO_PERIODS)


def test_prices_are_lowered_by_the_same_share_until_no_commitment_pays() -> None:
    committed = _of((15.0, np.inf), (100.0, 4.0), (100.0, 100.0))
    prices = np.array([[10.0, 20.0]] * 3)
    held = committed.held(prices)
    assert held.tolist() == [[5.0, 10.0], [4.0, 8.0], [10.0, 20.0]]


@pytest.mark.parametrize(
    ("usd", "rent", "raised"),
    [
        ((15.0, np.inf), 3.0, [7.5, 7.5]),  # the commitment
        ((15.0, np.inf), 0.5, [5.0, 5.0]),  # renting
        ((15.0, 4.0), 3.0, [4.0, 4.0]),  # the shorter one
        ((np.inf, np.inf), 3.0, [30.0, 30.0]),
        ((np.inf, np.inf), np.inf, [0.0, 0.0]),
        ((15.0, np.inf), np.inf, [7.5, 7.5]),
    ],
)
def test_prices_are_raised_until_the_first_way_to_buy_pays(
    usd: tuple[float, float], rent: float, raised: list[float]
) -> None:
    nothing = np.zeros((1, 2))
    found = _of(usd).raised(nothing, np.array([rent]), HOURS)
    assert found[0].tolist() == pytest.approx(raised, rel=1e-6)


def test_a_price_above_the_rent_stays() -> None:
    prices = np.array([[40.0, 10.0]])
    found = _of((np.inf, np.inf)).raised(prices, np.array([3.0]), HOURS)
    assert found.tolist() == [[40.0, 30.0]]


def test_of_commitments_at_the_same_time_the_cheapest_counts() -> None:
    read = 0
    for sets in one_kind_sets():
        committed = committed_gpus(sets, Clusters.single(len(sets.periods)))
        for one in sets.committed:
            usd = one.usd_per_node / sets.machines[one.machine].gpus
            at = [tuple(own > 0) == one.active for own in committed.active].index(True)
            assert committed.usd[one.machine, at] <= usd
            read += 1
        assert np.isfinite(committed.usd).sum() <= len(sets.committed)
    assert read > 5


def test_where_asked_those_that_outlive_the_horizon_do_not_count() -> None:
    for sets in one_kind_sets():
        single = Clusters.single(len(sets.periods))
        inside = committed_gpus(sets, single, outlives=False)
        machines = {one.machine for one in sets.committed if not one.outlives}
        assert set(np.flatnonzero(np.isfinite(inside.usd).any(axis=1)).tolist()) == machines
