"""Mélange's program: whole slices on whole instances, worked by hand."""

import pytest
from peers_bench.market import Market
from peers_bench.melange import Type, answers, cheapest_mix, melange, types_of
from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.case import Case
from solver.milp.build import build_sets

SLOW, FAST = Type(0, 1.0, (2.0,)), Type(1, 3.0, (8.0,))


def a_case(requests_per_s: float) -> Case:
    """One small node a dollar for 2 requests/s, one large node three for 8."""
    small, large = offer("1", name="small"), offer("3", name="large", gpus=2)
    return case(
        workloads(services=[service_entry(requests_per_s, requests_per_s)]),
        [small, large],
        serving=[serving(small, [2]), serving(large, [8], gpus=2)],
    )


def test_a_mix_of_types_costs_less_than_either_alone() -> None:
    mix = cheapest_mix([SLOW, FAST], [10.0], 5, 10.0)  # slices of 2: four on the large one
    assert mix is not None
    assert (mix.counts, mix.shares) == ((1, 1), ((0.2,), (0.8,)))
    assert mix.usd_per_hour([SLOW, FAST]) == 4
    assert mix.bound_usd_per_hour == pytest.approx(4)
    assert mix.is_optimal


def test_slices_are_not_cut() -> None:
    mix = cheapest_mix([SLOW, FAST], [10.0], 8, 10.0)  # slices of 1.25: six make 7.5, 2.5 are left
    assert mix is not None
    assert mix.usd_per_hour([SLOW, FAST]) == 5


def test_each_bucket_goes_where_it_does_best() -> None:
    reader, writer = Type(0, 1.0, (10.0, 1.0)), Type(1, 1.0, (1.0, 10.0))
    mix = cheapest_mix([reader, writer], [10.0, 10.0], 4, 10.0)
    assert mix is not None
    assert mix.shares == ((1.0, 0.0), (0.0, 1.0))
    assert mix.counts == (1, 1)


def test_types_that_another_one_replaces_for_no_more_are_left_out() -> None:
    small, dear = offer("1", name="small"), offer("2", name="dear")
    slower = offer("1", name="slower")
    one = case(
        workloads(services=[service_entry(4, 4)]),
        [small, dear, slower],
        serving=[serving(small, [2]), serving(dear, [2]), serving(slower, [1])],
    )
    market = Market(build_sets(one))
    (kept,) = types_of(market, 0)
    assert (kept.usd_per_hour, kept.requests_per_s) == (1.0, (2.0,))


def test_its_own_account_is_the_peak_kept_all_the_time_or_the_hours_of_the_load() -> None:
    market = Market(build_sets(a_case(9)))  # slices of 1.125: seven on the large node
    found = answers(market, 10.0)
    peak = melange(market, found, keeps_peak=True)
    assert peak.own_usd == 24 * 4
    assert peak.bound_usd == pytest.approx(24 * 4)
    assert len(peak.demands[0][0]) == 2
    assert [len(way) for way in peak.demands[0][1:]] == [1, 1]
    by_hour = melange(market, found, keeps_peak=False)
    assert (by_hour.own_usd, by_hour.bound_usd) == (24 * 4, None)
