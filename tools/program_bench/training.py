"""The jobs of an instance as training runs, and the ways to do them.

A token stands for work: 3.6 million of them are an A100-80-hour. Work that is lost at a start is
the start-up time of the gang, so that it is also paid at the first start, where the instance does
not. A run is on spot only where it may be interrupted, whatever the job says.
"""

from collections.abc import Iterator
from datetime import timedelta

import numpy as np
from program_bench.instance import Instance, Job, job_rates
from program_bench.market import START, Market, usd
from program_bench.serving import EXACT
from program_bench.tables import SKUS

from broker.domain.candidate import Label, Layout, MemoryUse, TrainingCandidate
from broker.domain.case import TrainingOption

TOKENS_PER_A100_S = 1000.0
_SECONDS = 3600.0


def run_entry(job: Job) -> dict[str, object]:
    """Write a job as in a workloads file."""
    return {
        "name": job.name,
        "model": "of the instance",
        "tokens": job.work * _SECONDS * TOKENS_PER_A100_S,
        "window": {
            "earliest": START + timedelta(hours=job.release),
            "deadline": START + timedelta(hours=job.deadline),
        },
        "restartable": job.preemptible,
        "restart": f"{job.restart_h:g} h",
        "hardware": {"gpus": [job.node_gpus * nodes for nodes in job.nodes]},
    }


def training_options(inst: Instance, market: Market) -> Iterator[TrainingOption]:
    """List the ways to do the jobs: each number of nodes on each offer that has them."""
    for job in inst.jobs:
        for nodes in job.nodes:
            yield from _options(inst, market, job, nodes)


def _options(inst: Instance, market: Market, job: Job, nodes: int) -> Iterator[TrainingOption]:
    rates = job_rates(inst, job, nodes)
    moved = usd((job.ckpt_tb + job.data_tb) * job.egress_per_tb)
    stays = usd(0)
    may_be_spot = job.spot_ok and job.preemptible
    known: dict[tuple[int, bool], TrainingCandidate] = {}
    for row in np.flatnonzero((rates > 0) & (inst.quota + inst.owned >= nodes)).tolist():
        egress_usd = stays if inst.continent[row] == job.home else moved
        has_spot = may_be_spot and inst.sp[row] < np.inf and inst.quota[row] >= nodes
        for on_spot in (False, True) if has_spot else (False,):
            key = (int(inst.sku[row]), on_spot)
            if key not in known:
                rate = float(rates[row]) * TOKENS_PER_A100_S
                known[key] = _candidate(job, market, row, rate=rate, nodes=nodes, on_spot=on_spot)
            yield TrainingOption(job.name, market.machines[row], known[key], egress_usd)


def _candidate(
    job: Job, market: Market, row: int, *, rate: float, nodes: int, on_spot: bool
) -> TrainingCandidate:
    shape = market.hardware(row).shape
    memory_gb = next(one.memory_gb for one in SKUS if one.name == shape.gpu)
    return TrainingCandidate(
        id=f"{job.name}/{shape.gpu}/{nodes}n/{'spot' if on_spot else 'firm'}",
        run=job.name,
        shape=shape,
        nodes=nodes,
        on_spot=on_spot,
        layout=Layout(data=nodes * job.node_gpus),
        memory=MemoryUse(weights_gib=0.0, available_gib=float(memory_gb)),
        tokens_per_s=rate,
        useful_share=1.0,
        startup_s=job.restart_h * _SECONDS,
        mfu=0.0,
        label=Label.ESTIMATED,
        band=EXACT,
    )
