"""Batch jobs sized: throughput without a latency limit, numbers of nodes, spot, refusals."""

import math
from datetime import timedelta

import pytest
from sizing_cases import shape_of

from broker.domain.batch import BatchJob
from broker.domain.candidate import BatchCandidate, Refusal
from broker.domain.gpu import Precision
from broker.domain.margin import SafetyMargin
from broker.domain.offer import SpotTerms
from broker.specs.load import Specs, load_specs
from solver.sizing.batch import BatchWork, as_service, batch_candidates, node_counts
from solver.sizing.serving import Setting, arithmetics, layout_of, replicas
from solver.sizing.serving_estimate import Regime, serving_estimate

NIGHT = BatchWork(tokens=4e9, slots=6, slot_s=3600.0)


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def job_of(**more: object) -> BatchJob:
    entry = {
        "name": "embed",
        "model": "llama-3.1-8b",
        "tokens_per_day": 4e9,
        "by": "06:00 UTC",
        "output_share": 0.2,
    }
    return BatchJob.model_validate(entry | more, strict=False)


def sized(
    specs: Specs,
    job: BatchJob,
    *,
    gpu: str = "H100-SXM",
    gpus: int = 8,
    work: BatchWork = NIGHT,
    spot: SpotTerms | None = None,
    margin: SafetyMargin = 0.0,
) -> tuple[list[BatchCandidate], list[Refusal]]:
    model = specs.gpu(gpu)
    return batch_candidates(
        job,
        work,
        shape_of(model, gpus),
        gpu=model,
        model=specs.llm(job.model),
        spot=spot,
        safety_margin=margin,
    )


def test_a_node_processes_what_the_benchmark_model_estimates_offline(specs: Specs) -> None:
    """As `serving_estimate` flat out, less what full contexts and the reserve leave of memory."""
    job = job_of()
    (one, *_), _ = sized(specs, job)
    gpu = specs.gpu("H100-SXM")
    setting = Setting(as_service(job), shape_of(gpu, 8), gpu, specs.llm(job.model), 0.0, 0.0)
    found = replicas(setting, arithmetics(setting)[0])
    same = next(
        replica
        for replica in found
        if not isinstance(replica, Refusal) and layout_of(replica.split) == one.layout
    )
    flat_out = serving_estimate(
        same,
        input_tokens=job.input_tokens,
        output_tokens=job.output_tokens,
        regime=Regime.OFFLINE,
    )
    requests_per_s = flat_out.tokens_per_s / job.output_tokens
    expected = requests_per_s * job.tokens_per_request * one.replicas * one.nodes * one.useful_share
    assert one.tokens_per_s == pytest.approx(expected, rel=0.05)
    assert one.replicas * one.layout.gpus == 8


def test_candidates_differ_in_nodes_alone_and_all_finish_in_time(specs: Specs) -> None:
    found, _ = sized(specs, job_of())
    each = {one.tokens_per_s / one.nodes for one in found}
    assert max(each) == pytest.approx(min(each))
    for one in found:
        needed_s = NIGHT.tokens / one.tokens_per_s + one.startup_s
        assert needed_s <= NIGHT.slots * NIGHT.slot_s
    assert len({one.id for one in found}) == len(found)


def test_candidates_of_several_nodes_are_the_same_when_read_again(specs: Specs) -> None:
    for gpu in ("L4", "L40S", "H100-SXM"):
        found, _ = sized(specs, job_of(tokens_per_day=4e10), gpu=gpu)
        assert max(one.nodes for one in found) > 1
        for one in found:
            assert BatchCandidate.model_validate_json(one.model_dump_json()) == one


def test_the_fastest_precision_is_taken_and_no_other_than_allowed(specs: Specs) -> None:
    (slow, *_), _ = sized(specs, job_of(precisions=["bf16"]))
    (fast, *_), _ = sized(specs, job_of(precisions=["bf16", "fp8"]))
    assert (slow.precision, fast.precision) == (Precision.BF16, Precision.FP8)
    assert fast.tokens_per_s / fast.nodes > slow.tokens_per_s / slow.nodes


def test_without_a_latency_limit_as_many_requests_are_in_flight_as_fit(specs: Specs) -> None:
    (small, *_), _ = sized(specs, job_of(), gpu="L4", gpus=1)
    (large, *_), _ = sized(specs, job_of())
    assert large.concurrency > 4 * small.concurrency
    assert small.memory.used_gib <= small.memory.available_gib


def test_reading_prompts_counts_no_answers(specs: Specs) -> None:
    (read, *_), _ = sized(specs, job_of(output_share=0.0))
    (asked, *_), _ = sized(specs, job_of(output_share=0.5))
    assert read.tokens_per_s / read.nodes > 1.5 * asked.tokens_per_s / asked.nodes
    assert any("no answer" in text for text in read.assumptions)


def test_the_safety_margin_is_taken_off(specs: Specs) -> None:
    (whole, *_), _ = sized(specs, job_of())
    (less, *_), _ = sized(specs, job_of(), margin=0.15)
    assert less.tokens_per_s / less.nodes == pytest.approx(0.85 * whole.tokens_per_s / whole.nodes)


def test_spot_costs_a_start_for_each_interruption_of_a_node(specs: Specs) -> None:
    """Unknown spot: one loss in 10 node-hours, and one failure in 6,000, so U is 9.98 h."""
    job = job_of(start_up=timedelta(minutes=30))
    (spot, *_), _ = sized(specs, job, spot=SpotTerms())
    up_h = 1 / (0.1 + 1 / 6000)
    assert spot.on_spot
    assert spot.useful_share == pytest.approx(math.exp(-0.5 / up_h), rel=0.01)
    (firm, *_), _ = sized(specs, job)
    assert firm.useful_share > 0.999
    rate = firm.tokens_per_s / firm.nodes / firm.useful_share
    assert spot.tokens_per_s / spot.nodes == pytest.approx(rate * spot.useful_share)


def test_numbers_of_nodes_fill_whole_slots_of_the_window() -> None:
    """10 node-hours and a start of 10 min: in 6 h 2 nodes, in 3 h 4, in 2 h 6, in 1 h 12."""
    work = BatchWork(tokens=1.0, slots=6, slot_s=3600.0)
    assert node_counts(work, node_s=36_000.0, startup_s=600.0) == (2, 4, 6, 12)


def test_the_number_with_the_fewest_node_hours_is_among_them() -> None:
    """9.5 node-hours without a start: 2 nodes for 5 h cost 10, 5 for 2 h too, 1 for 10 h as well.

    Of the halves of a window of 12 h none does that: 12 h 1 node, 6 h 2, 3 h 4, 2 h 5.
    """
    work = BatchWork(tokens=1.0, slots=12, slot_s=3600.0)
    assert node_counts(work, node_s=9.5 * 3600, startup_s=0.0) == (1, 2, 4, 5)
    assert node_counts(work, node_s=13 * 3600, startup_s=0.0) == (2, 3, 5, 7, 13)


def test_a_window_that_the_start_fills_is_refused(specs: Specs) -> None:
    short = BatchWork(tokens=1e6, slots=1, slot_s=600.0)
    found, refused = sized(specs, job_of(), work=short)
    assert found == []
    assert refused[-1].reason == "window_too_short"
    assert "start_up 0:10:00 leaves nothing" in refused[-1].detail


def test_a_model_that_does_not_fit_is_refused_with_what_is_missing(specs: Specs) -> None:
    found, refused = sized(specs, job_of(model="llama-3.1-70b"), gpu="L4", gpus=1)
    assert found == []
    assert refused[0].reason == "does_not_fit"
    assert "GiB per GPU" in refused[0].detail
