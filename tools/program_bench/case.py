"""An instance as a case of the program; what is simplified stands in market, serving, training."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from program_bench.instance import Instance
from program_bench.market import START, Market
from program_bench.serving import service_entry, serving_options
from program_bench.training import run_entry, training_options
from program_bench.wishes import PLAIN, Wishes

from broker.domain.case import Case, OwnedNodes
from broker.domain.workload import Workloads

_DAY_H = 24
_LONGEST_TERM_MONTHS = 36


def case_of(inst: Instance, wishes: Wishes = PLAIN, *, max_groups: int = 1) -> Case:
    """Make a case; `max_groups` is the policy's: kinds of replica for each service.

    Of the wishes those count that say which rules the case has.

    Raises:
        ValueError: the hours are no whole days, as a horizon is.
    """
    if inst.T % _DAY_H:
        raise ValueError(f"{inst.T} hours are no whole days; ask for hours=24 or more")
    with _without_collection():
        market = Market(inst, sells_blocks=wishes.blocks)
        return Case(
            workloads=_workloads(inst, wishes, max_groups),
            offers=market.offers,
            machines=market.by_machine,
            serving=tuple(serving_options(inst, market)),
            training=tuple(training_options(inst, market)),
            owned=tuple(
                OwnedNodes(market.machines[row], int(inst.owned[row]), None)
                for row in np.flatnonzero(inst.owned).tolist()
            ),
        )


def _workloads(inst: Instance, wishes: Wishes, max_groups: int) -> Workloads:
    data = {
        "schema": "gpubroker.workloads/1",
        "horizon": {"start": START, "days": inst.T // _DAY_H, "slot": "1 h"},
        "policy": {
            "commitments": {"max_term_months": _LONGEST_TERM_MONTHS},
            "max_groups": max_groups,
            "safety_margin": 0.0,
        },
        "services": [service_entry(one, has_share=wishes.provider_shares) for one in inst.services],
        "training": [run_entry(one) for one in inst.jobs],
    }
    return Workloads.model_validate(data, strict=False)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Make millions of objects, of which none is garbage, without looking for any."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
