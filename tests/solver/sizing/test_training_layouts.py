"""The search for the fastest layout that fits."""

import numpy as np
import pytest

from broker.domain.gpu import GpuModel, Precision
from broker.domain.llm import LlmModel
from broker.domain.workload import Method, TrainingStack
from broker.specs.load import Specs
from solver.sizing.training_facts import Job, Wires, job, one_spread
from solver.sizing.training_layouts import Search, fastest_split, layouts
from solver.sizing.training_memory import Task, used_gib, weights_and_states
from solver.sizing.training_time import step_s

NODE = Wires(inside_gb_per_s=450.0, between_gb_per_s=400.0, gpus_per_node=8.0)


def work_of(
    gpu: GpuModel,
    model: LlmModel,
    *,
    method: Method = Method.FULL,
    stack: TrainingStack = TrainingStack.TUNED,
    length: int = 4096,
) -> tuple[Job, Task]:
    made = job(
        gpu=gpu,
        model=model,
        precision=Precision.BF16,
        method=method,
        stack=stack,
        sequence_length=length,
    )
    assert made is not None
    return made, Task(model, method, Precision.BF16, stack, length)


def search(
    specs: Specs,
    *,
    gpus: int,
    sequences: int = 128,
    model: str = "llama-2-7b",
    stack: TrainingStack = TrainingStack.TUNED,
    length: int = 4096,
) -> Search:
    gpu = specs.gpu("H100-SXM")
    work, task = work_of(gpu, specs.llm(model), stack=stack, length=length)
    return fastest_split(work, task, gpu=gpu, wires=NODE, gpus=gpus, sequences=sequences)


def sizes(task: Task, axis: str, *, gpus: int = 8, wires: Wires = NODE) -> set[float]:
    spread = layouts(task, wires=wires, gpus=gpus, sequences=64)
    return set(np.asarray(getattr(spread, axis)).tolist())


def test_the_search_finds_the_shortest_step_of_all_that_fit(specs: Specs) -> None:
    gpu = specs.gpu("H100-SXM")
    work, task = work_of(gpu, specs.llm("llama-2-13b"))
    found = search(specs, gpus=16, sequences=64, model="llama-2-13b")
    assert found.split is not None
    spread = layouts(task, wires=NODE, gpus=16, sequences=64)
    fits = np.asarray(used_gib(task, spread)) <= 0.93 * gpu.memory_gib
    assert fits.any()
    assert not fits.all()
    assert found.step_s == pytest.approx(np.asarray(step_s(work, spread, NODE))[fits].min())
    assert found.step_s == pytest.approx(float(step_s(work, one_spread(found.split), NODE)))
    assert used_gib(task, one_spread(found.split)) <= 0.93 * gpu.memory_gib


def test_layouts_use_all_gpus_and_feed_every_rank(specs: Specs) -> None:
    _, task = work_of(specs.gpu("H100-SXM"), specs.llm("llama-2-7b"))
    spread = layouts(task, wires=NODE, gpus=64, sequences=32)
    assert set(np.asarray(spread.gpus).tolist()) == {64}
    assert (np.asarray(spread.data * spread.micro_batch) <= 32).all()
    assert (np.asarray(spread.data * spread.micro_batch * spread.micro_batches) >= 32).all()


def test_tensor_parallelism_stays_inside_the_node(specs: Specs) -> None:
    _, task = work_of(specs.gpu("H100-SXM"), specs.llm("llama-2-7b"))
    pair = Wires(inside_gb_per_s=450.0, between_gb_per_s=50.0, gpus_per_node=2.0)
    assert sizes(task, "tensor", wires=pair) == {1, 2}


@pytest.mark.parametrize(
    ("stack", "method", "tensors", "pipelines"),
    [
        (TrainingStack.TUNED, Method.FULL, {1, 2, 4, 8}, {1, 2, 4, 8}),
        (TrainingStack.TORCH, Method.FULL, {1, 2, 4, 8}, {1}),
        (TrainingStack.HF, Method.FULL, {1}, {1}),
        (TrainingStack.TORCH, Method.QLORA, {1}, {1}),
    ],
)
def test_a_stack_is_not_asked_for_what_it_lacks(
    specs: Specs, *, stack: TrainingStack, method: Method, tensors: set[int], pipelines: set[int]
) -> None:
    _, task = work_of(specs.gpu("H100-SXM"), specs.llm("llama-2-7b"), stack=stack, method=method)
    assert sizes(task, "tensor") == tensors
    assert sizes(task, "pipeline") == pipelines


def test_a_pipeline_divides_the_layers(specs: Specs) -> None:
    _, task = work_of(specs.gpu("H100-SXM"), specs.llm("gemma-2-9b"))  # 42 layers
    assert sizes(task, "pipeline", gpus=16) == {1, 2}


def test_only_long_sequences_are_cut_and_only_experts_dealt_out(specs: Specs) -> None:
    gpu = specs.gpu("H100-SXM")
    _, short = work_of(gpu, specs.llm("llama-2-7b"))
    _, long = work_of(gpu, specs.llm("llama-2-7b"), length=32_768)
    _, sparse = work_of(gpu, specs.llm("qwen3-30b-a3b"))
    assert sizes(short, "context") == {1}
    assert sizes(long, "context") == {1, 2, 4, 8}
    assert sizes(short, "expert") == {1}
    assert sizes(sparse, "expert", gpus=16) == {1, 2, 4, 8, 16}


def test_transformers_deal_out_no_experts(specs: Specs) -> None:
    model = specs.llm("qwen3-30b-a3b")
    _, task = work_of(specs.gpu("H100-SXM"), model, stack=TrainingStack.HF)
    assert sizes(task, "expert", gpus=16) == {1}


@pytest.mark.parametrize("model", ["llama-3.1-8b", "mixtral-8x7b", "deepseek-v3"])
def test_the_gpus_of_a_layout_hold_every_state_of_the_network(specs: Specs, *, model: str) -> None:
    """Weights, gradients, master weights and moments: 16 B a parameter, wherever experts lie."""
    _, task = work_of(specs.gpu("H100-SXM"), specs.llm(model))
    spread = layouts(task, wires=NODE, gpus=64, sequences=64)
    _, states = weights_and_states(task, spread)
    held_by_all = np.asarray(states) * 64
    assert held_by_all.min() >= 16 * specs.llm(model).params_b * 1e9 * 0.999


def test_a_long_sequence_needs_its_context_spread_over_gpus(specs: Specs) -> None:
    found = search(specs, gpus=8, sequences=8, model="llama-3.1-8b", length=131_072)
    assert found.split is not None
    assert found.split.context * found.split.tensor > 1


def test_nothing_fits_says_how_much_the_closest_lacks(specs: Specs) -> None:
    found = search(specs, gpus=8, model="llama-3.1-405b")
    assert found.split is None
    assert found.tried > 0
    # 16 of 18 B a parameter sharded over 8 GPUs at the very least: 405.85e9 × 16/8 B = 756 GiB
    assert found.missing_gib > 405.85e9 * 16 / 8 / 2**30 * 0.9 - 79.65


def test_a_batch_too_small_for_the_ranks_tries_nothing(specs: Specs) -> None:
    found = search(specs, gpus=64, sequences=4, stack=TrainingStack.HF)
    assert found.tried == 0
