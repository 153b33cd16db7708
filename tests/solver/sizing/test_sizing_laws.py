"""Laws that no formula may break: better hardware, looser objectives, less work cost no speed."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sizing_cases import run_of, service_of, shape_of

from broker.domain.candidate import ServingCandidate
from broker.domain.gpu import GpuModel, Precision
from broker.domain.latency import LatencyObjective, Percentile
from broker.domain.llm import LlmModel
from broker.domain.offer import Fabric, SpotTerms
from broker.domain.workload import Method, Service, TrainingStack
from broker.specs.load import Specs
from solver.sizing.candidates import serving_candidates, training_candidates
from solver.sizing.links import ALONE
from solver.sizing.precisions import Arithmetic
from solver.sizing.serving import (
    Setting,
    arithmetics,
    replica_label,
    replicas,
    size_replica,
)
from solver.sizing.serving_facts import Replica
from solver.sizing.serving_facts import Split as Group
from solver.sizing.serving_memory import room, sequence_gib
from solver.sizing.training_facts import Split, Spread, one_spread
from solver.sizing.training_memory import Task, activation_bytes, weights_and_states

BISECTION = 3e-4
"""The largest rate is found to 0.02 %, so a law may seem broken by as much."""

GPUS = ("A100-80-SXM", "H100-SXM", "H200-SXM", "B200", "L40S", "MI300X")
SERVED = ("llama-2-7b", "llama-3.1-8b", "gemma-3-27b", "gpt-oss-20b", "qwen3-30b-a3b")
TRAINED = ("llama-2-7b", "llama-3.1-8b", "qwen2.5-0.5b")
FASTER = st.floats(min_value=1.0, max_value=3.0)
LAWS = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Tables:
    """The package's GPUs and networks, of short representation in failure reports."""

    def __init__(self, specs: Specs) -> None:
        self.gpu = specs.gpu
        self.llm = specs.llm
        self.names = sorted(specs.llms)


@pytest.fixture(scope="module")
def tables(specs: Specs) -> Tables:
    return Tables(specs)


Rates = dict[str, tuple[float, ...]]


def served(gpu: GpuModel, model: LlmModel, *, ttft_s: float = 1.0, tpot_s: float = 0.06) -> Rates:
    """Give the rates of both classes by layout on eight GPUs, dominated layouts included."""
    service = service_of(
        model=model.name,
        precisions=(Precision.BF16,),
        sizes=((800, 250, 0.6), (3000, 100, 0.4)),
        ttft_s=ttft_s,
        tpot_s=tpot_s,
    )
    setting = Setting(service, shape_of(gpu, 8), gpu, model, rtt_s=0.02, safety_margin=0.1)
    found, _ = arithmetics(setting)
    rates: Rates = {}
    for replica in replicas(setting, found):
        if not isinstance(replica, Replica):
            continue
        sized = size_replica(setting, replica)
        if isinstance(sized, ServingCandidate):
            rates[replica_label(replica)] = tuple(rate.requests_per_s for rate in sized.rates)
    return rates


def no_lower(better: Rates, worse: Rates) -> bool:
    nothing = (0.0, 0.0)
    return all(
        high >= low * (1 - BISECTION)
        for layout, lows in worse.items()
        for high, low in zip(better.get(layout, nothing), lows, strict=True)
    )


@LAWS
@given(name=st.sampled_from(SERVED), gpu=st.sampled_from(GPUS), factor=FASTER)
def test_more_memory_bandwidth_never_serves_less(
    tables: Tables, *, name: str, gpu: str, factor: float
) -> None:
    usual, model = tables.gpu(gpu), tables.llm(name)
    faster = usual.model_copy(update={"memory_gb_per_s": usual.memory_gb_per_s * factor})
    assert no_lower(served(faster, model), served(usual, model))


@LAWS
@given(name=st.sampled_from(SERVED), gpu=st.sampled_from(GPUS), factor=FASTER)
def test_more_compute_never_serves_less(
    tables: Tables, *, name: str, gpu: str, factor: float
) -> None:
    usual, model = tables.gpu(gpu), tables.llm(name)
    assert usual.bf16_tflops is not None
    faster = usual.model_copy(update={"bf16_tflops": usual.bf16_tflops * factor})
    assert no_lower(served(faster, model), served(usual, model))


@LAWS
@given(name=st.sampled_from(SERVED), gpu=st.sampled_from(GPUS[:4]), factor=FASTER)
def test_a_faster_link_never_serves_less(
    tables: Tables, *, name: str, gpu: str, factor: float
) -> None:
    usual, model = tables.gpu(gpu), tables.llm(name)
    assert usual.link_gb_per_s is not None
    faster = usual.model_copy(update={"link_gb_per_s": usual.link_gb_per_s * factor})
    assert no_lower(served(faster, model), served(usual, model))


@LAWS
@given(name=st.sampled_from(SERVED), gpu=st.sampled_from(GPUS), gib=st.floats(0, 100))
def test_more_memory_never_serves_less(tables: Tables, *, name: str, gpu: str, gib: float) -> None:
    usual, model = tables.gpu(gpu), tables.llm(name)
    larger = usual.model_copy(update={"memory_gib": usual.memory_gib + gib})
    assert no_lower(served(larger, model), served(usual, model))


@LAWS
@given(
    name=st.sampled_from(SERVED),
    gpu=st.sampled_from(GPUS),
    ttft_s=st.floats(0.05, 2),
    tpot_s=st.floats(0.005, 0.1),
    looser=FASTER,
)
def test_a_looser_objective_never_serves_less(
    tables: Tables, *, name: str, gpu: str, ttft_s: float, tpot_s: float, looser: float
) -> None:
    datasheet, model = tables.gpu(gpu), tables.llm(name)
    tight = served(datasheet, model, ttft_s=ttft_s, tpot_s=tpot_s)
    ttft = served(datasheet, model, ttft_s=ttft_s * looser, tpot_s=tpot_s)
    tpot = served(datasheet, model, ttft_s=ttft_s, tpot_s=tpot_s * looser)
    assert no_lower(ttft, tight)
    assert no_lower(tpot, tight)


def rate_of(gpu: GpuModel, model: LlmModel, service: Service) -> float:
    """Give the rate of a service's only class on one GPU, 0 where it cannot be served."""
    candidates, _ = serving_candidates(
        service, shape_of(gpu, 1), gpu=gpu, model=model, rtt_s=0, safety_margin=0
    )
    return candidates[0].rates[0].requests_per_s if candidates else 0.0


def answering(inputs: int, outputs: int) -> Service:
    return service_of(
        model="llama-3.1-8b",
        precisions=(Precision.BF16,),
        sizes=((inputs, outputs, 1.0),),
    )


@LAWS
@given(
    gpu=st.sampled_from(GPUS),
    inputs=st.integers(1, 20_000),
    outputs=st.integers(1, 1000),
    fewer=st.floats(0.1, 1.0),
)
def test_shorter_prompts_never_serve_less(
    tables: Tables, *, gpu: str, inputs: int, outputs: int, fewer: float
) -> None:
    datasheet, model = tables.gpu(gpu), tables.llm("llama-3.1-8b")
    usual = rate_of(datasheet, model, answering(inputs, outputs))
    shorter = answering(max(1, int(inputs * fewer)), outputs)
    assert rate_of(datasheet, model, shorter) >= usual * (1 - BISECTION)


@LAWS
@given(
    gpu=st.sampled_from(GPUS),
    inputs=st.integers(1, 8000),
    outputs=st.integers(2, 1000),
    fewer=st.floats(0.1, 1.0),
)
def test_shorter_answers_never_serve_less_at_the_median(
    tables: Tables, *, gpu: str, inputs: int, outputs: int, fewer: float
) -> None:
    """At a high percentile they may: fewer steps average out fewer of the prompts of others."""
    datasheet, model = tables.gpu(gpu), tables.llm("llama-3.1-8b")
    half = LatencyObjective(
        ttft=Percentile(p50=timedelta(seconds=1)), tpot=Percentile(p50=timedelta(seconds=0.05))
    )
    usual = answering(inputs, outputs).model_copy(update={"slo": half})
    shorter = answering(inputs, max(2, int(outputs * fewer))).model_copy(update={"slo": half})
    base = rate_of(datasheet, model, usual) * (1 - BISECTION)
    assert rate_of(datasheet, model, shorter) >= base


@LAWS
@given(
    number=st.integers(0, 1000),
    tokens=st.integers(1, 100_000),
    more=st.integers(0, 100_000),
)
def test_more_context_never_needs_less_memory(
    tables: Tables, *, number: int, tokens: int, more: int
) -> None:
    model = tables.llm(tables.names[number % len(tables.names)])
    arithmetic = Arithmetic(Precision.BF16, 2250.0)
    replica = Replica(tables.gpu("B200"), model, arithmetic, Group(tensor=8), ALONE)
    short = sequence_gib(replica, tokens=tokens)
    long = sequence_gib(replica, tokens=tokens + more)
    assert long >= short
    space = room(replica)
    assert space.max_sequences(long) <= space.max_sequences(short)


def trained(
    tables: Tables,
    gpu: GpuModel,
    *,
    name: str,
    stack: TrainingStack = TrainingStack.TORCH,
    fabric: Fabric = Fabric.INFINIBAND,
    gbit_per_s: float = 400.0,
    spot: SpotTerms | None = None,
) -> list[float]:
    """Give tokens per second on 8, 16 and 32 GPUs; 0 where the run does not fit."""
    run = run_of(model=name, stack=stack, gpus=(8, 16, 32), method=Method.FULL)
    shape = shape_of(gpu, 8, fabric=fabric, fabric_gbit_per_s=gbit_per_s)
    candidates, _ = training_candidates(
        run, shape, gpu=gpu, model=tables.llm(name), spot=spot, safety_margin=0.1
    )
    rates = {one.nodes: one.tokens_per_s for one in candidates}
    return [rates.get(nodes, 0.0) for nodes in (1, 2, 4)]


def never_slower(better: list[float], worse: list[float]) -> bool:
    return all(high >= low * (1 - 1e-9) for high, low in zip(better, worse, strict=True))


@LAWS
@given(
    name=st.sampled_from(TRAINED),
    gpu=st.sampled_from(GPUS),
    stack=st.sampled_from(TrainingStack),
    field=st.sampled_from(("memory_gb_per_s", "bf16_tflops", "link_gb_per_s", "memory_gib")),
    factor=FASTER,
)
def test_better_hardware_never_trains_slower(
    tables: Tables, *, name: str, gpu: str, stack: TrainingStack, field: str, factor: float
) -> None:
    usual = tables.gpu(gpu)
    value = usual.model_dump()[field]
    faster = usual.model_copy(update={field: value * factor})
    assert never_slower(
        trained(tables, faster, name=name, stack=stack),
        trained(tables, usual, name=name, stack=stack),
    )


@LAWS
@given(
    name=st.sampled_from(TRAINED),
    stack=st.sampled_from(TrainingStack),
    fabric=st.sampled_from((Fabric.INFINIBAND, Fabric.ETHERNET)),
    gbit_per_s=st.floats(1, 3200),
    factor=FASTER,
)
def test_a_slower_fabric_never_trains_faster(
    tables: Tables,
    *,
    name: str,
    stack: TrainingStack,
    fabric: Fabric,
    gbit_per_s: float,
    factor: float,
) -> None:
    gpu = tables.gpu("H100-SXM")
    slow = trained(tables, gpu, name=name, stack=stack, fabric=fabric, gbit_per_s=gbit_per_s)
    fast = trained(
        tables, gpu, name=name, stack=stack, fabric=fabric, gbit_per_s=gbit_per_s * factor
    )
    assert never_slower(fast, slow)


@LAWS
@given(name=st.sampled_from(TRAINED), gbit_per_s=st.floats(1, 3200))
def test_tcp_never_trains_faster_than_rdma_of_the_same_speed(
    tables: Tables, *, name: str, gbit_per_s: float
) -> None:
    gpu = tables.gpu("H100-SXM")
    tcp = trained(tables, gpu, name=name, fabric=Fabric.ETHERNET, gbit_per_s=gbit_per_s)
    rdma = trained(tables, gpu, name=name, fabric=Fabric.ROCE, gbit_per_s=gbit_per_s)
    assert never_slower(rdma, tcp)


@LAWS
@given(name=st.sampled_from(TRAINED), few=st.floats(0, 0.99), more=st.floats(0, 1))
def test_more_interruptions_never_train_faster(
    tables: Tables, *, name: str, few: float, more: float
) -> None:
    gpu = tables.gpu("H100-SXM")
    many = few + (1 - few) * more
    calm = SpotTerms(monthly_interruption=(0.0, few))
    wild = SpotTerms(monthly_interruption=(0.0, many))
    firm = trained(tables, gpu, name=name)
    assert never_slower(
        trained(tables, gpu, name=name, spot=calm), trained(tables, gpu, name=name, spot=wild)
    )
    assert never_slower(firm, trained(tables, gpu, name=name, spot=calm))


@LAWS
@given(
    name=st.sampled_from(("llama-2-7b", "llama-3.1-70b", "qwen3-30b-a3b")),
    data=st.sampled_from((1, 2, 8, 64)),
    stage=st.sampled_from((0, 1, 2)),
    sequence_length=st.integers(128, 16_384),
    more=st.integers(0, 16_384),
)
def test_sharding_saves_memory_and_longer_sequences_cost_it(
    tables: Tables, *, name: str, data: int, stage: int, sequence_length: int, more: int
) -> None:
    model = tables.llm(name)

    def split(zero_stage: int) -> Spread:
        return one_spread(Split(1, 1, data, zero_stage, 1, 4, recomputation=False))

    def task(length: int) -> Task:
        return Task(model, Method.FULL, Precision.BF16, TrainingStack.TORCH, length)

    _, less = weights_and_states(task(sequence_length), split(stage + 1))
    _, states = weights_and_states(task(sequence_length), split(stage))
    assert less <= states
    short = activation_bytes(task(sequence_length), split(stage))
    assert activation_bytes(task(sequence_length + more), split(stage)) >= short
