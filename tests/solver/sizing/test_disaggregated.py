"""Prompts on one pool, answers on another: rates, balance, and the cache that is sent."""

import math
from dataclasses import replace

import pytest
from sizing_cases import shape_of

from broker.domain.gpu import Precision
from broker.specs.load import Specs
from solver.sizing.disaggregated import Disaggregated, Request, disaggregated, transfer_s
from solver.sizing.links import serving_link
from solver.sizing.precisions import serving_arithmetic
from solver.sizing.roofline import costs_of, step
from solver.sizing.serving_facts import Replica, Split, step_facts
from solver.sizing.serving_rate import Limits, Pessimism

NEUTRAL = Pessimism(ttft_factor=1.0, tpot_factor=1.0)
LIMITS = Limits(ttft_s=1.0, ttft_share=0.95, tpot_s=0.04, tpot_share=0.95)
LONG = Request(input_tokens=4000.0, output_tokens=400.0)


def replica_of(specs: Specs, gpu: str, name: str = "llama-3.1-70b", tensor: int = 4) -> Replica:
    datasheet = specs.gpu(gpu)
    arithmetic = serving_arithmetic(gpu=datasheet, precision=Precision.FP8)
    link = serving_link(shape=shape_of(datasheet, 8), gpu=datasheet, gpus=tensor)
    assert arithmetic is not None
    assert link is not None
    return Replica(datasheet, specs.llm(name), arithmetic, Split(tensor=tensor), link)


def pools(prefill: Replica, decode: Replica, *, limits: Limits = LIMITS) -> Disaggregated:
    return disaggregated(
        prefill, decode, LONG, link_gb_per_s=50.0, limits=limits, pessimism=NEUTRAL
    )


def test_the_cache_of_a_prompt_crosses_the_link_once(specs: Specs) -> None:
    # 4,000 tokens × 327,680 B over 50 GB/s; a latent of 70,272 B once, though each GPU holds it
    dense = transfer_s(replica_of(specs, "H100-SXM"), LONG, link_gb_per_s=50.0)
    assert dense == pytest.approx(4000 * 327_680 / 50e9)
    latent = replica_of(specs, "H200-SXM", "deepseek-v3", tensor=8)
    assert transfer_s(latent, LONG, link_gb_per_s=50.0) == pytest.approx(4000 * 70_272 / 50e9)


def test_a_prefill_pool_works_on_one_prompt_after_another(specs: Specs) -> None:
    replica = replica_of(specs, "H100-SXM")
    facts = step_facts(replica, input_tokens=4000.0, output_tokens=400.0)
    own = step(costs_of(facts), sequences=0.0, prompt_tokens=4000.0, carries=1.0)
    loose = pools(replica, replica, limits=replace(LIMITS, ttft_s=1e9)).prefill
    assert loose.requests_per_s == pytest.approx(0.95 / own)
    assert pools(replica, replica).prefill.requests_per_s < loose.requests_per_s


def test_a_decode_pool_is_not_held_up_by_prompts(specs: Specs) -> None:
    replica = replica_of(specs, "H100-SXM")
    found = pools(replica, replica).decode
    assert found.tpot_s <= 0.04
    assert found.requests_per_s > pools(replica, replica).prefill.requests_per_s / 4


def test_cards_of_bandwidth_decode_what_cards_of_compute_prefill(specs: Specs) -> None:
    """An H20 has 1.2 times an H100's bandwidth and a seventh of its compute."""
    h100, h20 = replica_of(specs, "H100-SXM"), replica_of(specs, "H20")
    assert pools(h100, h20).prefill_per_decode < pools(h20, h20).prefill_per_decode
    decoding = [pools(h100, one).decode.requests_per_s for one in (h20, h100)]
    prefilling = [pools(one, h100).prefill.requests_per_s for one in (h20, h100)]
    assert decoding[0] / decoding[1] > 3 * prefilling[0] / prefilling[1]


def test_a_limit_that_cannot_be_kept_gives_no_rate(specs: Specs) -> None:
    replica = replica_of(specs, "H100-SXM")
    slow = pools(replica, replica, limits=replace(LIMITS, ttft_s=0.001))
    assert slow.prefill.requests_per_s == 0
    assert slow.prefill_per_decode == math.inf
    late = pools(replica, replica, limits=replace(LIMITS, tpot_s=0.0001))
    assert late.decode.requests_per_s == 0


def test_no_pool_sends_more_than_its_link_carries(specs: Specs) -> None:
    replica = replica_of(specs, "H100-SXM")
    loose = replace(LIMITS, ttft_s=1e9)
    fast, slow = (
        disaggregated(replica, replica, LONG, link_gb_per_s=speed, limits=loose, pessimism=NEUTRAL)
        for speed in (50.0, 0.5)
    )
    sent_s = transfer_s(replica, LONG, link_gb_per_s=0.5)
    assert slow.prefill.requests_per_s * sent_s == pytest.approx(0.95, rel=0.02)
    assert slow.prefill.requests_per_s < fast.prefill.requests_per_s
    assert slow.decode.requests_per_s * sent_s == pytest.approx(0.5)
    assert slow.decode.requests_per_s < fast.decode.requests_per_s


def test_caches_that_queue_for_the_link_are_in_the_time_to_the_first_token(specs: Specs) -> None:
    replica = replica_of(specs, "H100-SXM")
    found = disaggregated(
        replica, replica, LONG, link_gb_per_s=4.0, limits=LIMITS, pessimism=NEUTRAL
    ).prefill
    facts = step_facts(replica, input_tokens=4000.0, output_tokens=400.0)
    own = float(step(costs_of(facts), sequences=0.0, prompt_tokens=4000.0, carries=1.0))
    assert found.requests_per_s > 0
    assert own + found.transfer_s < found.ttft_s <= LIMITS.ttft_s
