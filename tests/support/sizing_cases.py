"""Services, runs and shapes of a few words, for the tests of sizing."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

from broker.domain.gpu import GpuModel, Precision
from broker.domain.latency import LatencyObjective, Percentile
from broker.domain.load import LoadCurve
from broker.domain.offer import Fabric, Link, Shape
from broker.domain.parts import Window
from broker.domain.workload import (
    Checkpointing,
    HardwareWish,
    Method,
    Service,
    SizeClass,
    Traffic,
    TrainingRun,
    TrainingStack,
)

WINDOW = Window(
    earliest=datetime(2026, 12, 1, tzinfo=UTC), deadline=datetime(2026, 12, 20, tzinfo=UTC)
)


def shape_of(
    gpu: GpuModel,
    gpus: int | Fraction,
    *,
    link: Link | None = None,
    fabric: Fabric = Fabric.INFINIBAND,
    fabric_gbit_per_s: float | None = 3200.0,
) -> Shape:
    """Make a node of a GPU; without `link` one that suits its form."""
    fast = Link.XGMI if gpu.vendor == "AMD" else Link.NVSWITCH
    by_form = Link.PCIE if gpu.form == "PCIe" else fast
    return Shape(
        gpu=gpu.name,
        gpu_count=Fraction(gpus),
        link=link or (Link.SINGLE if gpus == 1 else by_form),
        link_gb_per_s=gpu.link_gb_per_s,
        link_domain_gpus=None,
        fabric=fabric,
        fabric_gbit_per_s=fabric_gbit_per_s,
    )


def service_of(
    *,
    model: str = "llama-3.1-70b",
    precisions: tuple[Precision, ...] = (Precision.FP8,),
    sizes: tuple[tuple[int, int, float], ...] = ((1000, 300, 1.0),),
    ttft_s: float = 2.0,
    tpot_s: float = 0.05,
) -> Service:
    """Make a service with sizes of (input tokens, output tokens, share) and limits at p95."""
    return Service(
        name="chat",
        model=model,
        traffic=Traffic(requests_per_s=LoadCurve(mean=1, peak=2)),
        sizes=tuple(
            SizeClass(input_tokens=inputs, output_tokens=outputs, share=share)
            for inputs, outputs, share in sizes
        ),
        slo=LatencyObjective(
            ttft=Percentile(p95=timedelta(seconds=ttft_s)),
            tpot=Percentile(p95=timedelta(seconds=tpot_s)),
        ),
        precisions=precisions,
        users={"us-east": 1.0},
    )


def run_of(
    *,
    model: str = "llama-2-7b",
    method: Method = Method.FULL,
    stack: TrainingStack = TrainingStack.TORCH,
    precision: Precision = Precision.BF16,
    gpus: tuple[int, ...] = (8,),
    global_batch_tokens: int = 524_288,
    restartable: bool = True,
    checkpoint: Checkpointing | None = None,
) -> TrainingRun:
    """Make a run of a billion tokens."""
    return TrainingRun(
        name="tune",
        model=model,
        tokens=1e9,
        window=WINDOW,
        method=method,
        stack=stack,
        precision=precision,
        sequence_length=4096,
        global_batch_tokens=global_batch_tokens,
        restartable=restartable,
        checkpoint=checkpoint or Checkpointing(),
        hardware=HardwareWish(gpus=gpus),
    )
