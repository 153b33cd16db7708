"""The search for the fastest layout that fits."""

import pytest

from broker.domain.gpu import GpuModel, Precision
from broker.domain.llm import LlmModel
from broker.domain.workload import Method, TrainingStack
from broker.specs.load import Specs
from solver.sizing.training_layouts import (
    Search,
    fastest_split,
    fitting_variants,
    meshes,
    used_gib,
)
from solver.sizing.training_memory import Task
from solver.sizing.training_time import Job, Split, Wires, job, step_s

NODE = Wires(inside_gb_per_s=450.0, between_gb_per_s=400.0, gpus_per_node=8)


def work_of(
    gpu: GpuModel,
    model: LlmModel,
    *,
    method: Method = Method.FULL,
    stack: TrainingStack = TrainingStack.TUNED,
) -> tuple[Job, Task]:
    made = job(
        gpu=gpu,
        model=model,
        precision=Precision.BF16,
        method=method,
        stack=stack,
        sequence_length=4096,
    )
    assert made is not None
    return made, Task(model, method, Precision.BF16, stack, 4096)


def search(
    specs: Specs,
    *,
    gpus: int,
    sequences: int = 128,
    model: str = "llama-2-7b",
    stack: TrainingStack = TrainingStack.TUNED,
) -> Search:
    gpu = specs.gpu("H100-SXM")
    work, task = work_of(gpu, specs.llm(model), stack=stack)
    return fastest_split(work, task, gpu=gpu, wires=NODE, gpus=gpus, sequences=sequences)


def test_the_search_finds_the_shortest_step_of_all_that_fit(specs: Specs) -> None:
    """Checks against every split there is, sharding stage and recomputation included."""
    gpu = specs.gpu("H100-SXM")
    work, task = work_of(gpu, specs.llm("llama-2-13b"))
    found = fastest_split(work, task, gpu=gpu, wires=NODE, gpus=16, sequences=64)
    times = []
    for mesh in meshes(work, task, wires=NODE, gpus=16, sequences=64):
        for stage in (1,) if mesh.pipeline > 1 else (1, 2, 3):
            for recomputation in (False, True):
                split = Split(
                    tensor=mesh.tensor,
                    pipeline=mesh.pipeline,
                    data=mesh.data,
                    zero_stage=stage,
                    micro_batch=mesh.micro_batch,
                    micro_batches=mesh.micro_batches,
                    recomputation=recomputation,
                )
                if used_gib(task, split) <= 0.93 * gpu.memory_gib:
                    times.append(step_s(work, split, NODE))
    assert found.step_s == pytest.approx(min(times))


def test_meshes_use_all_gpus_and_feed_every_rank(specs: Specs) -> None:
    work, task = work_of(specs.gpu("H100-SXM"), specs.llm("llama-2-7b"))
    for mesh in meshes(work, task, wires=NODE, gpus=64, sequences=32):
        assert mesh.gpus == 64
        assert mesh.data * mesh.micro_batch <= 32
        assert mesh.micro_batches * mesh.micro_batch * mesh.data >= 32


def test_tensor_parallelism_stays_inside_the_node(specs: Specs) -> None:
    work, task = work_of(specs.gpu("H100-SXM"), specs.llm("llama-2-7b"))
    pair = Wires(inside_gb_per_s=450.0, between_gb_per_s=50.0, gpus_per_node=2)
    assert {mesh.tensor for mesh in meshes(work, task, wires=pair, gpus=8, sequences=64)} == {1, 2}


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
    work, task = work_of(specs.gpu("H100-SXM"), specs.llm("llama-2-7b"), stack=stack, method=method)
    found = list(meshes(work, task, wires=NODE, gpus=8, sequences=64))
    assert {mesh.tensor for mesh in found} == tensors
    assert {mesh.pipeline for mesh in found} == pipelines


def test_a_pipeline_divides_the_layers(specs: Specs) -> None:
    work, task = work_of(specs.gpu("H100-SXM"), specs.llm("gemma-2-9b"))  # 42 layers
    found = meshes(work, task, wires=NODE, gpus=16, sequences=64)
    assert {mesh.pipeline for mesh in found} == {1, 2}


def test_nothing_fits_says_how_much_the_closest_lacks(specs: Specs) -> None:
    found = search(specs, gpus=8, model="llama-3.1-405b")
    assert found.split is None
    assert found.tried > 0
    # 16 of 18 B a parameter sharded over 8 GPUs at the very least: 405.85e9 × 18/8 B = 850 GiB
    assert found.missing_gib > 405.85e9 * 16 / 8 / 2**30 - 79.65


def test_a_batch_too_small_for_the_ranks_tries_nothing(specs: Specs) -> None:
    found = search(specs, gpus=64, sequences=4, stack=TrainingStack.HF)
    assert found.tried == 0


def test_recomputation_is_kept_for_what_does_not_fit_otherwise(specs: Specs) -> None:
    gpu = specs.gpu("H100-SXM")
    _, task = work_of(gpu, specs.llm("llama-2-7b"))
    mesh = Split(
        tensor=8,
        pipeline=1,
        data=1,
        zero_stage=1,
        micro_batch=1,
        micro_batches=8,
        recomputation=False,
    )
    fitting, _ = fitting_variants(task, mesh, gpu=gpu)
    assert [(one.zero_stage, one.recomputation) for one in fitting] == [(1, False)]
