"""Plans written by hand for the exports: every count in them is seen in the test that uses them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from tiny_cases import offer, run_entry, service_entry, workloads

from broker.domain.candidate import (
    ClassRate,
    ErrorBand,
    Label,
    Layout,
    MemoryUse,
    ServingCandidate,
    TrainingCandidate,
)
from broker.domain.gpu import Precision, Stack
from broker.domain.offer import Offer, Place, PriceKind, Shape
from broker.domain.plan import (
    CatalogRef,
    CostLine,
    NodeStep,
    Plan,
    Purchase,
    RunStep,
    ServingAssignment,
    ServingStep,
    SolveSettings,
    Status,
    Term,
    TrainingAssignment,
)
from broker.domain.workload import Workloads

START = datetime(2026, 12, 1, tzinfo=UTC)
_BAND = ErrorBand(low_factor=0.8, high_factor=1.2)
_MEMORY = MemoryUse(weights_gib=10, available_gib=80)
_TERMS = {
    PriceKind.ON_DEMAND: Term.ON_DEMAND,
    PriceKind.SPOT: Term.SPOT,
    PriceKind.OWNED: Term.OWNED,
}


def at(hour: float) -> datetime:
    """Give an instant by its hours from the start of the horizon."""
    return START + timedelta(hours=hour)


def machine(
    key: str, gpu: str = "H100-SXM", gpus: int = 8, usd: str = "40", **more: object
) -> Offer:
    """Make an offer of provider/type/region; `more` changes fields of it."""
    provider, rest = key.split("/", 1)
    name, region = rest.rsplit("/", 1)
    kind = more.pop("kind", PriceKind.ON_DEMAND)
    assert isinstance(kind, PriceKind)
    months = 12 if kind is PriceKind.RESERVED else None
    drawn = offer(usd, name=name, provider=provider, kind=kind, gpus=gpus, term_months=months)
    stack = Stack.ROCM if gpu.startswith("MI") else Stack.CUDA
    shape = drawn.hardware.shape.model_copy(update={"gpu": gpu, "gpu_count": Fraction(gpus)})
    hardware = drawn.hardware.model_copy(update={"shape": shape, "stack": stack})
    changes = {"hardware": hardware, "place": Place(region=region, country="US", continent="us")}
    return drawn.model_copy(update=changes | more)


def bought(of: Offer, *steps: tuple[float, float, int]) -> Purchase:
    """Buy nodes of an offer: from hour, to hour, nodes."""
    held = tuple(NodeStep(from_at=at(a), to_at=at(b), nodes=count) for a, b, count in steps)
    hours = sum(Decimal(str(b - a)) * count for a, b, count in steps)
    return Purchase(
        id=of.key,
        offer=of.key,
        price_kind=of.price_kind,
        steps=held,
        node_hours=Decimal(hours),
        usd=of.usd_per_hour * hours,
    )


def served(
    of: Offer,
    *steps: tuple[float, float, int, float],
    gpus: int = 1,
    service: str = "chat",
    user_region: str = "us-east",
    precision: Precision = Precision.BF16,
    rate: float = 2.0,
) -> ServingAssignment:
    """Serve on a machine: from hour, to hour, replicas, requests/s; `rate` is what one sustains."""
    candidate = ServingCandidate(
        id=f"{service}/{of.machine}/tp{gpus}/{precision}",
        service=service,
        gpu=of.hardware.shape.gpu,
        precision=precision,
        layout=Layout(tensor=gpus),
        rtt_s=0.01,
        memory=_MEMORY,
        rates=(ClassRate(requests_per_s=rate, concurrency=23.4, ttft_s=0.5, tpot_s=0.03),),
        label=Label.CALIBRATED,
        band=_BAND,
    )
    return ServingAssignment(
        service=service,
        user_region=user_region,
        machine=of.machine,
        on_spot=of.price_kind is PriceKind.SPOT,
        candidate=candidate,
        steps=tuple(
            ServingStep(from_at=at(a), to_at=at(b), replicas=count, requests_per_s=(load,))
            for a, b, count, load in steps
        ),
    )


def trained(
    of: Offer, nodes: int, *steps: tuple[float, float], run: str = "tune"
) -> TrainingAssignment:
    """Train on nodes of a machine: from hour, to hour."""
    shape: Shape = of.hardware.shape
    on_spot = of.price_kind is PriceKind.SPOT
    tensor = min(2, int(shape.gpu_count))
    candidate = TrainingCandidate(
        id=f"{run}/{of.machine}/{nodes}",
        run=run,
        shape=shape,
        nodes=nodes,
        on_spot=on_spot,
        layout=Layout(tensor=tensor, data=nodes * int(shape.gpu_count) // tensor, zero_stage=1),
        memory=_MEMORY,
        tokens_per_s=1000,
        useful_share=0.9,
        startup_s=0,
        mfu=0.4,
        label=Label.CALIBRATED,
        band=_BAND,
    )
    return TrainingAssignment(
        run=run,
        machine=of.machine,
        on_spot=on_spot,
        candidate=candidate,
        steps=tuple(RunStep(from_at=at(a), to_at=at(b)) for a, b in steps),
        tokens=sum(b - a for a, b in steps) * 3600 * 1000,
    )


@dataclass(frozen=True)
class Parts:
    """What a plan is made of besides its offers."""

    purchases: Sequence[Purchase]
    serving: Sequence[ServingAssignment] = ()
    training: Sequence[TrainingAssignment] = ()
    services: Sequence[dict[str, object]] = field(default=(service_entry(1, 2),))
    runs: Sequence[dict[str, object]] = field(default=(run_entry(1e6),))
    policy: dict[str, object] = field(default_factory=dict)


def plan(offers: Sequence[Offer], parts: Parts) -> Plan:
    """Put parts together; the total is the sum of the purchases."""
    lines = tuple(
        CostLine(
            term=_TERMS.get(one.price_kind, Term.COMMITMENT_HOURS), subject=one.id, usd=one.usd
        )
        for one in parts.purchases
    )
    total = sum((line.usd for line in lines), Decimal(0))
    return Plan(
        status=Status.OPTIMAL,
        total_usd=total,
        bound_usd=total,
        gap_fraction=0,
        catalog=CatalogRef(snapshot="c5a1", offers=9, as_of=START, oldest_price_at=START),
        workloads_sha256="10ad",
        settings=SolveSettings(gap_fraction=0, time_limit_s=10, seed=0),
        purchases=tuple(sorted(parts.purchases, key=lambda one: one.id)),
        serving=tuple(parts.serving),
        training=tuple(parts.training),
        cost_lines=lines,
        comparisons=(),
        rejected=(),
        warnings=(),
        workloads=_file(parts),
        offers=tuple(offers),
    )


def _file(parts: Parts) -> Workloads:
    return workloads(services=parts.services, training=parts.runs, days=2, policy=parts.policy)
