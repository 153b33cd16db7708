"""The services of an instance, as the program takes them, and the ways to serve them.

Rates are those of the instance, for a replica that keeps its latency objective; what an estimate
would tell beside them (times, memory) is not in the instance, so it stands at 0. A service has no
least number of replicas, and a replica starts at once.

The share that one provider may have is a rule of the case where that is wished. Not in the program
yet, so left in the instance: what a change costs.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from program_bench.instance import Instance, Ints, Service
from program_bench.market import Market
from program_bench.tables import REQUESTS, RTT_MS, SKUS

from broker.domain.candidate import (
    ClassRate,
    ErrorBand,
    Label,
    Layout,
    MemoryUse,
    ServingCandidate,
)
from broker.domain.case import ServingOption
from broker.domain.gpu import Precision

EXACT = ErrorBand(low_factor=1.0, high_factor=1.0)
"""The figures of an instance are right by definition."""

_USERS = ("us-east", "us-west", "eu-west", "ap-southeast", "sa-east", "oceania")
_PRECISIONS = (Precision.BF16, Precision.FP8, Precision.INT4)


def service_name(service: Service) -> str:
    """Give the name that the workloads have for it."""
    return service.name.lower()


def service_entry(service: Service, *, has_share: bool = False) -> dict[str, object]:
    """Write a service as in a workloads file; `has_share` with the most of one provider."""
    total = service.load.sum(axis=1)
    shares = total / total.sum()
    return {
        "name": service_name(service),
        "model": service_name(service).partition("-")[2],
        "traffic": {"requests_per_s": {"step": "1 h", "by_size": service.load.tolist()}},
        "sizes": [
            {
                "input_tokens": REQUESTS[number][0],
                "output_tokens": REQUESTS[number][1],
                "share": float(share),
            }
            for number, share in zip(service.classes, shares, strict=True)
        ],
        "slo": {"ttft": {"p95": "1 s"}, "tpot": {"p95": f"{service.tpot_s * 1000:g} ms"}},
        "users": {_USERS[service.home]: 1.0},
        "max_network_rtt": f"{service.max_rtt:g} ms",
        "availability": {
            "spare_replicas": service.spare,
            "max_provider_share": service.provider_share if has_share else 1.0,
        },
        "spot": {"max_share": service.spot_share},
        "min_replicas": 0,
        "start_up": "0 s",
    }


def serving_options(inst: Instance, market: Market) -> Iterator[ServingOption]:
    """List the ways to serve: a configuration on each offer of its SKU near enough, firm and spot.

    Options of one configuration and continent share their candidate, as millions of them may.
    """
    for service in inst.services:
        near = np.flatnonzero(RTT_MS[service.home] <= service.max_rtt).tolist()
        for sku in np.unique(service.cfg_sku).tolist():
            rows = {
                one: np.flatnonzero((inst.sku == sku) & (inst.continent == one)) for one in near
            }
            for number in undominated(service, sku):
                for continent in near:
                    fits = rows[continent][inst.gpus[rows[continent]] >= service.cfg_tp[number]]
                    if len(fits):
                        candidate = _candidate(service, number, continent)
                        yield from _on_offers(service, candidate, fits, (inst, market))


def undominated(service: Service, sku: int) -> Sequence[int]:
    """Drop configurations of a SKU for which another takes no more GPUs and is nowhere slower."""
    mine = np.flatnonzero(service.cfg_sku == sku).tolist()
    mine.sort(key=lambda one: (service.cfg_tp[one], *(-service.mu[one]), one))
    kept: list[int] = []
    for one in mine:
        if not any(bool((service.mu[better] >= service.mu[one]).all()) for better in kept):
            kept.append(one)
    return kept


def _on_offers(
    service: Service, candidate: ServingCandidate, rows: Ints, of: tuple[Instance, Market]
) -> Iterator[ServingOption]:
    inst, market = of
    name, users = service_name(service), _USERS[service.home]
    with_spot = (inst.sp[rows] < np.inf) & (service.spot_share > 0)
    for row, also_spot in zip(rows.tolist(), with_spot.tolist(), strict=True):
        machine = market.machines[row]
        yield ServingOption(name, users, machine, False, candidate)
        if also_spot:
            yield ServingOption(name, users, machine, True, candidate)


def _candidate(service: Service, number: int, continent: int) -> ServingCandidate:
    sku = SKUS[service.cfg_sku[number]]
    precision = _PRECISIONS[service.cfg_prec[number]]
    tp = int(service.cfg_tp[number])
    name = service_name(service)
    return ServingCandidate(
        id=f"{name}/{sku.name}/tp{tp}/{precision.value}",
        service=name,
        gpu=sku.name,
        precision=precision,
        layout=Layout(tensor=tp),
        rtt_s=float(RTT_MS[service.home, continent]) / 1000,
        memory=MemoryUse(weights_gib=0.0, available_gib=float(sku.memory_gb)),
        rates=tuple(
            ClassRate(requests_per_s=rate, concurrency=0.0, ttft_s=0.0, tpot_s=0.0)
            for rate in service.mu[number].tolist()
        ),
        label=Label.ESTIMATED,
        band=EXACT,
    )
