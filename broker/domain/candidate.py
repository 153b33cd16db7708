"""Candidates: a workload on a shape in a layout, with what it needs and what it gives."""

from enum import StrEnum
from fractions import Fraction
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field

from broker.domain.gpu import GpuSlice, Precision
from broker.domain.offer import Shape
from broker.domain.pool import Pool, PoolClass, Role
from broker.domain.quantities import Estimate, Frozen, Share, steady


class Label(StrEnum):
    """How far a figure can be trusted."""

    MEASURED = "measured"
    CALIBRATED = "calibrated"
    ESTIMATED = "estimated"


class Layout(Frozen):
    """How the work is split over GPUs; `zero_stage` and `micro_batch` are for training only.

    `expert` is the number of GPUs, of those that the others count, that whole experts are dealt
    out to; 1 leaves them split like the rest. `context` GPUs share each sequence in training.
    `recomputation` repeats whole layers in the backward pass, `selective` their cheap operators
    only; a pipeline of several `virtual_stages` is interleaved. What is left out is not used.
    """

    tensor: Annotated[int, Field(ge=1)] = 1
    pipeline: Annotated[int, Field(ge=1)] = 1
    data: Annotated[int, Field(ge=1)] = 1
    context: Annotated[int, Field(ge=1)] = 1
    expert: Annotated[int, Field(ge=1)] = 1
    zero_stage: int = 0
    micro_batch: int = 1
    recomputation: bool = False
    selective: bool = Field(default=False, exclude_if=lambda used: not used)
    virtual_stages: Annotated[int, Field(ge=1, exclude_if=lambda stages: stages == 1)] = 1

    @property
    def gpus(self) -> int:
        """Count the GPUs that work together."""
        return self.tensor * self.pipeline * self.data * self.context

    def __str__(self) -> str:
        parts = [
            ("tp", self.tensor),
            ("pp", self.pipeline),
            ("dp", self.data),
            ("cp", self.context),
            ("ep", self.expert),
        ]
        return "·".join(f"{name}{size}" for name, size in parts if size > 1) or "tp1"


class MemoryUse(Frozen):
    """GiB on each GPU: what the work takes, and what the GPU has."""

    weights_gib: float
    kv_cache_gib: float = 0.0
    states_gib: float = 0.0
    activations_gib: float = 0.0
    reserve_gib: float = 0.0
    available_gib: float

    @property
    def used_gib(self) -> float:
        """Sum the parts."""
        parts = (self.weights_gib, self.kv_cache_gib, self.states_gib)
        return sum(parts) + self.activations_gib + self.reserve_gib


class ErrorBand(Frozen):
    """The 90 % band as factors on the figure: the true rate lies between low and high of it."""

    low_factor: float
    high_factor: float


class ClassRate(Frozen):
    """What one replica sustains of one size class alone, within the latency objective."""

    requests_per_s: Estimate
    concurrency: Estimate
    ttft_s: Estimate
    tpot_s: Estimate


class ServingCandidate(Frozen):
    """One replica of a service on part of a node. `rates` follow the service's size classes.

    A rate of 0 means that this class cannot meet its objective here. `rtt_s` is the network round
    trip that the first token's objective was reduced by. The safety margin is already taken off.
    `model` is the network that answers: the service's own, or one of its alternatives. On a slice
    of a GPU, `gpu` is that slice by its name; elsewhere `gpu_slice` is left out of what is written.
    So is `pool`, but for a replica that only prefills, or only decodes.
    """

    id: str
    service: str
    gpu: str
    precision: Precision
    layout: Layout
    rtt_s: float
    memory: MemoryUse
    rates: tuple[ClassRate, ...]
    label: Label
    band: ErrorBand
    assumptions: tuple[str, ...] = ()
    model: str = ""
    gpu_slice: GpuSlice | None = Field(default=None, exclude_if=lambda one: one is None)
    pool: Pool | None = Field(default=None, exclude_if=lambda one: one is None)

    @property
    def pool_class(self) -> PoolClass | None:
        """Name what the other pool must share; None where a replica does prompts and answers."""
        return None if self.pool is None else self.pool.joined(self.model, self.precision)

    def does(self, role: Role) -> bool:
        """Say whether a replica works on prompts, or on answers."""
        return self.pool is None or self.pool.role is role

    @property
    def gpus(self) -> int | Fraction:
        """Count the GPUs that the replica takes: a part of one on a slice."""
        if self.gpu_slice is None:
            return self.layout.gpus
        return self.layout.gpus * self.gpu_slice.gpu_share

    @property
    def laid_out(self) -> str:
        """Name the layout, or the slice that the replica has alone, and what it only does."""
        laid_out = str(self.layout) if self.gpu_slice is None else self.gpu_slice.profile
        return laid_out if self.pool is None else f"{self.pool.role} {laid_out}"


class RunHours(Frozen):
    """Where a run's hours go on its nodes, the safety margin counted in each.

    `losses_h` is work that interruptions undo, and restarts. `billed_h` is their sum, `makespan_h`
    the range from asking for nodes to the end, with the waiting for spot capacity.
    """

    steps_h: float
    evaluation_h: float
    checkpoints_h: float
    losses_h: float
    initialisation_h: float
    billed_h: float
    makespan_h: tuple[float, float]


class TrainingCandidate(Frozen):
    """A run on whole nodes of one shape.

    `tokens_per_s` counts useful work while the gang is up, safety margin, checkpoints and expected
    losses already taken off; `useful_share` is the part of the up time that those leave.
    `startup_s` is paid each time the gang starts. `hours` is an outlook on the whole run.
    """

    id: str
    run: str
    shape: Shape
    nodes: Annotated[int, Field(ge=1)]
    on_spot: bool
    layout: Layout
    memory: MemoryUse
    tokens_per_s: Annotated[Estimate, Field(gt=0)]
    useful_share: Annotated[Share, AfterValidator(steady)]
    startup_s: Estimate
    mfu: float
    label: Label
    band: ErrorBand
    assumptions: tuple[str, ...] = ()
    hours: RunHours | None = None


class BatchCandidate(Frozen):
    """A batch job on whole nodes of one shape, each full of replicas that work on their own.

    `precision`, `layout`, `memory` and `concurrency` (requests in flight) are those of a replica,
    `replicas` are on each node. `tokens_per_s` counts all nodes while they are up, safety margin
    and expected losses already taken off; `useful_share` is the part of the up time that those
    leave. `startup_s` is paid each time that the nodes start.
    """

    id: str
    run: str
    shape: Shape
    nodes: Annotated[int, Field(ge=1)]
    on_spot: bool
    precision: Precision
    layout: Layout
    replicas: Annotated[int, Field(ge=1)]
    concurrency: float
    memory: MemoryUse
    tokens_per_s: Annotated[Estimate, Field(gt=0)]
    useful_share: Annotated[Share, AfterValidator(steady)]
    startup_s: Estimate
    label: Label
    band: ErrorBand
    assumptions: tuple[str, ...] = ()


GangCandidate: TypeAlias = TrainingCandidate | BatchCandidate
"""What a gang of whole nodes does: a training run, or a batch job."""


class Refusal(Frozen):
    """A shape that cannot carry a workload, and why: `reason` is short, `detail` has figures."""

    workload: str
    subject: str
    reason: str
    detail: str
