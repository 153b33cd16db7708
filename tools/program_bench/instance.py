"""An instance: a price book, services with their load, training jobs, over one horizon of hours.

Prices are dollars per node-hour. An offer is (provider, region, SKU, node shape) with a quota in
nodes. `od` is its on-demand price, `sp` its spot base price (infinite: no spot), which is
multiplied by `spot_profile[spot_group, t]`; `irate` counts interruptions per spot node-hour.
`plan_*` are reservations as parallel arrays: the offer, the term in hours, dollars upfront and by
the hour per node. `owned` nodes are paid for, and not counted in the quota.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from program_bench.tables import SKUS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(slots=True)
class Service:
    """One inference service: who may serve it, with what, and how much load comes when.

    `mu[c, k]` is the rate, in requests/s of class k alone, that one replica of configuration c
    sustains. `load` is requests/s by class and hour. `classes` are numbers in `tables.REQUESTS`.
    """

    name: str
    home: int
    max_rtt: float
    load: Floats
    cfg_sku: Ints
    cfg_tp: Ints
    cfg_prec: Ints
    mu: Floats
    spare: int
    spot_share: float
    provider_share: float
    incumbent: Ints
    switch_cost: float
    classes: tuple[int, ...]
    tpot_s: float


@dataclass(slots=True)
class Job:
    """One training job; `work` is in A100-80-hours, `deadline` the hour before which it is done.

    `restart_h` hours of work are lost at each start after the first. `data_tb` lies at `home`, as
    does the checkpoint; moving either costs `egress_per_tb`.
    """

    name: str
    work: float
    min_mem: float
    nodes: tuple[int, ...]
    node_gpus: int
    release: int
    deadline: int
    preemptible: bool
    restart_h: float
    home: int
    ckpt_tb: float
    egress_per_tb: float
    spot_ok: bool
    data_tb: float = 0.0


@dataclass(slots=True)
class Instance:
    """One instance; the arrays of offers are parallel."""

    size: str
    seed: int
    T: int
    provider: Ints
    region: Ints
    continent: Ints
    sku: Ints
    gpus: Ints
    quota: Ints
    od: Floats
    sp: Floats
    spot_group: Ints
    irate: Floats
    owned: Ints
    plan_offer: Ints
    plan_term: Ints
    plan_upfront: Floats
    plan_hourly: Floats
    spot_profile: Floats
    region_continent: Ints
    services: list[Service] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)

    @property
    def present(self) -> Ints:
        """List the continents that have a region."""
        return np.unique(self.region_continent)

    @property
    def offer_count(self) -> int:
        """Count the offers."""
        return len(self.od)


def job_rates(inst: Instance, job: Job, nodes: int) -> Floats:
    """Give the A100-80-hours per hour of a job on nodes of each offer; 0 where it cannot run."""
    memory_gb = np.array([one.memory_gb for one in SKUS], float)[inst.sku]
    speed = np.array([one.train_speed for one in SKUS])[inst.sku]
    net = np.array([one.net for one in SKUS])[inst.sku]
    runs = (memory_gb >= job.min_mem) & (inst.gpus == job.node_gpus) & ((nodes == 1) | (net == 1))
    rates: Floats = np.where(runs, nodes * inst.gpus * speed * nodes**-0.06, 0.0)
    return rates
