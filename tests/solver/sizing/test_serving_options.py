"""What a service may ask of its engine, and how far its figures are trusted."""

from datetime import date

import pytest
from sizing_cases import service_of, shape_of

from broker.domain.candidate import Label, ServingCandidate
from broker.domain.engine import KvPrecision, ServingEngine
from broker.domain.gpu import Precision
from broker.domain.margin import SafetyMargin
from broker.domain.workload import Service
from broker.specs.load import Specs
from solver.sizing.candidates import every_serving_candidate, serving_candidates
from solver.sizing.serving_bands import BANDS, Metric, Scope


def sized(
    specs: Specs,
    service: Service,
    gpu: str = "H100-SXM",
    gpus: int = 4,
    *,
    safety_margin: SafetyMargin = 0.0,
) -> dict[str, ServingCandidate]:
    datasheet = specs.gpu(gpu)
    found, _ = every_serving_candidate(
        service,
        shape_of(datasheet, gpus),
        gpu=datasheet,
        model=specs.llm(service.model),
        rtt_s=0.0,
        safety_margin=safety_margin,
    )
    return {str(one.layout): one for one in found}


def rate(candidate: ServingCandidate) -> float:
    return candidate.rates[0].requests_per_s


def changed(service: Service, **fields: object) -> Service:
    return service.model_copy(update=fields)


def test_a_prefix_cache_serves_more(specs: Specs) -> None:
    service = service_of(sizes=((4000, 100, 1.0),))
    plain = sized(specs, service)["tp4"]
    cached = sized(specs, changed(service, prefix_cache_share=0.7))["tp4"]
    assert rate(cached) > 1.5 * rate(plain)
    assert any("70% of prompts from the prefix cache" in text for text in cached.assumptions)


def test_an_eight_bit_cache_holds_more_where_memory_binds(specs: Specs) -> None:
    service = service_of(tpot_s=0.5, sizes=((6000, 500, 1.0),), ttft_s=30)
    plain = sized(specs, service, gpus=2)["tp2"]
    halved = sized(specs, changed(service, kv_precision=KvPrecision.FP8), gpus=2)["tp2"]
    assert halved.rates[0].concurrency > 1.5 * plain.rates[0].concurrency


def test_prompts_in_steps_of_their_own_serve_less(specs: Specs) -> None:
    plain = sized(specs, service_of())["tp4"]
    apart = sized(specs, changed(service_of(), chunked_prefill=False))["tp4"]
    assert rate(apart) < rate(plain)


def test_an_old_release_of_an_engine_serves_less(specs: Specs) -> None:
    service = service_of(tpot_s=0.04)
    plain = sized(specs, service)["tp4"]
    old = sized(specs, changed(service, engine_released_on=date(2025, 1, 1)))["tp4"]
    other = sized(specs, changed(service, engine=ServingEngine.SGLANG))["tp4"]
    assert rate(old) < rate(plain)
    assert rate(other) != rate(plain)


def test_the_margin_of_the_error_band_plans_on_its_bad_end(specs: Specs) -> None:
    full = sized(specs, service_of())["tp4"]
    wary = sized(specs, service_of(), safety_margin="from_error_band")["tp4"]
    assert rate(wary) == pytest.approx(rate(full) * full.band.low_factor)
    assert any("bad end of their 90 % band" in text for text in wary.assumptions)


def test_sparse_models_are_tried_with_whole_experts(specs: Specs) -> None:
    service = service_of(model="deepseek-v3", tpot_s=0.1, ttft_s=5)
    layouts = sized(specs, service, "H200-SXM", 8)
    assert {"tp8", "tp8·ep8", "dp8·ep8"} <= layouts.keys()
    assert layouts["tp8"].label is Label.CALIBRATED
    assert layouts["tp8·ep8"].label is Label.ESTIMATED
    # each GPU holds its own sequences, not all of them
    assert layouts["dp8·ep8"].layout.gpus == 8
    assert layouts["dp8·ep8"].layout.data == 8


def test_pipelines_are_tried_over_pcie_only(specs: Specs) -> None:
    service = service_of(model="qwen3-32b", tpot_s=0.2, ttft_s=5)
    assert "pp4" in sized(specs, service, "L40S", 4)
    assert not any("pp" in name for name in sized(specs, service, "H100-SXM", 4))


def test_a_mig_slice_serves_as_a_small_gpu(specs: Specs) -> None:
    service = service_of(model="qwen3-4b", tpot_s=0.1)
    part = sized(specs, service, "H100-SXM-2g.20gb", 1)["tp1"]
    whole = sized(specs, service, "H100-SXM", 1)["tp1"]
    assert 0 < rate(part) < rate(whole) / 3
    assert part.gpu == "H100-SXM-2g.20gb"


def test_names_tell_nodes_apart(specs: Specs) -> None:
    ids = set()
    for gpus in (2, 4, 8):
        for precision in (Precision.FP8, Precision.BF16):
            found = sized(specs, service_of(precisions=(precision,)), gpus=gpus)
            ids |= {one.id for one in found.values()}
            assert len({one.id for one in found.values()}) == len(found)
    assert len(ids) > 10


def test_a_gpu_generation_without_measurements_is_only_estimated(specs: Specs) -> None:
    service = service_of(model="qwen2.5-7b", precisions=(Precision.FP16,), tpot_s=0.2)
    old = sized(specs, service, "V100-SXM-32", 1)["tp1"]
    assert old.label is Label.ESTIMATED
    assert any("no public serving measurements of Volta" in text for text in old.assumptions)


def test_every_class_has_a_band_around_its_estimate() -> None:
    for metric in Metric:
        for scope in Scope:
            for is_moe in (False, True):
                low, high = BANDS[metric, scope, is_moe]
                inner_low, inner_high = BANDS[metric, Scope.INSIDE, is_moe]
                assert 0.1 < low <= inner_low < 1 < inner_high <= high


def test_the_worked_cases_of_70b_and_7b_hold(specs: Specs) -> None:
    """70.55e9 B at 8 bits: two H100 (159 GiB) or one H200 (140 GiB); 7B at 4 bits on 24 GB."""

    def fits(gpu: str, gpus: int, precision: Precision, model: str) -> bool:
        datasheet = specs.gpu(gpu)
        service = service_of(model=model, precisions=(precision,), tpot_s=0.1)
        found, _ = serving_candidates(
            service,
            shape_of(datasheet, gpus),
            gpu=datasheet,
            model=specs.llm(model),
            rtt_s=0.0,
            safety_margin=0.0,
        )
        return bool(found)

    assert fits("H100-SXM", 2, Precision.FP8, "llama-3.1-70b")
    assert fits("H200-SXM", 1, Precision.FP8, "llama-3.1-70b")
    assert not fits("H100-SXM", 1, Precision.BF16, "llama-3.1-70b")
    assert fits("RTX4090", 1, Precision.INT4, "llama-2-7b")
