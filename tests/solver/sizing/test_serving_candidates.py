"""Serving candidates: what fits and serves in time, and why the rest does not."""

from fractions import Fraction

import pytest
from sizing_cases import service_of, shape_of

from broker.domain.candidate import ClassRate, Label, Refusal, ServingCandidate
from broker.domain.gpu import Precision
from broker.domain.offer import Link
from broker.domain.workload import Service
from broker.specs.load import Specs
from solver.sizing.candidates import serving_candidates
from solver.sizing.serving import not_dominated

TWO_SIZES = ((1000, 300, 0.7), (6000, 150, 0.3))


def size(
    specs: Specs,
    gpu: str,
    gpus: int | Fraction,
    service: Service | None = None,
    *,
    link: Link | None = None,
    rtt_s: float = 0.03,
    safety_margin: float = 0.15,
) -> tuple[list[ServingCandidate], list[Refusal]]:
    asked = service or service_of()
    model = specs.llm(asked.model)
    datasheet = specs.gpu(gpu)
    return serving_candidates(
        asked,
        shape_of(datasheet, gpus, link=link),
        gpu=datasheet,
        model=model,
        rtt_s=rtt_s,
        safety_margin=safety_margin,
    )


def test_a_70b_model_serves_from_two_h100_or_one_h200_in_fp8(specs: Specs) -> None:
    pair, _ = size(specs, "H100-SXM", 2)
    assert [one.layout.gpus for one in pair if one.rates[0].requests_per_s > 1] == [2]
    single, _ = size(specs, "H200-SXM", 1)
    assert single[0].layout.gpus == 1
    assert single[0].rates[0].requests_per_s > 1


def test_a_70b_model_in_sixteen_bits_does_not_fit_one_h100(specs: Specs) -> None:
    service = service_of(precisions=(Precision.BF16,))
    candidates, refusals = size(specs, "H100-SXM", 1, service)
    assert candidates == []
    # 141.1e9 B are 131.4 GiB; 1.86 + 1300 × 327,680 B = 0.40 more; of 0.97 × 79.65 = 77.3
    assert refusals[0].reason == "does_not_fit"
    assert "does not fit by 56.4 GiB per GPU" in refusals[0].detail


def test_a_7b_model_serves_from_one_quantized_card(specs: Specs) -> None:
    service = service_of(model="llama-2-7b", precisions=(Precision.INT4,), tpot_s=0.1)
    candidates, _ = size(specs, "RTX4090", 1, service)
    assert candidates[0].rates[0].requests_per_s > 0.3
    assert candidates[0].precision is Precision.INT4
    assert candidates[0].memory.used_gib < 24


def test_the_name_tells_service_shape_precision_layout_and_distance(specs: Specs) -> None:
    candidates, _ = size(specs, "H100-SXM", 8, rtt_s=0.0304)
    assert candidates[-1].id == "chat/H100-SXMx8/nvswitch-450/fp8/tp8@30ms"
    assert candidates[-1].rtt_s == 0.0304


def test_memory_of_a_candidate_fits_its_gpu(specs: Specs) -> None:
    candidates, _ = size(specs, "B200", 8, service_of(sizes=TWO_SIZES))
    assert candidates
    for one in candidates:
        assert one.memory.used_gib <= 0.92 * one.memory.available_gib + 1e-6


def test_latency_is_within_the_objective_less_the_round_trip(specs: Specs) -> None:
    candidates, _ = size(specs, "H200-SXM", 8, service_of(sizes=TWO_SIZES), rtt_s=0.08)
    served = [rate for one in candidates for rate in one.rates if rate.requests_per_s]
    assert served
    for rate in served:
        assert rate.ttft_s <= 2.0 - 0.08
        assert rate.tpot_s <= 0.05


def test_a_class_that_misses_the_objective_has_no_rate_and_a_reason(specs: Specs) -> None:
    service = service_of(sizes=TWO_SIZES, ttft_s=0.8)
    candidates, _ = size(specs, "H200-SXM", 1, service)
    short, long = candidates[0].rates
    assert short.requests_per_s > 0
    assert long.requests_per_s == 0
    assert any("6000 in, 150 out: TTFT p95" in text for text in candidates[0].assumptions)


def test_a_shape_that_misses_every_class_says_by_how_much(specs: Specs) -> None:
    candidates, refusals = size(specs, "H200-SXM", 1, service_of(ttft_s=0.05))
    assert candidates == []
    assert refusals[0].reason == "ttft_missed"
    assert "> 0.05 s less 0.03 s of network" in refusals[0].detail


def test_a_pace_that_is_missed_says_by_how_much(specs: Specs) -> None:
    candidates, refusals = size(specs, "H200-SXM", 1, service_of(tpot_s=0.010))
    assert candidates == []
    assert refusals[0].reason == "tpot_missed"
    assert "ms > 10 ms" in refusals[0].detail


def test_a_request_longer_than_the_context_is_refused(specs: Specs) -> None:
    service = service_of(
        model="llama-2-7b", precisions=(Precision.BF16,), sizes=((4000, 200, 1.0),)
    )
    candidates, refusals = size(specs, "H100-SXM", 1, service)
    assert candidates == []
    assert refusals[0].reason == "context_too_long"
    assert refusals[0].detail == "4000 in, 200 out: 4200 tokens > context of 4096"


def test_the_safety_margin_comes_off_every_rate(specs: Specs) -> None:
    full, _ = size(specs, "H100-SXM", 4, safety_margin=0.0)
    less, _ = size(specs, "H100-SXM", 4, safety_margin=0.2)
    for one, other in zip(full, less, strict=True):
        expected = 0.8 * one.rates[0].requests_per_s
        assert other.rates[0].requests_per_s == pytest.approx(expected)
    assert "rates less a safety margin of 20%" in less[0].assumptions


def test_part_of_a_gpu_is_refused(specs: Specs) -> None:
    candidates, refusals = size(specs, "A10", Fraction(1, 6))
    assert candidates == []
    assert refusals[0].reason == "fractional_gpus"


def test_an_unknown_link_bars_groups_but_not_single_gpus(specs: Specs) -> None:
    candidates, refusals = size(specs, "H200-SXM", 8, link=Link.UNKNOWN)
    assert [one.layout.gpus for one in candidates] == [1]
    assert {one.reason for one in refusals} == {"link_unknown"}
    assert len(refusals) == 3


@pytest.mark.parametrize(
    ("gpu", "reason"),
    [
        ("TPUv6e", "stack_not_modelled"),
        ("MI250X", "split_card"),
        ("P100-PCIe-16", "too_old"),
        ("A100-80-SXM", "precision_unsupported"),
    ],
)
def test_a_shape_that_cannot_be_sized_is_refused_by_name(
    specs: Specs, gpu: str, reason: str
) -> None:
    candidates, refusals = size(specs, gpu, 1)
    assert candidates == []
    assert refusals[0].reason == reason
    assert gpu in refusals[0].detail


def test_bf16_on_an_old_card_runs_as_fp16_and_says_so(specs: Specs) -> None:
    service = service_of(
        model="qwen2.5-0.5b", precisions=(Precision.BF16, Precision.FP16), tpot_s=0.1
    )
    candidates, _ = size(specs, "T4", 1, service)
    assert [one.precision for one in candidates] == [Precision.FP16]
    assert "T4 has no BF16 units: runs as FP16" in candidates[0].assumptions


def test_a_model_that_overflows_in_fp16_is_refused_on_an_old_card(specs: Specs) -> None:
    service = service_of(model="gemma-3-4b", precisions=(Precision.BF16, Precision.INT4))
    candidates, refusals = size(specs, "T4", 1, service)
    assert candidates == []
    assert {one.reason for one in refusals} == {"precision_unsupported"}
    assert refusals[0].detail == "gemma-3-4b overflows in FP16: engines compute it in BF16 alone"
    assert size(specs, "L4", 1, service)[0]


def test_heads_that_do_not_divide_are_refused(specs: Specs) -> None:
    service = service_of(model="qwen2.5-7b", precisions=(Precision.BF16,))
    candidates, refusals = size(specs, "H100-SXM", 8, service)
    assert {one.layout.tensor for one in candidates} == {1, 2, 4}
    assert [one.reason for one in refusals] == ["heads_do_not_split"]


def test_groups_divide_the_node(specs: Specs) -> None:
    service = service_of(model="llama-3.1-8b")
    candidates, refusals = size(specs, "H100-SXM", 6, service)
    assert {one.layout.tensor for one in candidates} == {1, 2}
    assert refusals == []


def test_a_data_centre_gpu_is_calibrated_and_a_group_over_pcie_is_not(specs: Specs) -> None:
    service = service_of(model="qwen3-32b", tpot_s=0.1)
    candidates, _ = size(specs, "L40S", 2, service)
    labels = {one.layout.tensor: one.label for one in candidates}
    assert labels == {1: Label.CALIBRATED, 2: Label.ESTIMATED}
    bands = {one.layout.tensor: one.band for one in candidates}
    assert bands[2].high_factor / bands[2].low_factor > bands[1].high_factor / bands[1].low_factor


def test_a_slower_precision_on_as_many_gpus_is_dropped(specs: Specs) -> None:
    service = service_of(model="llama-3.1-8b", precisions=(Precision.BF16, Precision.FP8))
    candidates, refusals = size(specs, "H100-SXM", 1, service)
    assert [one.precision for one in candidates] == [Precision.FP8]
    assert refusals == []


def test_domination_is_exact(specs: Specs) -> None:
    template = size(specs, "H100-SXM", 8, service_of(sizes=TWO_SIZES))[0]
    one, two = template[0], template[1]

    def with_rates(candidate: ServingCandidate, *rates: float) -> ServingCandidate:
        made = tuple(
            ClassRate(requests_per_s=rate, concurrency=1, ttft_s=1, tpot_s=1) for rate in rates
        )
        return candidate.model_copy(update={"rates": made})

    assert one.layout.gpus < two.layout.gpus
    small, large = with_rates(one, 2.0, 1.0), with_rates(two, 2.0, 1.0)
    assert not_dominated([large, small]) == [small]
    better_at_one = with_rates(two, 1.9, 1.1)
    assert not_dominated([small, better_at_one]) == [small, better_at_one]
    twin = with_rates(one, 2.0, 1.0)
    assert len(not_dominated([small, twin])) == 1


def test_a_tight_memory_is_said(specs: Specs) -> None:
    candidates, _ = size(specs, "H100-SXM", 1)
    assert any(text.startswith("memory is tight") for text in candidates[0].assumptions)
