"""Checkpoints, losses and restarts, worked by hand."""

import math

import pytest

from broker.specs.tables import read_table, text
from solver.sizing.restarts import (
    billed_hours,
    checkpoint_pause_s,
    forecast_up_h,
    gang_rate_per_hour,
    makespan_range,
    spot_rate_per_hour,
    startup_s,
    useful_share,
    young_interval_s,
)


def test_a_monthly_share_becomes_a_rate_by_its_upper_end() -> None:
    # 10 % in 730 h: −ln(0.9)/730
    assert spot_rate_per_hour((0.05, 0.10)) == pytest.approx(0.10536 / 730, rel=1e-4)


def test_unknown_interruptions_are_taken_as_one_in_ten_hours() -> None:
    assert spot_rate_per_hour(None) == 0.1
    assert spot_rate_per_hour((0.2, 1.0)) == 0.1


def test_a_gang_fails_by_its_number_and_is_reclaimed_by_a_weaker_power() -> None:
    # 16 × 0.004/24 failures, 0.01 × 16^0.3 reclaims
    expected = 16 * 0.004 / 24 + 0.01 * 16**0.3
    assert gang_rate_per_hour(nodes=16, spot_per_hour=0.01) == pytest.approx(expected)


def test_firm_failures_agree_with_llama_3() -> None:
    """Llama 3: 419 unexpected interruptions in 54 days on 16,384 GPUs (arXiv:2407.21783)."""
    predicted = gang_rate_per_hour(nodes=16_384 // 8, spot_per_hour=0.0) * 24 * 54
    assert predicted == pytest.approx(419, rel=0.1)


def test_a_checkpoint_writes_fourteen_bytes_a_parameter() -> None:
    # 70e9 × 14 B = 980 GB at 10 GB/s
    assert checkpoint_pause_s(trained_params=70e9, storage_gb_per_s=10) == pytest.approx(98)


def test_youngs_interval_is_the_root_of_twice_pause_times_up_time() -> None:
    assert young_interval_s(pause_s=50, up_s=10_000) == pytest.approx(1000)


def test_the_interval_never_exceeds_the_up_time() -> None:
    assert young_interval_s(pause_s=1000, up_s=100) == 100


def test_useful_share_is_dalys() -> None:
    # U 10,000 s, τ 1,000 s, c 50 s, r 200 s: 1000 ÷ (e^0.02 × 10,000 × (e^0.105 − 1))
    expected = 1000 / (math.exp(0.02) * 10_000 * math.expm1(0.105))
    share = useful_share(interval_s=1000, pause_s=50, restart_s=200, up_s=10_000)
    assert share == pytest.approx(expected)
    # first order: τ/(τ + c) less (r + τ/2)/U
    assert share == pytest.approx(1000 / 1050 - (200 + 500) / 10_000, abs=0.02)


def test_without_losses_only_the_pauses_count() -> None:
    share = useful_share(interval_s=1000, pause_s=50, restart_s=200, up_s=1e12)
    assert share == pytest.approx(1000 / 1050)


def test_an_interval_far_beyond_the_up_time_never_completes() -> None:
    assert useful_share(interval_s=1e6, pause_s=50, restart_s=200, up_s=1000) == 0


@pytest.mark.parametrize(
    ("params_b", "measured_s"),
    # MLPerf Training 5.0 logs, process start to first step, medians: 8B, GPT-3 175B, 405B
    [(8.03, 116), (174.6, 327), (405.9, 535)],
)
def test_initialisation_agrees_with_mlperf(params_b: float, measured_s: float) -> None:
    assert startup_s(params_b=params_b, restart_s=0) == pytest.approx(measured_s, rel=0.15)


def test_a_start_includes_the_runs_own_restart() -> None:
    assert startup_s(params_b=10, restart_s=720) == pytest.approx(100 + 11 + 720)


def test_spot_replay_keeps_three_quarters_useful() -> None:
    """45 public spot traces: the median useful share of the billed hours is 0.75 (0.52 to 0.89).

    A held V100 of 2023 stays up 1.4 to 3.2 h; checkpoints of 1 min, restarts of 3 min.
    """
    up_s = 2.3 * 3600
    interval_s = young_interval_s(pause_s=60, up_s=up_s)
    share = useful_share(interval_s=interval_s, pause_s=60, restart_s=180, up_s=up_s)
    assert 0.75 < share < 0.89


def test_billed_hours_are_those_of_daly() -> None:
    # two segments of 1 h with a pause of 0.1 between, restart 0.2, U 10:
    # 10·(e^0.02 − 1) + e^0.02·10·((e^0.11 − 1) + (e^0.1 − 1))
    restart = math.exp(0.02)
    expected = 10 * (restart - 1) + restart * 10 * (math.expm1(0.11) + math.expm1(0.1))
    found = billed_hours(work_h=2.0, interval_h=1.0, pause_h=0.1, restart_h=0.2, up_h=10.0)
    assert found == pytest.approx(expected)


def test_work_without_interruptions_is_billed_as_it_is() -> None:
    found = billed_hours(work_h=5.0, interval_h=1.0, pause_h=0.01, restart_h=0.1, up_h=1e9)
    assert found == pytest.approx(5.0 + 4 * 0.01 + 0.1)


def test_a_forecast_stands_between_the_past_and_what_zones_have_in_common() -> None:
    assert forecast_up_h([], losses=0) == 8.0
    steady = forecast_up_h([2.0] * 100, losses=100)
    # mean (200 + 16 × 8)/116 = 2.83, every hour lies in an up time of 2: √(2.83 × 2)
    assert steady == pytest.approx(math.sqrt(328 / 116 * 2.0))
    mixed = forecast_up_h([0.1] * 50 + [39.0] * 5, losses=55)
    assert mixed > sum([0.1] * 50 + [39.0] * 5) / 55


def test_the_range_of_a_makespan_starts_at_the_work_and_widens_with_losses() -> None:
    calm = makespan_range(work_h=4.0, billed_h=4.2, up_h=50.0, down_h=1.0)
    wild = makespan_range(work_h=4.0, billed_h=6.0, up_h=1.0, down_h=2.0)
    assert calm[0] == 4.0
    assert calm[1] < wild[1]
    assert wild[0] > 4.0
    assert wild[0] < 6.0 + 6 * 2.0 < wild[1]


def test_bamboo_clusters_lose_nodes_as_published() -> None:
    """Instance-hours per loss of the project's table: V100 1.6 and T4 1.8 on AWS (NSDI 2023)."""
    lived: dict[str, float] = {}
    losses: dict[str, int] = {}
    for row in read_table("spot_lifetimes.csv"):
        name = text(row, "trace")
        hours = (float(text(row, "removed_s")) - float(text(row, "added_s"))) / 3600
        lived[name] = lived.get(name, 0.0) + hours
        losses[name] = losses.get(name, 0) + (text(row, "removed") == "1")
    found = {name: lived[name] / losses[name] for name in lived}
    assert found["bamboo-p3-aws"] == pytest.approx(1.6, abs=0.06)
    assert found["bamboo-g4dn-aws"] == pytest.approx(1.8, abs=0.06)
