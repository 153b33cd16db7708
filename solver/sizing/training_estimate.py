"""One training configuration: its step, rate, MFU and memory, with label and band.

The one door for plans and for validation: what is validated is what is planned with.
"""

from dataclasses import dataclass, replace

from broker.domain.candidate import ErrorBand, Label
from broker.domain.gpu import GpuModel, Precision
from broker.domain.llm import LlmModel
from broker.domain.offer import Fabric
from broker.domain.workload import Method, TrainingStack
from solver.sizing import constants as common
from solver.sizing import training_constants as fixed
from solver.sizing.training_bands import Scope
from solver.sizing.training_constants import TimeConstants
from solver.sizing.training_facts import Job, Number, Split, Spread, Wires, job, one_spread
from solver.sizing.training_memory import Task, peak_parts
from solver.sizing.training_time import model_flops_per_token, step_s
from solver.sizing.training_trust import (
    generation_doubts,
    kind_of,
    label_of,
    scope_of,
    training_band,
    training_doubts,
)

_TERA = 1e12


@dataclass(frozen=True, slots=True)
class Setup:
    """A configuration to estimate: hardware, network, method, software, layout.

    `year` dates the software. `fabric` joins the nodes, None where there is one node.
    """

    gpu: GpuModel
    model: LlmModel
    precision: Precision
    method: Method
    stack: TrainingStack
    sequence_length: int
    split: Split
    wires: Wires
    year: float = fixed.PLANNED_YEAR
    fabric: Fabric | None = None
    is_pcie: bool = False
    is_encoder: bool = False

    @property
    def task(self) -> Task:
        """Give what memory depends on."""
        return Task(
            model=self.model,
            method=self.method,
            precision=self.precision,
            stack=self.stack,
            sequence_length=self.sequence_length,
        )

    def job(self) -> Job | None:
        """Give what a step works on; None where the GPU lacks the precision."""
        made = job(
            gpu=self.gpu,
            model=self.model,
            precision=self.precision,
            method=self.method,
            stack=self.stack,
            sequence_length=self.sequence_length,
            year=self.year,
        )
        return None if made is None else replace(made, is_encoder=float(self.is_encoder))


@dataclass(frozen=True, slots=True)
class TrainingEstimate:
    """What a configuration comes to; the band is on the rate: the true one lies within it.

    `mfu` counts FLOPs that the model needs, none recomputed, over the dense peak of the precision.
    """

    step_s: float
    tokens_per_s: float
    mfu: float
    peak_gib: float
    label: Label
    band: ErrorBand
    doubts: tuple[str, ...]


def training_estimate(
    setup: Setup, *, doubts: tuple[str, ...] = (), constants: TimeConstants = fixed.TIME
) -> TrainingEstimate | None:
    """Estimate one configuration; None where the GPU lacks the precision.

    Args:
        setup: the configuration.
        doubts: what else is doubtful of it, such as an assumption of the caller.
        constants: those of the step's time.
    """
    work = setup.job()
    if work is None:
        return None
    spread = one_spread(setup.split)
    seconds = float(step_s(work, spread, setup.wires, constants))
    sequences = setup.split.micro_batches * setup.split.micro_batch * setup.split.data
    rate = sequences * setup.sequence_length / seconds
    new, edge = _doubts(setup)
    scope = scope_of(generation=new, edge=edge + doubts)
    kind = kind_of(
        model=setup.model, stack=setup.stack, method=setup.method, is_encoder=setup.is_encoder
    )
    return TrainingEstimate(
        step_s=seconds,
        tokens_per_s=rate,
        mfu=mfu(work, tokens_per_s=rate, gpus=setup.split.gpus),
        peak_gib=float(peak_parts(setup.task, spread).total) / common.GIB,
        label=label_of(scope, is_sparse=setup.model.is_moe),
        band=training_band(kind, scope),
        doubts=new + edge + doubts,
    )


def scope(setup: Setup, doubts: tuple[str, ...] = ()) -> Scope:
    """Say how far from the measurements a configuration is."""
    new, edge = _doubts(setup)
    return scope_of(generation=new, edge=edge + doubts)


def mfu(work: Job, *, tokens_per_s: Number, gpus: int) -> float:
    """Give model FLOPs, none of them recomputed, over the dense peak of the precision."""
    flops = model_flops_per_token(work) * tokens_per_s
    return float(flops / (gpus * work.peak_tflops * _TERA))


def _doubts(setup: Setup) -> tuple[tuple[str, ...], tuple[str, ...]]:
    new = generation_doubts(gpu=setup.gpu, precision=setup.precision)
    edge = training_doubts(
        model=setup.model,
        method=setup.method,
        sequence_length=setup.sequence_length,
        gpus=setup.split.gpus,
        fabric=setup.fabric,
        is_pcie=setup.is_pcie,
    )
    return new, edge


__all__ = ["Setup", "Split", "Spread", "TrainingEstimate", "Wires", "mfu", "training_estimate"]
