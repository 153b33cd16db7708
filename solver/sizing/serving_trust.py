"""How far a serving figure can be trusted: inside the range of measurements, or beyond it."""

from dataclasses import dataclass

from broker.domain.candidate import ErrorBand, Label
from broker.domain.gpu import SLICE_FORM, GpuModel, Precision
from broker.domain.llm import LlmModel
from solver.sizing.accelerators import GpuClass, gpu_class
from solver.sizing.architecture import is_mla
from solver.sizing.serving_bands import BANDS, Metric, Scope
from solver.sizing.serving_facts import Replica
from solver.sizing.serving_rate import Pessimism

_MEASURED_GENERATIONS = (
    "Ampere",
    "Ada",
    "Hopper",
    "Blackwell",
    "Blackwell Ultra",
    "CDNA3",
    "NeuronCore-v2",
    "Gaudi2",
)
_MEASURED_KINDS = (
    (False, "full"),
    (True, "full"),
    (True, "latent"),
    (True, "windowed"),
    (True, "linear"),
)
_INTEGERS = (Precision.INT8, Precision.INT4)


@dataclass(frozen=True, slots=True)
class Trust:
    """The label of a figure, its 90 % band, factors to test latency at, and what is doubtful."""

    label: Label
    band: ErrorBand
    pessimism: Pessimism
    doubts: tuple[str, ...]


def serving_trust(replica: Replica) -> Trust:
    """Judge a serving estimate.

    Calibrated where GPU generation, kind of network, format and layout all have measurements;
    otherwise the same formulas hold with wider bands.
    """
    scope, doubts = scope_of(replica)
    return Trust(
        label=Label.CALIBRATED if scope is Scope.INSIDE else Label.ESTIMATED,
        band=band_of(replica, Metric.RATE),
        pessimism=Pessimism(
            ttft_factor=band_of(replica, Metric.TTFT).high_factor,
            tpot_factor=band_of(replica, Metric.TPOT).high_factor,
        ),
        doubts=doubts,
    )


def pool_trust(replica: Replica) -> Trust:
    """Judge a replica that only prefills, or only decodes: no measurements of such are known.

    Each figure has the wider of two bands, that of the replica as it is and that of a new kind.
    """
    _, doubts = scope_of(replica)
    of = {metric: _widest(replica, metric) for metric in (Metric.RATE, Metric.TTFT, Metric.TPOT)}
    return Trust(
        label=Label.ESTIMATED,
        band=of[Metric.RATE],
        pessimism=Pessimism(
            ttft_factor=of[Metric.TTFT].high_factor, tpot_factor=of[Metric.TPOT].high_factor
        ),
        doubts=("no public measurements of pools that only prefill or decode", *doubts),
    )


def _widest(replica: Replica, metric: Metric) -> ErrorBand:
    own = band_of(replica, metric)
    low, high = BANDS[metric, Scope.NEW_KIND, replica.model.is_moe]
    return ErrorBand(low_factor=min(own.low_factor, low), high_factor=max(own.high_factor, high))


def band_of(replica: Replica, metric: Metric) -> ErrorBand:
    """Give the 90 % band of one metric of a replica, as factors on the estimate."""
    scope, _ = scope_of(replica)
    low, high = BANDS[metric, scope, replica.model.is_moe]
    return ErrorBand(low_factor=low, high_factor=high)


def scope_of(replica: Replica) -> tuple[Scope, tuple[str, ...]]:
    """Say how far a replica is from what was measured, and what takes it out of that range."""
    gpu, split = replica.gpu, replica.split
    if gpu.architecture not in _MEASURED_GENERATIONS:
        return Scope.NEW_GPU, (f"no public serving measurements of {gpu.architecture} GPUs",)
    if kind_of(replica.model) not in _MEASURED_KINDS:
        return Scope.NEW_KIND, (f"no measurements of a network like {replica.model.name}",)
    doubts = _doubts_of(gpu)
    if replica.link.is_pcie:
        doubts.append("groups over PCIe: hosts differ by a factor of 2")
    if split.pipeline > 1:
        doubts.append("pipeline stages: uneven ones are only allowed for on average")
    if split.deals_experts:
        doubts.append("experts dealt out to GPUs: how evenly they are asked varies")
    if replica.arithmetic.precision in _INTEGERS:
        doubts.append(f"{replica.arithmetic.precision.upper()} kernels differ widely")
    return (Scope.EDGE if doubts else Scope.INSIDE), tuple(doubts)


def _doubts_of(gpu: GpuModel) -> list[str]:
    doubts = []
    if gpu_class(gpu) is GpuClass.OTHER:
        doubts.append(f"few public serving measurements of {gpu.name}, of few stacks")
    if gpu.form == SLICE_FORM:
        doubts.append("a MIG slice: no public serving measurements of slices")
    return doubts


def kind_of(model: LlmModel) -> tuple[bool, str]:
    """Tell the kind of a network: sparse or not, and its attention."""
    if is_mla(model):
        return model.is_moe, "latent"
    if model.kv_layers < model.layers:
        is_linear = model.attention_kind == "hybrid_linear"
        return model.is_moe, "linear" if is_linear else "recurrent"
    return model.is_moe, "windowed" if model.window_layers else "full"
