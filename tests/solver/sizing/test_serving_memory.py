"""Room for sequences on the GPUs of a replica."""

from dataclasses import replace

import pytest

from broker.domain.gpu import Precision
from broker.specs.load import Specs
from solver.sizing.links import ALONE
from solver.sizing.precisions import Arithmetic
from solver.sizing.serving_facts import Replica, Split
from solver.sizing.serving_memory import Room, room, sequence_gib

GIB = 2.0**30


def replica_of(
    specs: Specs, gpu: str, name: str, precision: Precision = Precision.BF16, *, tensor: int = 1
) -> Replica:
    """Make a replica of which only the memory matters."""
    arithmetic = Arithmetic(precision, 1000.0)
    return Replica(specs.gpu(gpu), specs.llm(name), arithmetic, Split(tensor=tensor), ALONE)


def test_room_is_what_weights_and_buffers_leave(specs: Specs) -> None:
    replica = replica_of(specs, "H100-SXM", "llama-3.1-8b")
    space = room(replica)
    # 0.92 × 79.65 − 16.06e9 B − 0.13
    assert space.left_gib == pytest.approx(0.92 * 79.65 - 16.06e9 / GIB - 0.13)


def test_sequences_share_the_room_with_their_sampler_buffers(specs: Specs) -> None:
    replica = replica_of(specs, "H100-SXM", "llama-3.1-8b")
    space = room(replica)
    kv_gib = sequence_gib(replica, tokens=2000)
    assert kv_gib == pytest.approx(2000 * 131_072 / GIB)
    # beyond 2 GiB of buffers each sequence takes 38.6 B × 128,256 more
    sampler_gib = 38.6 * 128_256 / GIB
    in_full = space.left_gib / (kv_gib + sampler_gib)
    over_floor = (space.left_gib - 2) / kv_gib
    assert space.max_sequences(kv_gib) == pytest.approx(min(in_full, over_floor))


def test_short_sequences_stop_at_the_limit_of_the_engine(specs: Specs) -> None:
    space = room(replica_of(specs, "B200", "llama-2-7b", Precision.FP8))
    assert space.max_sequences(kv_gib=0.001) == 1024


def test_less_than_one_sequence_is_none(specs: Specs) -> None:
    space = room(replica_of(specs, "H100-SXM", "llama-3.1-70b"))
    assert space.max_sequences(kv_gib=1.0) == 0
    # 141.1e9 B of weights, 1.86 GiB and 1 GiB of cache against 0.97 × 79.65
    missing = 141.1e9 / GIB + 1.86 + 1 - 0.97 * 79.65
    assert space.missing_gib(kv_gib=1.0) == pytest.approx(missing)


def test_what_only_just_starts_is_one_sequence() -> None:
    # 92 % of 80 GiB leave 1.47 GiB, less than the usual 2; 97 % leave room to start
    space = Room(weights_gib=72.0, context_gib=0.13, available_gib=80.0, sampler_gib=0.005)
    assert space.max_sequences(kv_gib=0.5) == 1
    assert space.use(sequences=1, kv_gib=0.5).used_gib <= 0.97 * 80


def test_what_only_just_starts_in_a_group_is_within_the_gpu_too() -> None:
    # 9.4 + 0.24 + 2 GB within 97 % of 11.94 GiB: buffers of the group are part of the 2 GB
    space = Room(weights_gib=9.4, context_gib=0.55, available_gib=11.94, sampler_gib=0.005)
    assert space.max_sequences(kv_gib=0.24) == 1
    assert space.use(sequences=1, kv_gib=0.24).used_gib <= 0.97 * 11.94


def test_eight_bit_caches_hold_twice_the_sequences(specs: Specs) -> None:
    replica = replica_of(specs, "H100-SXM", "llama-3.1-8b")
    halved = replace(replica, kv_bits=8.0)
    assert sequence_gib(halved, tokens=1000) == sequence_gib(replica, tokens=1000) / 2


def test_eight_bit_caches_leave_the_state_of_linear_attention_as_it_is(specs: Specs) -> None:
    # Qwen3.5-27B: 48 of 64 layers keep 1,024 B per hidden unit, beside 65,536 B a token
    replica = replica_of(specs, "H100-SXM", "qwen3.5-27b")
    halved = replace(replica, kv_bits=8.0)
    expected = (48 * 5120 * 1024 + 1000 * 65_536 / 2) / GIB
    assert sequence_gib(halved, tokens=1000) == pytest.approx(expected)


def test_sparse_latent_attention_keeps_keys_to_search_by(specs: Specs) -> None:
    # 61 layers of 576 values, and of 128 in 8 bits with a scale of 4 B; a copy on every GPU
    replica = replica_of(specs, "H200-SXM", "deepseek-v3.2", Precision.FP8, tensor=8)
    assert sequence_gib(replica, tokens=1000) == pytest.approx(61_000 * (2 * 576 + 132) / GIB)
    halved = replace(replica, kv_bits=8.0)
    assert sequence_gib(halved, tokens=1000) == pytest.approx(61_000 * (576 + 132) / GIB)
    plain = replica_of(specs, "H200-SXM", "deepseek-v3", Precision.FP8, tensor=8)
    assert sequence_gib(plain, tokens=1000) == pytest.approx(61_000 * 2 * 576 / GIB)


def test_stages_and_dealt_out_experts_divide_the_weights(specs: Specs) -> None:
    base = replica_of(specs, "L40S", "qwen3-30b-a3b")
    whole = base.weight_bytes_per_gpu()
    staged = replace(base, split=Split(tensor=2, pipeline=2)).weight_bytes_per_gpu()
    assert staged.total == pytest.approx(whole.total / 4)
    # each GPU keeps all of the attention, and a fourth of the experts
    apart = replace(base, split=Split(expert=4, attention_data=4)).weight_bytes_per_gpu()
    assert apart.others == whole.others
    assert apart.experts == pytest.approx(whole.experts / 4)


def test_what_is_held_never_exceeds_the_gpu(specs: Specs) -> None:
    replica = replica_of(specs, "A100-80-SXM", "llama-3.1-8b")
    space, kv_gib = room(replica), sequence_gib(replica, tokens=3000)
    use = space.use(sequences=space.max_sequences(kv_gib), kv_gib=kv_gib)
    assert use.used_gib <= 0.92 * replica.gpu.memory_gib + 1e-9


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
    replica = replica_of(specs, gpu, name, precision, tensor=tensor)
    assert room(replica).max_sequences(sequence_gib(replica, tokens=tokens)) >= 1


def test_kv_room_agrees_with_a_start_log(specs: Specs) -> None:
    """ROCm/rocm-blogs vllm-optimize: one MI300X holds 1,262,352 tokens of Llama-3-8B in 16 bits.

    At a utilization of 0.9, by an older vLLM with smaller buffers: within 4 %.
    """
    space = room(replica_of(specs, "MI300X", "llama-3-8b"))
    tokens = (space.left_gib - 2) * GIB / 131_072
    assert tokens == pytest.approx(1_262_352, rel=0.04)
