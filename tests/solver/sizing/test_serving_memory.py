"""Room for sequences on the GPUs of a replica."""

import pytest

from broker.domain.gpu import Precision
from broker.specs.load import Specs
from solver.sizing.serving_memory import room, sequence_gib

GIB = 2.0**30


def test_room_is_what_weights_and_buffers_leave(specs: Specs) -> None:
    gpu, model = specs.gpu("H100-SXM"), specs.llm("llama-3.1-8b")
    space = room(gpu=gpu, model=model, precision=Precision.BF16, tensor=1)
    # 0.92 × 79.65 − 16.06e9 B − 0.13
    assert space.left_gib == pytest.approx(0.92 * 79.65 - 16.06e9 / GIB - 0.13)


def test_sequences_share_the_room_with_their_sampler_buffers(specs: Specs) -> None:
    gpu, model = specs.gpu("H100-SXM"), specs.llm("llama-3.1-8b")
    space = room(gpu=gpu, model=model, precision=Precision.BF16, tensor=1)
    kv_gib = sequence_gib(model=model, tokens=2000, tensor=1)
    assert kv_gib == pytest.approx(2000 * 131_072 / GIB)
    # beyond 2 GiB of buffers each sequence takes 38.6 B × 128,256 more
    sampler_gib = 38.6 * 128_256 / GIB
    in_full = space.left_gib / (kv_gib + sampler_gib)
    over_floor = (space.left_gib - 2) / kv_gib
    assert space.max_sequences(kv_gib) == pytest.approx(min(in_full, over_floor))


def test_short_sequences_stop_at_the_limit_of_the_engine(specs: Specs) -> None:
    space = room(
        gpu=specs.gpu("B200"), model=specs.llm("llama-2-7b"), precision=Precision.FP8, tensor=1
    )
    assert space.max_sequences(kv_gib=0.001) == 1024


def test_less_than_one_sequence_is_none(specs: Specs) -> None:
    space = room(
        gpu=specs.gpu("H100-SXM"),
        model=specs.llm("llama-3.1-70b"),
        precision=Precision.BF16,
        tensor=1,
    )
    assert space.max_sequences(kv_gib=1.0) == 0
    # 141.1e9 B of weights, 0.13 and 2 GiB of buffers, 1 GiB of cache against 0.92 × 79.65
    missing = 141.1e9 / GIB + 0.13 + 2 + 1 - 0.92 * 79.65
    assert space.missing_gib(kv_gib=1.0) == pytest.approx(missing)


def test_what_is_held_never_exceeds_the_gpu(specs: Specs) -> None:
    gpu, model = specs.gpu("A100-80-SXM"), specs.llm("llama-3.1-8b")
    space = room(gpu=gpu, model=model, precision=Precision.BF16, tensor=1)
    kv_gib = sequence_gib(model=model, tokens=3000, tensor=1)
    use = space.use(sequences=space.max_sequences(kv_gib), kv_gib=kv_gib)
    assert use.used_gib <= 0.92 * gpu.memory_gib + 1e-9


@pytest.mark.parametrize(
    ("name", "precision", "tensor", "tokens", "gpu"),
    [
        # configurations that started, with the KV cache that vLLM reported:
        # llm-d-incubation/llm-d-planner docs/empirical-vllm-memory-results.md
        ("gpt-oss-20b", Precision.MXFP4, 1, 16_000, "H100-SXM"),
        ("gpt-oss-120b", Precision.MXFP4, 1, 16_000, "H100-SXM"),
        ("qwen3-32b", Precision.BF16, 1, 16_000, "H100-SXM"),
        ("qwen3-32b", Precision.BF16, 2, 16_000, "H100-SXM"),
        # vllm-project/vllm issue 10517 (20,000 tokens on an RTX 3090) and issue 21348
        ("llama-3.1-8b", Precision.BF16, 1, 20_000, "RTX3090"),
        ("qwen3-235b-a22b", Precision.FP8, 4, 40_000, "H100-SXM"),
        # vllm-project/recipes pull 273 and a ROCm blog on vLLM
        ("minimax-m2.5", Precision.FP8, 2, 196_000, "MI300X"),
        ("llama-3-8b", Precision.BF16, 1, 8_192, "MI300X"),
    ],
)
def test_no_configuration_that_was_seen_to_start_is_refused(
    specs: Specs, *, name: str, precision: Precision, tensor: int, tokens: int, gpu: str
) -> None:
    model = specs.llm(name)
    space = room(gpu=specs.gpu(gpu), model=model, precision=precision, tensor=tensor)
    kv_gib = sequence_gib(model=model, tokens=tokens, tensor=tensor)
    assert space.max_sequences(kv_gib) >= 1


def test_kv_room_agrees_with_a_start_log(specs: Specs) -> None:
    """ROCm/rocm-blogs vllm-optimize: one MI300X holds 1,262,352 tokens of Llama-3-8B in 16 bits.

    At a utilization of 0.9, by an older vLLM with smaller buffers: within 4 %.
    """
    model, gpu = specs.llm("llama-3-8b"), specs.gpu("MI300X")
    space = room(gpu=gpu, model=model, precision=Precision.BF16, tensor=1)
    tokens = (space.left_gib - 2) * GIB / 131_072
    assert tokens == pytest.approx(1_262_352, rel=0.04)
