"""The largest rate within a latency objective."""

import pytest

from solver.sizing.queueing import sequences_at
from solver.sizing.roofline import StepCosts, mean_step
from solver.sizing.serving_rate import (
    IDLE_SEQUENCES,
    Demand,
    Limits,
    Pessimism,
    keeps,
    largest_operation,
    operation,
    own_prompt_s,
    steady_step_s,
    wait_of,
)

COSTS = StepCosts(
    experts_s=0.0,
    others_s=0.010,
    expert_share_per_token=1.0,
    sequence_memory_s=0.00005,
    sequence_compute_s=0.00005,
    prompt_token_s=0.00002,
    host_s=0.002,
    sequence_host_s=0.0000106,
    prompt_host_s=0.0,
    reduce_s=0.0,
    reduce_token_s=0.0,
)
NEUTRAL = Pessimism(ttft_factor=1.0, tpot_factor=1.0)


def demand_of(
    *, inputs: int = 1000, outputs: int = 200, max_sequences: float = 1024, variation: float = 0.0
) -> Demand:
    return Demand(
        costs=COSTS,
        new_tokens=float(inputs),
        output_tokens=outputs,
        neighbour_tokens=inputs,
        neighbour_variation=variation,
        max_sequences=max_sequences,
    )


def limits_of(*, ttft_s: float = 1.0, tpot_s: float = 0.03, share: float = 0.95) -> Limits:
    return Limits(ttft_s=ttft_s, ttft_share=share, tpot_s=tpot_s, tpot_share=share)


def test_the_rate_is_the_crowd_over_its_stay() -> None:
    # Little: 16 sequences, 200 tokens each, one a step
    demand = demand_of()
    done = operation(demand, mean_sequences=16, limits=limits_of(), pessimism=NEUTRAL)
    step = mean_step(COSTS, sequences=16, prompts_per_step=16 / 200, new_tokens=1000)
    assert done.requests_per_s == pytest.approx(16 / (200 * step))
    crowd = sequences_at(mean=16, share=0.95, dispersion=1.5)
    # the others bring their prompts, the request's own is behind it
    others = (crowd - 1) / 200
    worst = mean_step(COSTS, sequences=crowd, prompts_per_step=others, new_tokens=1000)
    assert done.tpot_s == pytest.approx(worst)


def test_a_prompt_alone_takes_one_step_beside_the_weights() -> None:
    # weights 10 ms, 1,000 tokens × 20 µs, host 2 ms
    assert own_prompt_s(COSTS, 0, 1000) == pytest.approx(0.010 + 0.020 + 0.002)


def test_a_long_prompt_reads_the_weights_once_a_chunk() -> None:
    # 20,000 tokens are three chunks
    expected = 3 * (0.010 + 0.002) + 20_000 * 0.00002
    assert own_prompt_s(COSTS, 0, 20_000) == pytest.approx(expected)


def test_the_first_token_waits_for_the_running_step_and_its_own_prompt_when_idle() -> None:
    demand = demand_of()
    done = operation(demand, mean_sequences=0.001, limits=limits_of(), pessimism=NEUTRAL)
    alone = steady_step_s(demand, 0.001)
    assert done.ttft_s == pytest.approx(0.95 * alone + own_prompt_s(COSTS, 0.001, 1000))
    assert wait_of(demand, mean_sequences=0.001, requests_per_s=0.0004, share=0.95) == 0


def test_a_cached_prompt_costs_less() -> None:
    limits = limits_of(ttft_s=0.15, tpot_s=1)
    whole = largest_operation(demand_of(), limits=limits, pessimism=NEUTRAL)
    half = largest_operation(demand_of(inputs=500), limits=limits, pessimism=NEUTRAL)
    assert whole is not None
    assert half is not None
    assert half.requests_per_s > whole.requests_per_s


def test_the_largest_rate_sits_at_the_tightest_limit() -> None:
    best = largest_operation(demand_of(), limits=limits_of(), pessimism=NEUTRAL)
    assert best is not None
    assert best.tpot_s == pytest.approx(0.03, rel=1e-3)
    assert best.ttft_s < 1.0


def test_pessimism_tests_the_bad_end_of_the_band() -> None:
    wary = Pessimism(ttft_factor=1.0, tpot_factor=1.25)
    best = largest_operation(demand_of(), limits=limits_of(), pessimism=wary)
    same = largest_operation(demand_of(), limits=limits_of(tpot_s=0.03 / 1.25), pessimism=NEUTRAL)
    assert best is not None
    assert same is not None
    assert best.requests_per_s == pytest.approx(same.requests_per_s)


def test_memory_bounds_the_crowd_at_the_percentile() -> None:
    best = largest_operation(
        demand_of(max_sequences=10), limits=limits_of(tpot_s=10, ttft_s=60), pessimism=NEUTRAL
    )
    assert best is not None
    assert best.sequences == pytest.approx(10, rel=1e-3)


def test_a_limit_that_an_idle_replica_misses_gives_nothing() -> None:
    assert largest_operation(demand_of(), limits=limits_of(tpot_s=0.01), pessimism=NEUTRAL) is None
    assert largest_operation(demand_of(), limits=limits_of(ttft_s=0.03), pessimism=NEUTRAL) is None


def test_answers_of_one_token_have_no_pace_to_keep() -> None:
    demand = demand_of(outputs=1)
    best = largest_operation(demand, limits=limits_of(tpot_s=0.001), pessimism=NEUTRAL)
    assert best is not None
    assert best.requests_per_s > 1
    assert keeps(best, demand=demand, limits=limits_of(tpot_s=0.001))


def test_prompts_of_uneven_size_make_each_other_wait() -> None:
    even = largest_operation(
        demand_of(), limits=limits_of(ttft_s=0.15, tpot_s=1), pessimism=NEUTRAL
    )
    uneven = largest_operation(
        demand_of(variation=4.0), limits=limits_of(ttft_s=0.15, tpot_s=1), pessimism=NEUTRAL
    )
    assert even is not None
    assert uneven is not None
    assert uneven.requests_per_s < even.requests_per_s


def test_a_rarer_exception_costs_rate() -> None:
    rates = []
    for share in (0.5, 0.9, 0.95, 0.99):
        best = largest_operation(demand_of(), limits=limits_of(share=share), pessimism=NEUTRAL)
        assert best is not None
        rates.append(best.requests_per_s)
    assert rates == sorted(rates, reverse=True)
    assert rates[0] > rates[-1]


def test_a_prompt_of_many_seconds_with_a_short_answer_is_served_now_and_then() -> None:
    # 20 s of prompt and two steps of 12 ms: with one in a hundred decoding, prompts are the load.
    demand = demand_of(inputs=1_000_000, outputs=2)
    rates = []
    for ttft_s in (25, 30, 60, 600):
        limits = limits_of(ttft_s=ttft_s, tpot_s=60)
        best = largest_operation(demand, limits=limits, pessimism=NEUTRAL)
        assert best is not None
        assert keeps(best, demand=demand, limits=limits)
        rates.append(best.requests_per_s)
    assert rates == sorted(rates)
    assert 0 < rates[0] < rates[-1] < 1 / 20
    late = limits_of(ttft_s=20, tpot_s=60)
    assert largest_operation(demand, limits=late, pessimism=NEUTRAL) is None
    idle = operation(demand, mean_sequences=IDLE_SEQUENCES, limits=late, pessimism=NEUTRAL)
    assert idle.ttft_s == pytest.approx(own_prompt_s(COSTS, 0, 1_000_000), rel=1e-3)
