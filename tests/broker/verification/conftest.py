"""A plan made by hand, with its case: `chat` and three runs on two machines, `embed` on one.

The workloads stand in workloads.yaml, the plan with its arithmetic in plan.yaml.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
import yaml

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
from broker.domain.gpu import Precision, Stack
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
    Quote,
    Shape,
    SpotTerms,
)
from broker.domain.plan import Plan
from broker.domain.workload import Workloads

HERE = Path(__file__).parent
P5, LAB = "aws/p5.48xlarge/us-east-1", "lab/h100x8/fra1"
SHAPE = Shape(
    gpu="H100-SXM",
    gpu_count=Fraction(8),
    link=Link.NVSWITCH,
    link_gb_per_s=450.0,
    link_domain_gpus=8,
    fabric=Fabric.EFA,
    fabric_gbit_per_s=3200.0,
)
MEMORY = MemoryUse(weights_gib=35.5, kv_cache_gib=30.0, available_gib=79.6)
BAND = ErrorBand(low_factor=0.7, high_factor=1.3)

Alter = Callable[[Mapping[str, object]], Plan]
Under = Callable[[Mapping[str, object]], tuple[Plan, Case]]


@pytest.fixture(scope="session")
def case() -> Case:
    """Everything that the plan may choose from."""
    text = (HERE / "workloads.yaml").read_text(encoding="utf-8")
    offers = _offers()
    chat = _replica("chat", "chat-tp2", 2, (5.0, 2.0))
    embed = _replica("embed", "embed-tp1", 1, (3.0,))
    return Case(
        workloads=Workloads.model_validate(yaml.safe_load(text), strict=False),
        offers=offers,
        machines={P5: offers[0], LAB: offers[3]},
        serving=(
            ServingOption("chat", "us-east", P5, False, chat),
            ServingOption("chat", "eu-west", P5, False, chat),
            ServingOption("chat", "eu-west", P5, True, chat),
            ServingOption("embed", "eu-central", LAB, False, embed),
        ),
        training=(
            TrainingOption("tune", P5, _gang("tune", 2, 50_000.0, 600.0), Decimal(90)),
            TrainingOption("distill", LAB, _gang("distill", 1, 20_000.0, 300.0), Decimal(0)),
            TrainingOption("pretrain", P5, _gang("pretrain", 2, 40_000.0, 900.0), Decimal(0)),
        ),
        owned=(OwnedNodes(LAB, 1, datetime(2026, 12, 17, tzinfo=UTC)),),
    )


@pytest.fixture(scope="session")
def plan(case: Case) -> Plan:
    """A plan for the case that keeps every rule."""
    raw = yaml.safe_load((HERE / "plan.yaml").read_text(encoding="utf-8"))
    candidates = {one.candidate.id: one.candidate for one in (*case.serving, *case.training)}
    for assignment in (*raw["serving"], *raw["training"]):
        candidate = candidates[assignment["candidate"]]
        assignment["candidate"] = json.loads(candidate.model_dump_json())
    raw["workloads"] = json.loads(case.workloads.model_dump_json(by_alias=True))
    raw["offers"] = [json.loads(offer.model_dump_json()) for offer in case.offers]
    return Plan.model_validate_json(json.dumps(raw))


@pytest.fixture
def altered(plan: Plan) -> Alter:
    """Read the plan back with some figures changed, each named by its path in the JSON."""

    def alter(changes: Mapping[str, object]) -> Plan:
        return Plan.model_validate_json(_changed(plan.model_dump_json(by_alias=True), changes))

    return alter


@pytest.fixture
def under(plan: Plan, case: Case) -> Under:
    """Put plan and case under workloads with some entries changed, each named by its path."""

    def put(changes: Mapping[str, object]) -> tuple[Plan, Case]:
        text = _changed(case.workloads.model_dump_json(by_alias=True), changes)
        workloads = Workloads.model_validate_json(text)
        return plan.model_copy(update={"workloads": workloads}), replace(case, workloads=workloads)

    return put


def _changed(text: str, changes: Mapping[str, object]) -> str:
    root = json.loads(text)
    for path, value in changes.items():
        *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
        place = root
        for part in parents:
            place = place[part]
        place[last] = value
    return json.dumps(root)


def _offers() -> tuple[Offer, ...]:
    year = Commitment(term_months=12, payment=Payment.PARTIAL_UPFRONT, upfront_usd=Decimal(43_800))
    month = Commitment(term_months=1, payment=Payment.MONTHLY, upfront_usd=Decimal(730))
    spot = SpotTerms(notice_s=120.0, monthly_interruption=(0.05, 0.1))
    return (
        _offer(P5, PriceKind.ON_DEMAND, 40, limits=Limits(max_nodes=2)),
        _offer(P5, PriceKind.SPOT, 15, spot=spot, limits=Limits(stock_nodes=3)),
        _offer(P5, PriceKind.RESERVED, 14, commitment=year),
        _offer(LAB, PriceKind.ON_DEMAND, 30),
        _offer(LAB, PriceKind.CONTRACT, 20, commitment=month),
    )


def _offer(machine: str, kind: PriceKind, usd_per_hour: int, **more: object) -> Offer:
    provider, instance_type, region = machine.split("/")
    is_us = region.startswith("us-")
    seen_at = datetime(2026, 11, 27, tzinfo=UTC)
    fields = {
        "provider": provider,
        "instance_type": instance_type,
        "place": Place(
            region=region, country="US" if is_us else "DE", continent="us" if is_us else "eu"
        ),
        "price_kind": kind,
        "hardware": Hardware(shape=SHAPE, stack=Stack.CUDA, gpu_memory_gib=79.6),
        "usd_per_hour": Decimal(usd_per_hour),
        "quote": Quote(amount=Decimal(usd_per_hour), currency="USD"),
        "provenance": Provenance(source="list", observed_at=seen_at, evidence=Evidence.RECORDED),
        "certifications": ("soc2", "iso27001"),
    }
    return Offer.model_validate(fields | more)


def _replica(service: str, name: str, gpus: int, rates: tuple[float, ...]) -> ServingCandidate:
    return ServingCandidate(
        id=name,
        service=service,
        gpu=SHAPE.gpu,
        precision=Precision.FP8,
        layout=Layout(tensor=gpus),
        rtt_s=0.02,
        memory=MEMORY,
        rates=tuple(
            ClassRate(requests_per_s=rate, concurrency=8.0, ttft_s=0.4, tpot_s=0.03)
            for rate in rates
        ),
        label=Label.CALIBRATED,
        band=BAND,
    )


def _gang(run: str, nodes: int, tokens_per_s: float, startup_s: float) -> TrainingCandidate:
    return TrainingCandidate(
        id=f"{run}-{nodes}n",
        run=run,
        shape=SHAPE,
        nodes=nodes,
        on_spot=run == "pretrain",
        layout=Layout(tensor=8, data=nodes, zero_stage=1),
        memory=MEMORY,
        tokens_per_s=tokens_per_s,
        useful_share=0.95,
        startup_s=startup_s,
        mfu=0.4,
        label=Label.ESTIMATED,
        band=BAND,
    )
