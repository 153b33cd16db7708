"""The services of an instance: their models, configurations, rates and loads."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from program_bench.instance import Floats, Instance, Ints, Service
from program_bench.tables import (
    FORMATS,
    H100,
    INT4,
    LARGEST_IN_INT4,
    MODELS,
    PLAIN_CLASSES,
    REQUESTS,
    RTT_MS,
    SKUS,
    UTC_SHIFT,
    Model,
)
from program_bench.wishes import Wishes

_SATURDAY = 5
_LEAST_RATE = 0.01
_FP8 = 1
_HOME_WEIGHTS = (0.35, 0.2, 0.25, 0.12, 0.03, 0.05)


class _Configurations(NamedTuple):
    sku: Ints
    tp: Ints
    prec: Ints
    mu: Floats


def home_weights(present: Ints) -> Floats:
    """Give how likely users live on each of the continents that have a region."""
    weights: Floats = np.array(_HOME_WEIGHTS)[present]
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def draw_service(rng: np.random.Generator, inst: Instance, number: int, wishes: Wishes) -> Service:
    """Draw one service."""
    kind = int(rng.choice(len(MODELS), p=[0.35, 0.2, 0.2, 0.15, 0.1]))
    classes = _classes(rng, wishes.size_classes)
    tpot_s = float(rng.choice([0.03, 0.05, 0.08]))
    home = int(rng.choice(inst.present, p=home_weights(inst.present)))
    max_rtt = float(rng.choice([30, 90, 150, 400], p=[0.3, 0.35, 0.2, 0.15]))
    found = _configurations(kind, classes, tpot_s)
    load = _load(rng, found, home, hours=inst.T, wishes=wishes)
    return Service(
        name=f"svc{number}-{MODELS[kind].name}",
        home=home,
        max_rtt=max_rtt,
        load=load,
        cfg_sku=found.sku,
        cfg_tp=found.tp,
        cfg_prec=found.prec,
        mu=found.mu,
        spare=int(rng.choice([0, 1, 1])),
        spot_share=float(rng.choice([0.0, 0.3, 0.5])),
        provider_share=float(rng.choice([1.0, 1.0, 0.6])),
        incumbent=np.zeros(0, int),
        switch_cost=float(rng.choice([0.0, 20.0, 100.0])),
        classes=classes,
        tpot_s=tpot_s,
    )


def draw_incumbent(rng: np.random.Generator, inst: Instance, service: Service) -> Ints:
    """Draw the offers that yesterday's plan used: two of the cheaper ones."""
    near = RTT_MS[service.home, inst.continent] <= service.max_rtt
    able = np.nonzero(near & np.isin(inst.sku, np.unique(service.cfg_sku)))[0]
    if not len(able):
        return service.incumbent
    by_price = able[np.argsort(inst.od[able] / inst.gpus[able])]
    cheaper = by_price[: max(3, len(able) // 4)]
    return np.sort(rng.choice(cheaper, min(2, len(able)), replace=False))


def _classes(rng: np.random.Generator, wanted: int | None) -> tuple[int, ...]:
    count = int(rng.integers(1, PLAIN_CLASSES + 1)) if wanted is None else wanted
    among = PLAIN_CLASSES if wanted is None else len(REQUESTS)
    return tuple(sorted(int(one) for one in rng.choice(among, count, replace=False)))


def _configurations(kind: int, classes: Sequence[int], tpot_s: float) -> _Configurations:
    formats = [one for one in range(len(FORMATS)) if one != INT4 or kind <= LARGEST_IN_INT4]
    rows = []
    for sku in range(len(SKUS)):
        for tp in (1, 2, 4, 8):
            for prec in formats:
                rates = [_rate((sku, tp, prec), MODELS[kind], REQUESTS[k], tpot_s) for k in classes]
                if min(rates) > 0:
                    rows.append((sku, tp, prec, rates))
    mu = np.round(np.array([row[3] for row in rows]), 4)
    keep = mu.min(axis=1) > _LEAST_RATE
    sku, tp, prec = (np.array([row[column] for row in rows])[keep] for column in range(3))
    return _Configurations(sku, tp, prec, mu[keep])


def _rate(
    configuration: tuple[int, int, int], model: Model, tokens: tuple[int, int], tpot_s: float
) -> float:
    """Give the requests/s of a replica by a small roofline; 0 where the model does not fit.

    Decoding is bound by bandwidth, prefill by compute.
    """
    sku, tp, prec = SKUS[configuration[0]], configuration[1], configuration[2]
    if prec == _FP8 and not sku.fp8:
        return 0.0
    weights = model.params_b * FORMATS[prec].weight_bytes
    free = tp * sku.memory_gb * 0.90 - weights * 1.05
    if free <= 0:
        return 0.0
    of_request = model.kv_bytes_per_token * sum(tokens) / 1e9
    bandwidth = tp * sku.tb_per_s * 1e3 * 0.65 * tp**-0.10
    talk_s = 0.0 if tp == 1 else 0.0012 * np.log2(tp)
    in_time = ((tpot_s - talk_s) * bandwidth - weights) / (of_request * 0.6)
    batch = min(256.0, free / of_request, in_time)
    if batch < 1:
        return 0.0
    step_s = weights / bandwidth + batch * of_request * 0.6 / bandwidth + talk_s
    flops = tp * sku.tflops * 1e12 * 0.45 * FORMATS[prec].speed_up * tp**-0.10
    prefill_s = 2.0 * model.params_b * 1e9 * tokens[0] / flops
    return float(1.0 / (tokens[1] * step_s / batch + prefill_s))


def _load(
    rng: np.random.Generator, found: _Configurations, home: int, *, hours: int, wishes: Wishes
) -> Floats:
    """Draw a load by class and hour: its peak in H100s, by day and week, with growth and noise."""
    by_gpu = found.mu / found.tp[:, None]
    per_gpu = by_gpu[found.sku == H100].max(axis=0) if H100 in found.sku else by_gpu.max(axis=0)
    peak_gpus = min(400.0, rng.lognormal(np.log(16), 0.9)) * wishes.scale
    mix = rng.dirichlet(np.full(len(per_gpu), 3.0))
    shape = _week(rng, home, hours)
    load = np.empty((len(per_gpu), hours))
    for k in range(len(per_gpu)):
        noise = 1 + wishes.noise * rng.standard_normal(hours) if wishes.noise else 1.0
        load[k] = peak_gpus * mix[k] * per_gpu[k] * shape * noise
    return np.asarray(np.round(np.maximum(load, 0.0), 3), dtype=np.float64)


def _week(rng: np.random.Generator, home: int, hours: int) -> Floats:
    hour = np.arange(hours)
    local = (hour + UTC_SHIFT[home]) % 24
    day = 0.5 + 0.5 * np.sin(2 * np.pi * (local - rng.uniform(7, 10)) / 24)
    depth = rng.uniform(0.4, 0.85)
    shape: Floats = (1 - depth) + depth * day**1.3
    weekend = np.where((hour // 24) % 7 >= _SATURDAY, rng.uniform(0.5, 1.0), 1.0)
    return shape * weekend * (1 + rng.uniform(0, 0.02) * hour / 168)
