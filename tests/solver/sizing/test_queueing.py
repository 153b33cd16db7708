"""Queues at a percentile, against textbook figures."""

import math

import pytest

from solver.sizing.queueing import residual_s, sequences_at, wait_s


def test_the_median_is_the_mean_of_a_normal_crowd() -> None:
    assert sequences_at(mean=25, share=0.5, dispersion=1.0) == pytest.approx(25)


def test_a_crowd_at_the_95th_percentile_is_a_root_above_the_mean() -> None:
    # 25 + 1.645 × √25 = 33.2
    assert sequences_at(mean=25, share=0.95, dispersion=1.0) == pytest.approx(33.2, abs=0.05)


def test_burstier_arrivals_crowd_more() -> None:
    calm = sequences_at(mean=25, share=0.95, dispersion=1.0)
    assert sequences_at(mean=25, share=0.95, dispersion=4.0) > calm


def test_a_request_always_meets_itself() -> None:
    assert sequences_at(mean=0.001, share=0.95, dispersion=1.0) == 1


def test_residual_of_equal_jobs_is_half_a_job() -> None:
    # Poisson arrivals, constant service: E[S²]/(2E[S]) = S/2
    assert residual_s(mean_s=0.2, squared_variation=0.0, dispersion=1.0) == pytest.approx(0.1)


def test_residual_of_exponential_jobs_is_a_whole_job() -> None:
    assert residual_s(mean_s=0.2, squared_variation=1.0, dispersion=1.0) == pytest.approx(0.2)


def test_the_wait_of_exponential_jobs_is_that_of_an_m_m_1_queue() -> None:
    # M/M/1: P(W > t) = ρ·exp(−(1 − ρ)·t/S); ρ 0.8, S 0.2 s, p95: 0.2/0.2 × ln(0.8/0.05) = 2.77 s
    wait = wait_s(utilization=0.8, residual=0.2, share=0.95)
    assert wait == pytest.approx(math.log(16))
    assert 0.8 * math.exp(-0.2 * wait / 0.2) == pytest.approx(0.05)


def test_most_prompts_do_not_wait_when_the_server_is_mostly_idle() -> None:
    assert wait_s(utilization=0.04, residual=1.0, share=0.95) == 0


def test_an_overloaded_server_makes_them_wait_for_ever() -> None:
    assert wait_s(utilization=1.0, residual=0.1, share=0.5) == math.inf


def test_the_wait_joins_zero_without_a_step() -> None:
    assert wait_s(utilization=0.0500001, residual=1.0, share=0.95) == pytest.approx(0, abs=1e-4)
