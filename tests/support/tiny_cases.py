"""Small cases built by hand: whole machines, offers, candidates and workloads of a few lines."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from plain_offers import plain_hardware, plain_offer

from broker.domain.candidate import (
    ClassRate,
    ErrorBand,
    Label,
    Layout,
    MemoryUse,
    ServingCandidate,
    TrainingCandidate,
)
from broker.domain.case import Case, OwnedNodes, ServingOption, TrainingOption
from broker.domain.gpu import Precision
from broker.domain.offer import (
    Commitment,
    Evidence,
    Fabric,
    Hardware,
    Limits,
    Link,
    Offer,
    Payment,
    Place,
    PriceKind,
    Provenance,
)
from broker.domain.workload import Workloads

START = datetime(2026, 12, 1, tzinfo=UTC)
_BAND = ErrorBand(low_factor=0.8, high_factor=1.2)
_MEMORY = MemoryUse(weights_gib=10, available_gib=80)


def hardware(gpus: int) -> Hardware:
    return plain_hardware(
        "H100-SXM",
        gpus,
        80,
        link=Link.NVSWITCH,
        fabric=Fabric.INFINIBAND,
        link_gb_per_s=450,
        link_domain_gpus=8,
        fabric_gbit_per_s=3200,
    )


def offer(
    usd: str,
    *,
    name: str = "box",
    provider: str = "acme",
    kind: PriceKind = PriceKind.ON_DEMAND,
    gpus: int = 1,
    term_months: int | None = None,
    upfront_usd: str = "0",
    max_nodes: int | None = None,
) -> Offer:
    commitment = (
        Commitment(
            term_months=term_months,
            payment=Payment.PARTIAL_UPFRONT,
            upfront_usd=Decimal(upfront_usd),
        )
        if term_months
        else None
    )
    return plain_offer(
        Decimal(usd),
        hardware(gpus),
        Place(region="here", country="US", continent="us"),
        Provenance(source="test", observed_at=START, evidence=Evidence.COMPOSED),
        provider=provider,
        instance_type=name,
        kind=kind,
        commitment=commitment,
        limits=Limits(max_nodes=max_nodes),
    )


def serving(
    of: Offer,
    rates: Sequence[float],
    *,
    gpus: int = 1,
    service: str = "chat",
    user_region: str = "us-east",
    on_spot: bool = False,
) -> ServingOption:
    candidate = ServingCandidate(
        id=f"{service}/{of.instance_type}/tp{gpus}",
        service=service,
        gpu="H100-SXM",
        precision=Precision.BF16,
        layout=Layout(tensor=gpus),
        rtt_s=0.01,
        memory=_MEMORY,
        rates=tuple(
            ClassRate(requests_per_s=rate, concurrency=8, ttft_s=0.5, tpot_s=0.03) for rate in rates
        ),
        label=Label.CALIBRATED,
        band=_BAND,
    )
    return ServingOption(service, user_region, of.machine, on_spot, candidate)


def training(
    of: Offer,
    *,
    nodes: int = 1,
    tokens_per_s: float = 1.0,
    startup_s: float = 0.0,
    on_spot: bool = False,
    run: str = "tune",
    egress_usd: str = "0",
) -> TrainingOption:
    candidate = TrainingCandidate(
        id=f"{run}/{of.instance_type}/{nodes}n/{'spot' if on_spot else 'firm'}",
        run=run,
        shape=of.hardware.shape,
        nodes=nodes,
        on_spot=on_spot,
        layout=Layout(data=nodes * int(of.hardware.shape.gpu_count)),
        memory=_MEMORY,
        tokens_per_s=tokens_per_s,
        useful_share=0.9,
        startup_s=startup_s,
        mfu=0.4,
        label=Label.CALIBRATED,
        band=_BAND,
    )
    return TrainingOption(run, of.machine, candidate, Decimal(egress_usd))


def service_entry(mean: float, peak: float, **more: object) -> dict[str, object]:
    entry: dict[str, object] = {
        "name": "chat",
        "model": "llama-3.1-8b",
        "traffic": {"requests_per_s": {"mean": mean, "peak": peak, "peak_hour": 12}},
        "sizes": [{"input_tokens": 1000, "output_tokens": 200}],
        "slo": {"ttft": {"p95": "1 s"}, "tpot": {"p95": "50 ms"}},
        "users": {"us-east": 1.0},
        "start_up": "0 s",
    }
    return entry | more


def run_entry(tokens: float, **more: object) -> dict[str, object]:
    entry: dict[str, object] = {
        "name": "tune",
        "model": "llama-3.1-8b",
        "tokens": tokens,
        "window": {"earliest": "2026-12-01", "deadline": "2026-12-02"},
    }
    return entry | more


def workloads(
    *,
    services: Sequence[dict[str, object]] = (),
    training: Sequence[dict[str, object]] = (),
    slot: str = "8 h",
    days: int = 1,
    **more: object,
) -> Workloads:
    data: dict[str, object] = {
        "schema": "gpubroker.workloads/1",
        "horizon": {"start": "2026-12-01", "days": days, "slot": slot},
        "services": list(services),
        "training": list(training),
    }
    return Workloads.model_validate(data | more, strict=False)


def case(
    of: Workloads,
    offers: Sequence[Offer],
    *,
    serving: Sequence[ServingOption] = (),
    training: Sequence[TrainingOption] = (),
    owned: Sequence[tuple[Offer, int]] = (),
) -> Case:
    return Case(
        workloads=of,
        offers=tuple(sorted((one for one in offers), key=lambda one: one.key)),
        machines={one.machine: one for one in reversed([*offers, *(one for one, _ in owned)])},
        serving=tuple(serving),
        training=tuple(training),
        owned=tuple(OwnedNodes(one.machine, nodes, None) for one, nodes in owned),
    )


def served_case(
    offers: Sequence[Offer],
    service: dict[str, object],
    *,
    policy: dict[str, object] | None = None,
    **more: object,
) -> Case:
    """Serve one service, on each machine by replicas of 1 GPU that carry 1 request/s."""
    machines = {one.machine: one for one in offers}
    file = workloads(services=[service], policy=policy or {}, **more)
    return case(file, offers, serving=[serving(one, [1.0]) for one in machines.values()])


HOUR = timedelta(hours=1)
