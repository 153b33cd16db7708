"""A user's own points: they move their own deployment, in measure of how many and how near."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from sizing_cases import run_of, service_of, shape_of

from broker.domain.candidate import Label, ServingCandidate
from broker.domain.gpu import Precision
from broker.domain.workload import Method, ServingEngine, TrainingStack
from broker.specs.load import Specs
from solver.sizing.links import serving_link
from solver.sizing.measured import (
    NO_NUMBERS,
    STEP_SPREAD,
    Correction,
    Deployment,
    OwnNumbers,
    Residual,
    ServingPoint,
    TrainedOn,
    TrainingPoint,
)
from solver.sizing.measured_candidates import serving_with_own, training_with_own
from solver.sizing.measured_points import (
    estimated_point,
    estimated_tokens_per_s,
    own_numbers,
    usual_shape,
)

MODEL, GPU = "llama-3.1-70b", "H100-SXM"
OWN = Deployment(MODEL, GPU, "vllm", Precision.FP8)
AT = (math.log(32), math.log(1000), math.log(300), math.log(2))


def slower(specs: Specs, factor: float, deployment: Deployment = OWN, count: int = 3) -> OwnNumbers:
    """Import points that take `factor` times their estimate."""
    gpu, model = specs.gpu(deployment.gpu), specs.llm(deployment.model)
    points = []
    for concurrency in (8, 32, 64)[:count]:
        point = ServingPoint(deployment, 2, 1000, 300, concurrency)
        told = estimated_point(point, gpu=gpu, model=model)
        assert told is not None
        points.append(replace(point, tpot_s=told.tpot_s * factor, ttft_s=told.ttft_s * factor))
    return own_numbers(points, (), gpu_of=specs.gpu, model_of=specs.llm)


def sized(
    specs: Specs, own: OwnNumbers, *, engine: ServingEngine = ServingEngine.VLLM
) -> ServingCandidate:
    """Size the deployment on two of eight GPUs."""
    gpu = specs.gpu(GPU)
    service = service_of(model=MODEL).model_copy(update={"engine": engine})
    found, _ = serving_with_own(
        service,
        shape_of(gpu, 2),
        gpu=gpu,
        model=specs.llm(MODEL),
        rtt_s=0.0,
        safety_margin=0.0,
        own=own,
    )
    return next(one for one in found if one.layout.tensor == 2)


def test_a_correction_shrinks_where_points_are_few_or_far() -> None:
    """One point of ln ratio r at its own place: r·(τ² + ς²)/(τ² + ς² + σ²)."""
    one = Correction((Residual(AT, math.log(1.5)),), STEP_SPREAD)
    prior = STEP_SPREAD.constant**2 + STEP_SPREAD.smooth**2
    weight = prior / (prior + STEP_SPREAD.noise**2)
    assert one.at(AT).factor == pytest.approx(1.5**weight)
    three = Correction(tuple(Residual(AT, math.log(1.5)) for _ in range(3)), STEP_SPREAD)
    far = (AT[0] + 8, *AT[1:])
    assert 1.5 > three.at(AT).factor > one.at(AT).factor > one.at(far).factor > 1
    widths = [each.band.high_factor for each in (three.at(AT), one.at(AT), one.at(far))]
    assert widths == sorted(widths)


def test_slow_points_lower_the_rate_and_narrow_the_band(specs: Specs) -> None:
    plain, own = sized(specs, NO_NUMBERS), sized(specs, slower(specs, 1.3))
    assert own.rates[0].requests_per_s < plain.rates[0].requests_per_s
    assert own.rates[0].tpot_s <= 0.05
    assert (plain.label, own.label) == (Label.CALIBRATED, Label.MEASURED)
    width = own.band.high_factor / own.band.low_factor
    assert width < plain.band.high_factor / plain.band.low_factor
    assert any("3 points of your own" in one for one in own.assumptions)


def test_fast_points_raise_the_rate(specs: Specs) -> None:
    plain, own = sized(specs, NO_NUMBERS), sized(specs, slower(specs, 0.8))
    assert own.rates[0].requests_per_s > plain.rates[0].requests_per_s


@pytest.mark.parametrize(
    "other",
    [
        replace(OWN, model="llama-3.1-8b"),
        replace(OWN, gpu="H200-SXM"),
        replace(OWN, engine="sglang"),
        replace(OWN, precision=Precision.BF16),
    ],
)
def test_points_of_another_deployment_change_nothing(other: Deployment, specs: Specs) -> None:
    assert sized(specs, slower(specs, 2.0, other)) == sized(specs, NO_NUMBERS)


def test_two_points_are_too_few(specs: Specs) -> None:
    assert slower(specs, 2.0, count=2).serving == {}


def test_a_service_on_another_engine_has_its_own_points(specs: Specs) -> None:
    own = slower(specs, 1.5, replace(OWN, engine="sglang"))
    plain = sized(specs, NO_NUMBERS, engine=ServingEngine.SGLANG)
    rate = sized(specs, own, engine=ServingEngine.SGLANG).rates[0].requests_per_s
    assert rate < plain.rates[0].requests_per_s


@pytest.mark.parametrize(
    ("gpu", "gpus", "per_node"),
    [("MI300X", 2, 8), ("MI300X", 4, 8), ("MI300X", 8, 8), ("H100-NVL", 2, 2), ("GB200", 4, 4)],
)
def test_points_are_held_against_the_estimate_that_they_correct(
    specs: Specs, *, gpu: str, gpus: int, per_node: int
) -> None:
    """The links of a plan's own machines: a mesh's part, PCIe, a rack of 72."""
    known = specs.gpu(gpu)
    sold = specs.hardware("", "", gpu=gpu, gpu_count=Fraction(per_node)).shape
    usual = usual_shape(known, gpus)
    link = serving_link(shape=sold, gpu=known, gpus=gpus)
    assert serving_link(shape=usual, gpu=known, gpus=gpus) == link
    if gpus == per_node:
        assert usual.link is sold.link
        assert (usual.link_domain_gpus or gpus) == (sold.link_domain_gpus or gpus)


def test_a_refusal_says_what_the_points_made_of_the_limits(specs: Specs) -> None:
    gpu = specs.gpu(GPU)
    found, refusals = serving_with_own(
        service_of(model=MODEL, tpot_s=0.02),
        shape_of(gpu, 2),
        gpu=gpu,
        model=specs.llm(MODEL),
        rtt_s=0.0,
        safety_margin=0.0,
        own=slower(specs, 3.0),
    )
    assert not found
    assert any("by your 3 points a token takes" in one.detail for one in refusals)


def test_first_tokens_that_come_early_do_not_help_where_the_network_alone_is_too_slow(
    specs: Specs,
) -> None:
    gpu = specs.gpu(GPU)
    found, refusals = serving_with_own(
        service_of(model=MODEL, ttft_s=0.1),
        shape_of(gpu, 2),
        gpu=gpu,
        model=specs.llm(MODEL),
        rtt_s=0.15,
        safety_margin=0.0,
        own=slower(specs, 0.2),
    )
    assert not found
    assert {one.reason for one in refusals if "tp2" in one.subject} == {"ttft_missed"}


def test_from_the_error_band_plans_on_the_narrower_one(specs: Specs) -> None:
    gpu = specs.gpu(GPU)
    rates = []
    for own in (NO_NUMBERS, slower(specs, 1.0)):
        found, _ = serving_with_own(
            service_of(model=MODEL),
            shape_of(gpu, 2),
            gpu=gpu,
            model=specs.llm(MODEL),
            rtt_s=0.0,
            safety_margin="from_error_band",
            own=own,
        )
        rates.append(next(one for one in found if one.layout.tensor == 2).rates[0].requests_per_s)
    assert rates[1] > rates[0]


def test_one_run_corrects_its_own_kind_of_training(specs: Specs) -> None:
    gpu, model = specs.gpu("H100-SXM"), specs.llm("llama-2-7b")
    trained = TrainedOn(model.name, gpu.name, TrainingStack.TORCH, Method.FULL, Precision.BF16)
    point = TrainingPoint(trained, 8, 8, 4096, 524_288, 1.0)
    told = estimated_tokens_per_s(point, gpu=gpu, model=model)
    assert told is not None
    half = replace(point, tokens_per_s=told / 2)
    own = own_numbers((), (half,), gpu_of=specs.gpu, model_of=specs.llm)

    def pace(stack: TrainingStack, numbers: OwnNumbers) -> float:
        found, _ = training_with_own(
            run_of(stack=stack),
            shape_of(gpu, 8),
            gpu=gpu,
            model=model,
            spot=None,
            safety_margin=0.0,
            own=numbers,
        )
        return found[0].tokens_per_s

    slow = pace(TrainingStack.TORCH, own) / pace(TrainingStack.TORCH, NO_NUMBERS)
    assert 0.5 < slow < 0.6  # twice the time, a little shrunk
    assert pace(TrainingStack.HF, own) == pace(TrainingStack.HF, NO_NUMBERS)
