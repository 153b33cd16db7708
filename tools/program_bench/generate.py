"""Seeded instances of the purchase program: prices, services with loads, training jobs.

The same size, seed and wishes always give the same instance, bit for bit. An hour is a period; the
first is Monday 00:00 UTC. Batch jobs are not drawn: the program has no rules for them yet.
"""

import numpy as np
from program_bench.instance import Instance
from program_bench.jobs import draw_job
from program_bench.prices import draw_prices
from program_bench.services import draw_incumbent, draw_service
from program_bench.tables import OWNED_SKUS, SIZES, Size
from program_bench.wishes import PLAIN, Wishes

_BIG_NODE = 8
_DATA_TB = (1.0, 5.0, 20.0, 50.0)
_OF_DATA, _OF_PRICES = 1, 2
"""Beside the seed, so that data sets and moved prices change nothing else that is drawn."""


def generate(name: str, seed: int, wishes: Wishes = PLAIN) -> Instance:
    """Make the instance of a size (a name in `tables.SIZES`) and a seed."""
    size = _size(name, wishes)
    rng = np.random.default_rng([seed, *size])
    inst = draw_prices(rng, name, seed, size, quota_factor=wishes.quota_factor)
    for number in range(size.services):
        inst.services.append(draw_service(rng, inst, number, wishes))
    for number in range(size.jobs):
        inst.jobs.append(draw_job(rng, inst, number, wishes))
    _own(rng, inst)
    for service in inst.services:
        service.incumbent = draw_incumbent(rng, inst, service)
    if wishes.data_sets:
        draw = np.random.default_rng([seed, *size, _OF_DATA])
        for job in inst.jobs:
            job.data_tb = float(draw.choice(_DATA_TB))
    if wishes.prices_moved:
        draw = np.random.default_rng([seed, *size, _OF_PRICES])
        _move_prices(draw, inst, wishes.prices_moved)
    return inst


def _size(name: str, wishes: Wishes) -> Size:
    plain = SIZES[name]
    return Size(
        offers=plain.offers if wishes.offers is None else wishes.offers,
        services=plain.services if wishes.services is None else wishes.services,
        jobs=plain.jobs if wishes.jobs is None else wishes.jobs,
        hours=plain.hours if wishes.hours is None else wishes.hours,
    )


def _own(rng: np.random.Generator, inst: Instance) -> None:
    """Let some big nodes be owned already."""
    big = np.nonzero((inst.gpus == _BIG_NODE) & np.isin(inst.sku, OWNED_SKUS))[0]
    if len(big):
        count = max(1, min(len(big), len(inst.services) // 5))
        for offer in rng.choice(big, count, replace=False):
            inst.owned[offer] = int(rng.integers(1, 5))


def _move_prices(rng: np.random.Generator, inst: Instance, most: float) -> None:
    """Move each price by a share; both parts of a reservation by the same one."""
    inst.od, inst.sp = (
        one * rng.uniform(1 - most, 1 + most, len(one)) for one in (inst.od, inst.sp)
    )
    share = rng.uniform(1 - most, 1 + most, len(inst.plan_hourly))
    inst.plan_upfront, inst.plan_hourly = inst.plan_upfront * share, inst.plan_hourly * share
