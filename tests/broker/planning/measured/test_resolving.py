import math
from dataclasses import replace

import pytest

from broker.domain.errors import ConfigurationError
from broker.domain.gpu import Precision
from broker.planning.measured.raw import RawServing, RawTraining
from broker.planning.measured.resolving import Resolver, Said, Skipped
from broker.specs.load import Specs

RAW = RawServing(
    where="run 1",
    model="/models/Meta-Llama-3.1-70B-Instruct-FP8",
    gpu="H100-SXM",
    gpus=2,
    engine="vllm",
    input_tokens=1000,
    output_tokens=300,
    concurrency=32,
    tpot_s=0.03,
)


def test_a_path_of_a_quantized_checkpoint_names_model_and_format(specs: Specs) -> None:
    resolver = Resolver(specs, Said(), "file")
    point = resolver.serving(RAW)
    assert not isinstance(point, Skipped)
    assert point.deployment.model == "llama-3.1-70b"
    assert point.deployment.precision is Precision.FP8
    assert any("precision fp8, as the name" in note for note in resolver.notes)


def test_an_option_wins_over_the_file(specs: Specs) -> None:
    said = Said(model="llama-3.1-8b", gpu="l40s", precision="bf16", gpus=1, engine="trtllm")
    point = Resolver(specs, said, "file").serving(RAW)
    assert not isinstance(point, Skipped)
    assert (point.deployment.model, point.deployment.gpu) == ("llama-3.1-8b", "L40S")
    assert (point.deployment.precision, point.tensor) == (Precision.BF16, 1)
    assert point.deployment.engine == "tensorrt-llm"


@pytest.mark.parametrize(
    ("missing", "option"),
    [
        (replace(RAW, gpu=None), "--gpu"),
        (replace(RAW, gpus=None), "--gpus"),
        (replace(RAW, engine=None), "--engine"),
        (replace(RAW, concurrency=None), "--concurrency"),
        (replace(RAW, input_tokens=None), "--input"),
        (replace(RAW, model="llama-3.1-70b"), "--precision"),
    ],
)
def test_what_nobody_says_is_asked_for_and_not_guessed(
    missing: RawServing, option: str, specs: Specs
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Resolver(specs, Said(), "file").serving(missing)
    assert option in caught.value.hint


def test_an_unknown_model_hints_at_the_nearest(specs: Specs) -> None:
    with pytest.raises(ConfigurationError, match="unknown model") as caught:
        Resolver(specs, Said(), "file").serving(replace(RAW, model="llama-3.1-80b"))
    assert "llama-3.1-70b" in caught.value.hint


def test_a_run_that_lost_requests_is_not_taken(specs: Specs) -> None:
    skipped = Resolver(specs, Said(), "file").serving(replace(RAW, failed_share=0.2))
    assert skipped == Skipped("run 1", "20% of its requests failed")


@pytest.mark.parametrize(
    ("raw", "figure"),
    [
        (replace(RAW, tpot_s=math.nan), "time per output token is nan"),
        (replace(RAW, ttft_s=-0.1), "time to the first token is -0.1"),
        (replace(RAW, tokens_per_s=math.inf), "number of tokens/s is inf"),
        (replace(RAW, concurrency=-4.0), "number of requests in flight is -4"),
    ],
)
def test_a_figure_that_nobody_can_measure_is_not_kept(
    raw: RawServing, figure: str, specs: Specs
) -> None:
    skipped = Resolver(specs, Said(), "file").serving(raw)
    assert skipped == Skipped("run 1", f"its {figure}, no positive number")


TRAINED = RawTraining(
    where="line 2",
    model="llama-3.1-8b",
    gpu="H100-SXM",
    gpus=8,
    sequence_length=4096,
    global_batch_tokens=1_048_576,
    tokens_per_s=98_000,
)


def test_a_training_run_says_what_was_taken_for_granted(specs: Specs) -> None:
    resolver = Resolver(specs, Said(), "file")
    raw = TRAINED
    point = resolver.training(raw)
    assert (point.trained.stack, point.gpus_per_node) == ("torch", 8)
    assert "stack is not said: torch is taken" in resolver.notes
    with pytest.raises(ConfigurationError, match="sequence_length is empty"):
        resolver.training(replace(raw, sequence_length=None))


def test_a_batch_below_one_sequence_is_refused(specs: Specs) -> None:
    raw = replace(TRAINED, global_batch_tokens=256)
    with pytest.raises(ConfigurationError, match="line 2: global_batch_tokens 256") as caught:
        Resolver(specs, Said(), "file").training(raw)
    assert "not their number" in caught.value.hint
