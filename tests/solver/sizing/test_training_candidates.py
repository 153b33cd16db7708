"""Training candidates: what fits, how fast, what interruptions leave, why the rest does not."""

from datetime import timedelta
from fractions import Fraction

import pytest
from sizing_cases import run_of, shape_of

from broker.domain.candidate import Label, Refusal, TrainingCandidate
from broker.domain.gpu import Precision
from broker.domain.margin import SafetyMargin
from broker.domain.offer import Fabric, Link, Shape, SpotTerms
from broker.domain.workload import Checkpointing, Method, TrainingRun, TrainingStack
from broker.specs.load import Specs
from solver.sizing.candidates import training_candidates
from solver.sizing.restarts import useful_share, young_interval_s
from solver.sizing.training_facts import Split, one_spread
from solver.sizing.training_memory import Task, used_gib


def size(
    specs: Specs,
    run: TrainingRun,
    gpu: str = "H100-SXM",
    *,
    shape: Shape | None = None,
    spot: SpotTerms | None = None,
    safety_margin: SafetyMargin = 0.15,
) -> tuple[list[TrainingCandidate], list[Refusal]]:
    datasheet = specs.gpu(gpu)
    return training_candidates(
        run,
        shape or shape_of(datasheet, 8),
        gpu=datasheet,
        model=specs.llm(run.model),
        spot=spot,
        safety_margin=safety_margin,
    )


def fabric_of(specs: Specs, fabric: Fabric, gbit_per_s: float | None) -> Shape:
    return shape_of(specs.gpu("H100-SXM"), 8, fabric=fabric, fabric_gbit_per_s=gbit_per_s)


def test_full_tuning_of_7b_needs_eight_cards_of_24_gb(specs: Specs) -> None:
    gpu = specs.gpu("RTX4090")
    # 16 B × 6.74e9 over 4 is 25.1 GiB a card, of 24; over 8 it is 12.6
    four, refusals = size(specs, run_of(gpus=(4,)), "RTX4090", shape=shape_of(gpu, 4))
    assert four == []
    assert refusals[0].reason == "does_not_fit"
    eight, _ = size(specs, run_of(gpus=(8,)), "RTX4090", shape=shape_of(gpu, 8))
    assert eight[0].layout.zero_stage == 3
    assert eight[0].memory.used_gib <= gpu.memory_gib


def test_70b_on_one_node_is_for_adapters_only(specs: Specs) -> None:
    # 16 B × 70.55e9 over 8 is 131 GiB a GPU, of 80; frozen in 16 bits it is 16.4
    full, refusals = size(specs, run_of(model="llama-3.1-70b"))
    assert full == []
    assert refusals[0].reason == "does_not_fit"
    lora, _ = size(specs, run_of(model="llama-3.1-70b", method=Method.LORA))
    assert lora[0].nodes == 1
    assert lora[0].memory.used_gib <= 79.65
    assert "adapters of rank 16 on every matrix" in lora[0].assumptions


def test_qlora_of_70b_fits_one_80_gb_card(specs: Specs) -> None:
    run = run_of(model="llama-3.1-70b", method=Method.QLORA, stack=TrainingStack.HF, gpus=(1,))
    gpu = specs.gpu("H100-SXM")
    candidates, _ = size(specs, run, shape=shape_of(gpu, 1))
    assert candidates[0].layout.recomputation
    assert candidates[0].label is Label.ESTIMATED


def test_the_name_tells_run_shape_fabric_nodes_kind_and_layout(specs: Specs) -> None:
    firm, _ = size(specs, run_of(gpus=(16,)))
    assert firm[0].id == f"tune/H100-SXMx8/infiniband/2n/firm/{firm[0].layout}"
    spot, _ = size(specs, run_of(gpus=(16,)), spot=SpotTerms())
    assert spot[0].id == f"tune/H100-SXMx8/infiniband/2n/spot/{spot[0].layout}"
    assert spot[0].on_spot
    assert not firm[0].on_spot


def test_one_candidate_for_each_number_of_gpus(specs: Specs) -> None:
    candidates, refusals = size(specs, run_of(gpus=(8, 12, 16, 16, 32)))
    assert [one.nodes for one in candidates] == [1, 2, 4]
    assert [one.layout.gpus for one in candidates] == [8, 16, 32]
    assert [one.reason for one in refusals] == ["gpus_do_not_divide"]
    assert refusals[0].detail == "12 GPUs are no whole number of nodes of 8"


def test_the_bad_end_of_the_band_slows_rate_and_hours_alike(specs: Specs) -> None:
    plain, _ = size(specs, run_of(), safety_margin=0.0)
    wary, _ = size(specs, run_of(), safety_margin="from_error_band")
    kept = plain[0].band.low_factor
    assert kept < 1
    assert wary[0].tokens_per_s == pytest.approx(plain[0].tokens_per_s * kept)
    calm, slow = plain[0].hours, wary[0].hours
    assert calm is not None
    assert slow is not None
    assert slow.steps_h == pytest.approx(calm.steps_h / kept)
    assert slow.initialisation_h == calm.initialisation_h
    assert slow.billed_h > calm.billed_h
    assert f"rates at the bad end of their 90 % band: {kept:.2f} of the estimate" in (
        wary[0].assumptions
    )


def test_fewer_gpus_than_a_node_are_refused(specs: Specs) -> None:
    candidates, refusals = size(specs, run_of(gpus=(4,)))
    assert candidates == []
    assert refusals[0].reason == "gpus_do_not_divide"


def test_plain_tcp_is_many_times_slower_and_roce_is_not(specs: Specs) -> None:
    run = run_of(gpus=(64,))
    infiniband, _ = size(specs, run, shape=fabric_of(specs, Fabric.INFINIBAND, 3200))
    roce, _ = size(specs, run, shape=fabric_of(specs, Fabric.ROCE, 3200))
    tcp, _ = size(specs, run, shape=fabric_of(specs, Fabric.ETHERNET, 50))
    assert roce[0].tokens_per_s == infiniband[0].tokens_per_s
    assert infiniband[0].tokens_per_s / tcp[0].tokens_per_s > 8
    assert tcp[0].label is Label.ESTIMATED


def test_fast_ethernet_without_rdma_is_still_held_back_by_the_host(specs: Specs) -> None:
    run = run_of(gpus=(64,))
    usual, _ = size(specs, run, shape=fabric_of(specs, Fabric.ETHERNET, 400))
    wide, _ = size(specs, run, shape=fabric_of(specs, Fabric.ETHERNET, 3200))
    assert wide[0].tokens_per_s == usual[0].tokens_per_s


@pytest.mark.parametrize(
    ("fabric", "gbit_per_s"),
    [(Fabric.UNKNOWN, 3200.0), (Fabric.INFINIBAND, None), (Fabric.EFA, 0.0)],
)
def test_an_unknown_fabric_bars_several_nodes_but_not_one(
    specs: Specs, fabric: Fabric, gbit_per_s: float | None
) -> None:
    run = run_of(gpus=(8, 16))
    candidates, refusals = size(specs, run, shape=fabric_of(specs, fabric, gbit_per_s))
    assert [one.nodes for one in candidates] == [1]
    assert [one.reason for one in refusals] == ["fabric_unknown"]


@pytest.mark.parametrize("link", [Link.UNKNOWN, Link.SINGLE])
def test_an_unknown_link_bars_training(specs: Specs, link: Link) -> None:
    shape = shape_of(specs.gpu("H100-SXM"), 8, link=link)
    candidates, refusals = size(specs, run_of(), shape=shape)
    assert candidates == []
    assert refusals[0].reason == "link_unknown"


def test_nodes_of_one_gpu_need_a_fabric_only(specs: Specs) -> None:
    gpu = specs.gpu("H100-SXM")
    run = run_of(method=Method.LORA, gpus=(1, 4))
    candidates, _ = size(specs, run, shape=shape_of(gpu, 1))
    assert [one.nodes for one in candidates] == [1, 4]


def test_spot_is_never_for_what_may_not_be_interrupted(specs: Specs) -> None:
    candidates, refusals = size(specs, run_of(restartable=False), spot=SpotTerms())
    assert candidates == []
    assert refusals[0].reason == "not_restartable"


def test_a_run_that_cannot_restart_counts_no_loss_but_says_the_risk(specs: Specs) -> None:
    candidates, _ = size(specs, run_of(restartable=False))
    assert candidates[0].useful_share == 1
    # one node at 4 failures in 1,000 node-days: one in 6,000 h
    text = "not restartable: no loss counted, yet one interruption in 6,000.0 h of the gang"
    assert text in candidates[0].assumptions


def test_spot_leaves_less_than_firm_capacity_and_unknown_terms_least(specs: Specs) -> None:
    run = run_of(gpus=(64,))
    firm, _ = size(specs, run)
    calm, _ = size(specs, run, spot=SpotTerms(monthly_interruption=(0.0, 0.05)))
    wild, _ = size(specs, run, spot=SpotTerms(monthly_interruption=(0.15, 0.20)))
    unknown, _ = size(specs, run, spot=SpotTerms())
    shares = [one[0].useful_share for one in (firm, calm, wild, unknown)]
    assert shares == sorted(shares, reverse=True)
    assert len(set(shares)) == 4
    note = "spot interruptions not known: taken as one in 10 node-hours"
    assert note in unknown[0].assumptions


def test_useful_share_is_that_of_youngs_interval(specs: Specs) -> None:
    candidates, _ = size(specs, run_of(gpus=(16,)))
    # two nodes fail every 1,000/4/2 days = 3,000 h; 14 B × 6.74e9 at 2 GB/s pause 47.2 s
    up_s, pause_s = 3000 * 3600.0, 14 * 6.74 / 2
    restart_s = 100 + 1.1 * 6.74 + 12 * 60
    expected = useful_share(
        interval_s=young_interval_s(pause_s=pause_s, up_s=up_s),
        pause_s=pause_s,
        restart_s=restart_s,
        up_s=up_s,
    )
    assert candidates[0].useful_share == pytest.approx(expected)
    assert candidates[0].startup_s == pytest.approx(restart_s)


def test_a_given_checkpoint_interval_is_kept(specs: Specs) -> None:
    rare = Checkpointing(interval=timedelta(hours=20))
    often = Checkpointing(interval=timedelta(minutes=2))
    auto, _ = size(specs, run_of(), spot=SpotTerms())
    for checkpoint in (rare, often):
        given, _ = size(specs, run_of(checkpoint=checkpoint), spot=SpotTerms())
        assert given[0].useful_share < auto[0].useful_share


def test_an_interval_that_never_completes_is_refused(specs: Specs) -> None:
    never = Checkpointing(interval=timedelta(days=10))
    candidates, refusals = size(specs, run_of(checkpoint=never), spot=SpotTerms())
    assert candidates == []
    assert refusals[0].reason == "interrupted_too_often"


def test_tokens_are_those_of_steps_less_overhead_margin_and_losses(specs: Specs) -> None:
    candidates, _ = size(specs, run_of(), safety_margin=0.0)
    wary, _ = size(specs, run_of(), safety_margin=0.2)
    assert wary[0].tokens_per_s == pytest.approx(0.8 * candidates[0].tokens_per_s)
    one = candidates[0]
    # mfu is of pure steps: FLOPs/token × tokens/s over 8 × 989 TFLOPS
    flops = 6 * (6.74e9 - 32_000 * 4096) + 6 * 32 * 4096 * 4096
    pure = one.tokens_per_s * 1.05 / one.useful_share
    assert one.mfu == pytest.approx(flops * pure / (8 * 989e12))


def test_tuned_software_is_faster_than_torch_and_torch_than_transformers(specs: Specs) -> None:
    rates = [
        size(specs, run_of(stack=stack))[0][0].tokens_per_s
        for stack in (TrainingStack.TUNED, TrainingStack.TORCH, TrainingStack.HF)
    ]
    assert rates == sorted(rates, reverse=True)
    assert len(set(rates)) == 3


def test_old_cards_train_in_fp16_and_say_so(specs: Specs) -> None:
    gpu = specs.gpu("V100-SXM-32")
    run = run_of(model="qwen2.5-0.5b", gpus=(8,))
    candidates, _ = size(specs, run, "V100-SXM-32", shape=shape_of(gpu, 8))
    assert "computed in FP16" in candidates[0].assumptions


def test_what_overflows_in_fp16_is_not_trained_on_old_cards(specs: Specs) -> None:
    def sized(gpu: str) -> tuple[int, list[str]]:
        run = run_of(model="gemma-3-4b", method=Method.LORA, gpus=(8,))
        found, refusals = size(specs, run, gpu, shape=shape_of(specs.gpu(gpu), 8))
        return len(found), [one.detail for one in refusals]

    assert sized("V100-SXM-32") == (0, ["V100-SXM-32: gemma-3-4b overflows in FP16"])
    assert sized("A100-80-SXM") == (1, [])


@pytest.mark.parametrize(
    ("gpu", "gpus", "precision", "reason"),
    [
        ("A100-80-SXM", 8, Precision.FP8, "precision_unsupported"),
        ("H100-SXM", 8, Precision.INT8, "precision_unsupported"),
        ("Trainium2", 1, Precision.BF16, "stack_not_modelled"),
        ("MI250X", 1, Precision.BF16, "stack_not_modelled"),
        ("P40", 1, Precision.BF16, "too_old"),
        ("A10", Fraction(1, 2), Precision.BF16, "fractional_gpus"),
    ],
)
def test_a_shape_that_cannot_train_is_refused_by_name(
    specs: Specs, *, gpu: str, gpus: int | Fraction, precision: Precision, reason: str
) -> None:
    shape = shape_of(specs.gpu(gpu), gpus)
    candidates, refusals = size(specs, run_of(precision=precision), gpu, shape=shape)
    assert candidates == []
    assert [one.reason for one in refusals] == [reason]
    assert gpu in refusals[0].detail


def test_a_batch_too_small_for_the_gpus_is_refused(specs: Specs) -> None:
    run = run_of(stack=TrainingStack.HF, gpus=(64,), global_batch_tokens=4 * 4096)
    candidates, refusals = size(specs, run)
    assert candidates == []
    assert refusals[0].reason == "batch_too_small"


def test_a_fitted_generation_is_calibrated_and_others_say_what_is_doubtful(specs: Specs) -> None:
    fitted, _ = size(specs, run_of())
    assert fitted[0].label is Label.CALIBRATED
    gpu = specs.gpu("L40S")
    run = run_of(method=Method.LORA)
    doubtful, _ = size(specs, run, "L40S", shape=shape_of(gpu, 8))
    assert doubtful[0].label is Label.ESTIMATED
    assert "no training measurements fitted for L40S in BF16" in doubtful[0].assumptions
    assert "GPUs over PCIe: hosts differ by a factor of 2" in doubtful[0].assumptions
    assert doubtful[0].band.low_factor < fitted[0].band.low_factor


def test_a_sparse_model_is_estimated_with_a_wider_band(specs: Specs) -> None:
    run = run_of(model="qwen3-30b-a3b", stack=TrainingStack.TUNED, gpus=(32,))
    sparse, _ = size(specs, run)
    dense, _ = size(specs, run_of(stack=TrainingStack.TUNED, gpus=(32,)))
    assert sparse[0].label is Label.ESTIMATED
    assert sparse[0].band.low_factor < dense[0].band.low_factor
    assert sparse[0].band.high_factor > dense[0].band.high_factor


def test_70b_in_full_needs_more_nodes_to_shard_over(specs: Specs) -> None:
    # 16 B × 70.55e9 is 1,051 GiB of states: 131 on each of 8 GPUs of 80, 66 of 16, 33 of 32
    candidates, refusals = size(specs, run_of(model="llama-3.1-70b", gpus=(8, 16, 32)))
    assert [one.reason for one in refusals] == ["does_not_fit"]
    assert [one.nodes for one in candidates] == [2, 4]
    assert all(one.layout.zero_stage == 3 for one in candidates)
    states = [one.memory.states_gib for one in candidates]
    assert states[0] == pytest.approx(16 * 70.55e9 / 16 / 2**30, rel=0.03)
    assert states[1] == pytest.approx(states[0] / 2)


@pytest.mark.parametrize("model", ["llama-2-7b", "llama-3.1-70b"])
@pytest.mark.parametrize("stack", [TrainingStack.TORCH, TrainingStack.TUNED])
def test_an_h100_needs_a_third_to_under_half_of_the_time_of_an_a100(
    specs: Specs, *, model: str, stack: TrainingStack
) -> None:
    # 312 against 989 TFLOPS is 0.32 of the time; kernels reach less of the larger peak
    run = run_of(model=model, stack=stack, gpus=(64,), global_batch_tokens=4_194_304)
    older, _ = size(specs, run, "A100-80-SXM")
    newer, _ = size(specs, run)
    assert 0.30 <= older[0].tokens_per_s / newer[0].tokens_per_s <= 0.45


def test_hours_are_told_by_what_they_go_to_and_add_up(specs: Specs) -> None:
    spot = SpotTerms(monthly_interruption=(0.1, 0.9))
    run = run_of(gpus=(16,)).model_copy(update={"tokens": 1e12})
    firm, _ = size(specs, run)
    candidates, _ = size(specs, run, spot=spot)
    hours = candidates[0].hours
    assert hours is not None
    parts = hours.steps_h + hours.evaluation_h + hours.checkpoints_h
    parts += hours.losses_h + hours.initialisation_h
    assert parts == pytest.approx(hours.billed_h)
    assert hours.evaluation_h == pytest.approx(0.05 * hours.steps_h)
    assert hours.makespan_h[0] <= hours.billed_h <= hours.makespan_h[1]
    calm = firm[0].hours
    assert calm is not None
    assert calm.makespan_h == (calm.billed_h, calm.billed_h)
    assert calm.losses_h < hours.losses_h
    text = "; ".join(candidates[0].assumptions)
    assert "initialisation" in text
    assert "waiting for spot included" in text


def test_a_tight_fit_is_told(specs: Specs) -> None:
    tight, _ = size(specs, run_of(model="llama-3.1-70b", gpus=(16,)))
    roomy, _ = size(specs, run_of(method=Method.LORA))
    assert any("memory is tight" in one for one in tight[0].assumptions)
    assert not any("memory is tight" in one for one in roomy[0].assumptions)


def test_a_rack_of_fast_links_is_one_domain(specs: Specs) -> None:
    gpu = specs.gpu("GB200")
    run = run_of(model="llama-3.1-70b", gpus=(64,), stack=TrainingStack.TUNED)
    node = shape_of(gpu, 4, fabric_gbit_per_s=400.0)
    rack = node.model_copy(update={"link_domain_gpus": 72})
    alone, _ = size(specs, run, "GB200", shape=node)
    joined, _ = size(specs, run, "GB200", shape=rack)
    assert joined[0].tokens_per_s > alone[0].tokens_per_s


@pytest.mark.parametrize(
    ("model", "gpus"),
    [("llama-3.1-70b", 32), ("llama-3.1-70b", 64), ("mixtral-8x7b", 32)],
)
def test_a_layout_says_all_that_its_memory_follows_from(
    specs: Specs, *, model: str, gpus: int
) -> None:
    """Whoever lays the run out so is within the memory that the candidate tells of."""
    run = run_of(
        model=model, stack=TrainingStack.TUNED, gpus=(gpus,), global_batch_tokens=4_194_304
    )
    found, _ = size(specs, run)
    layout, memory = found[0].layout, found[0].memory
    ranks = layout.data * layout.micro_batch
    told = Split(**layout.model_dump() | {"micro_batches": 1024 / ranks})
    task = Task(specs.llm(model), run.method, run.precision, run.stack, run.sequence_length)
    assert used_gib(task, one_spread(told)) == pytest.approx(memory.used_gib - memory.reserve_gib)
