"""Time of one training step, part by part; the form is fitted to 900 published rows.

    linear    = t·F/(e·peak)·(1 + 750/k)        t tokens per GPU, k tokens per micro-batch
    attention = t·A/(0.357·e16·peak16)
    memory    = 158·t·L·h·2 B ÷ bandwidth
    compute   = S·(linear + attention + memory), at least the launches of every layer
    step      = (compute + tensor)·(1 + (pp − 1)/(vp·m)) + exposed data-parallel time + optimizer

Held-out median error 10 % for dense models on tuned stacks, 18 to 27 % on others. Sparse models
take about twice the time of the formula, by a factor that differs widely. Ignores expert and
context parallelism, and the release of the software.
"""

import math
from dataclasses import dataclass

from broker.domain.gpu import GpuModel, Precision
from broker.domain.llm import LlmModel
from broker.domain.workload import Method, TrainingStack
from solver.sizing import constants
from solver.sizing.accelerators import native_tflops
from solver.sizing.architecture import BILLION, input_embedding_params
from solver.sizing.links import mesh_gb_per_s
from solver.sizing.training_efficiency import StackCosts, stack_costs, training_efficiency

GIGA = 1e9
TERA = 1e12
FULL_SHARDING = 3
_BYTES_16 = 2.0
_BITS_PER_BYTE = 8


@dataclass(frozen=True, slots=True)
class Split:
    """How a step is split: sizes of each parallel axis, sharding, micro-batches."""

    tensor: int
    pipeline: int
    data: int
    zero_stage: int
    micro_batch: int
    micro_batches: int
    recomputation: bool
    virtual_stages: int = 1

    @property
    def gpus(self) -> int:
        """Count the GPUs."""
        return self.tensor * self.pipeline * self.data


@dataclass(frozen=True, slots=True)
class Wires:
    """GB/s of one direction, per GPU inside a node and per node between them, and its size."""

    inside_gb_per_s: float
    between_gb_per_s: float
    gpus_per_node: int
    is_mesh: bool = False

    def tensor_gb_per_s(self, gpus: int) -> float:
        """Give the GB/s among a tensor-parallel group: in a mesh, that of its own links."""
        if not self.is_mesh:
            return self.inside_gb_per_s
        return mesh_gb_per_s(
            gb_per_s=self.inside_gb_per_s, gpus=gpus, domain_gpus=self.gpus_per_node
        )


@dataclass(frozen=True, slots=True)
class Job:
    """What a step works on, in plain numbers; TFLOPS are those reached, not the peaks."""

    method: Method
    sequence_length: int
    layers: int
    hidden: int
    params: float
    step_params: float
    linear_tflops: float
    attention_tflops: float
    memory_gb_per_s: float
    stack: StackCosts
    step_factor: float


def job(
    *,
    gpu: GpuModel,
    model: LlmModel,
    precision: Precision,
    method: Method,
    stack: TrainingStack,
    sequence_length: int,
) -> Job | None:
    """Gather the figures of a run on a GPU; None where it lacks the precision."""
    peak = native_tflops(gpu=gpu, precision=precision)
    if peak is None or gpu.bf16_tflops is None:
        return None
    sixteen = training_efficiency(gpu=gpu, precision=Precision.BF16).share * gpu.bf16_tflops
    return Job(
        method=method,
        sequence_length=sequence_length,
        layers=model.layers,
        hidden=model.hidden,
        params=model.params_b * BILLION,
        step_params=model.active_params_b * BILLION - input_embedding_params(model),
        linear_tflops=training_efficiency(gpu=gpu, precision=precision).share * peak,
        attention_tflops=constants.ATTENTION_SHARE * sixteen,
        memory_gb_per_s=gpu.memory_gb_per_s,
        stack=stack_costs(stack),
        step_factor=constants.MOE_STEP_FACTOR if model.is_moe else 1.0,
    )


def linear_flops_per_token(*, params: float, method: Method, recomputation: bool) -> float:
    """Count FLOPs of the matrices per token: 6N, 4N with frozen weights; + 2N recomputed."""
    passes = 6 if method is Method.FULL else 4
    return (passes + (2 if recomputation else 0)) * params


def attention_flops_per_token(
    *, layers: int, hidden: int, sequence_length: int, recomputation: bool
) -> float:
    """Count causal attention FLOPs per token: 6·L·h·s; + 2·L·h·s recomputed."""
    return (6 + (2 if recomputation else 0)) * float(layers) * hidden * sequence_length


def compute_s(job: Job, split: Split) -> float:
    """Time the work of one GPU in a step, in seconds, without communication or bubble."""
    tokens = gpu_tokens(job, split)
    micro_tokens = split.micro_batch * job.sequence_length
    again = split.recomputation
    linear = linear_flops_per_token(params=job.step_params, method=job.method, recomputation=again)
    attention = attention_flops_per_token(
        layers=job.layers,
        hidden=job.hidden,
        sequence_length=job.sequence_length,
        recomputation=again,
    )
    linear_s = tokens * linear / (job.linear_tflops * TERA)
    linear_s *= 1 + constants.SMALL_BATCH_TOKENS / micro_tokens
    attention_s = tokens * attention / (job.attention_tflops * TERA)
    values = tokens * job.layers * job.hidden * _BYTES_16
    memory_s = constants.MEMORY_PASSES * values / (job.memory_gb_per_s * GIGA)
    repeat = constants.RECOMPUTED_PASS if again else 1.0
    work_s = job.stack.slowdown * (linear_s + attention_s + memory_s * repeat)
    floor_s = job.layers / split.pipeline * split.micro_batches * job.stack.launch_s * repeat
    return job.step_factor * at_least(work_s, floor_s)


def at_least(work_s: float, floor_s: float) -> float:
    """Join work and its floor smoothly: (work⁴ + floor⁴)^(1/4)."""
    power = constants.FLOOR_POWER
    return math.pow(math.pow(work_s, power) + math.pow(floor_s, power), 1 / power)


def gpu_tokens(job: Job, split: Split) -> float:
    """Count the tokens of a step per GPU, those that fill up the last micro-batches included."""
    sequences = split.micro_batches * split.micro_batch * split.data
    return sequences * job.sequence_length / split.gpus


def tensor_s(job: Job, split: Split, *, gb_per_s: float) -> float:
    """Time the collectives of tensor parallelism in seconds.

    1.82 · t·tp·L · 8·(tp − 1)/tp · h·2 B ÷ link, half as much again when recomputing.
    """
    if split.tensor == 1:
        return 0.0
    values = gpu_tokens(job, split) * split.tensor * job.layers * job.hidden * _BYTES_16
    sent = constants.TENSOR_COLLECTIVES * (split.tensor - 1) / split.tensor * values
    repeat = constants.TENSOR_RECOMPUTED if split.recomputation else 1.0
    return constants.TENSOR_LOSS * repeat * sent / (gb_per_s * GIGA)


def data_bytes(job: Job, split: Split) -> float:
    """Size the data-parallel traffic of one GPU in a step, in bytes.

    ZeRO-1 and 2: 4 B·P_l·(n − 1)/n, gradients out and weights back. ZeRO-3: 6 B·P_l·m·(n − 1)/n,
    weights gathered twice and gradients once per micro-batch. LoRA: none, or the gathers of ZeRO-3.
    """
    params = job.params / (split.tensor * split.pipeline)
    share = (split.data - 1) / split.data
    if split.zero_stage == 3:  # noqa: PLR2004 - the name of the stage
        return 6 * params * split.micro_batches * share
    return 4 * params * share if job.method is Method.FULL else 0.0


def pipeline_bytes(job: Job, split: Split) -> float:
    """Size the activations and gradients that a GPU hands to the next stage, in bytes."""
    if split.pipeline == 1:
        return 0.0
    tokens = split.micro_batches * split.micro_batch * job.sequence_length
    return 2 * tokens * job.hidden * _BYTES_16 / split.tensor


def traffic_s(job: Job, split: Split, wires: Wires) -> float:
    """Time the data-parallel and pipeline traffic of a step in seconds, before any overlap.

    A data-parallel group that fits into a node stays inside. Across nodes it has the node's NICs
    shared by its tensor group: min(link, NIC of the node / tp). Grows with log2 of the nodes.
    """
    nodes = max(1, split.gpus // wires.gpus_per_node)
    outside = min(wires.inside_gb_per_s, wires.between_gb_per_s / split.tensor)
    inside = split.tensor * split.data <= wires.gpus_per_node
    loss = constants.DATA_LOSS * (1 + constants.DATA_LOSS_PER_DOUBLING * math.log2(nodes))
    data = loss * data_bytes(job, split) / (wires.inside_gb_per_s if inside else outside)
    alone = split.gpus <= wires.gpus_per_node
    per_gpu = wires.between_gb_per_s / wires.gpus_per_node
    handed = pipeline_bytes(job, split) / (wires.inside_gb_per_s if alone else per_gpu)
    return (data + handed) / GIGA


def hiding_share(split: Split) -> float:
    """Give the share of a step's work that its data-parallel traffic can hide behind, of 1.

    ZeRO-3 sends in every micro-batch. Else gradients go out with the last micro-batch, or with the
    last of each pipeline stage: min(1, pp·vp/m).
    """
    if split.zero_stage == FULL_SHARDING:
        return 1.0
    return min(1.0, split.pipeline * split.virtual_stages / split.micro_batches)


def optimizer_s(job: Job, split: Split) -> float:
    """Time the optimizer's pass over memory: 30 B·P_l/shards + 8 B·P_l; none for LoRA."""
    if job.method is not Method.FULL:
        return 0.0
    params = job.params / (split.tensor * split.pipeline)
    shards = split.data if split.zero_stage else 1
    moved = constants.OPTIMIZER_STATE_BYTES / shards + constants.OPTIMIZER_WEIGHT_BYTES
    return moved * params / (job.memory_gb_per_s * GIGA)


def step_s(job: Job, split: Split, wires: Wires) -> float:
    """Time one step in seconds: work with the bubble, exposed traffic, optimizer."""
    work = compute_s(job, split) + tensor_s(
        job, split, gb_per_s=wires.tensor_gb_per_s(split.tensor)
    )
    bubble = (split.pipeline - 1) / (split.virtual_stages * split.micro_batches)
    busy = work * (1 + bubble)
    traffic = traffic_s(job, split, wires)
    window = busy * hiding_share(split)
    exposed = max(0.0, traffic - constants.OVERLAP_SHARE * window)
    return busy + exposed + constants.EXPOSED_SHARE * traffic + optimizer_s(job, split)
