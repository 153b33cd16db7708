"""The demands of the program: what a service's users in one region ask for, slot by slot."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from broker.domain.case import Case
from broker.domain.traffic import loads_by_size
from broker.domain.workload import Service

Floats = npt.NDArray[np.float64]
ROUNDING = 1e-9
"""A count that is above a whole number by no more than this part is that number."""
LEAST_LOAD = 1e-4
"""Loads below this part of its size class's peak are rounded up to it, so that slots are alike."""
LEAST_REPLICAS = 1e-4
"""Where requests are routed, loads below what this part of the fastest replica carries are rounded
up to it: a solver's tolerance would leave smaller ones behind."""


@dataclass(frozen=True, slots=True)
class Demand:
    """A service's users in one region: requests/s by size class and period.

    Where pools may serve them, `is_prompts` is the demand of the pool that only prefills. The other
    one is served by the pool that only decodes, or by replicas that do both; then nobody serves the
    prompts apart.
    """

    service: Service
    user_region: str
    load_requests_per_s: Floats
    is_prompts: bool = False

    def spares(self, gpus: float) -> int:
        """Count the replicas of a kind that may fail, each of so many GPUs.

        What fails is a GPU: with it go all replicas on slices of it, up to 1/gpus of them.
        """
        return self.service.availability.spare_replicas * math.ceil(1 / gpus)


def demands_by_slot(case: Case) -> tuple[Demand, ...]:
    """List the demands in the order of the workloads, their loads by size class and slot."""
    demands: list[Demand] = []
    least = {} if case.workloads.policy.has_one_kind else _least_loads(case)
    for service in case.workloads.services:
        load = np.array(loads_by_size(service, case.workloads.horizon))
        highest = load.max(axis=1, keepdims=True)
        load = np.where(load > 0, np.maximum(load, LEAST_LOAD * highest), 0.0)
        for user_region, users in sorted(service.users.items()):
            if users > 0:
                asked = load * users
                floor = least.get((service.name, user_region), np.zeros(len(load)))
                asked = np.where(asked > 0, np.maximum(asked, floor[:, None]), 0.0)
                sides = (False, True) if service.disaggregated else (False,)
                demands.extend(Demand(service, user_region, asked, one) for one in sides)
    return tuple(demands)


def whole(needed: Floats) -> Floats:
    """Round counts up; the least that is needed takes a whole one, noise of floats does not."""
    return np.asarray(np.ceil(needed * (1 - ROUNDING)), dtype=np.float64)


def with_spare_zone(demand: Demand, needed: Floats) -> Floats:
    """Count the fewest replicas that carry the load after the loss of one of the zones asked for.

    Spread evenly over n zones, r replicas lose ⌈r / n⌉ with one of them.
    """
    zones = demand.service.availability.min_zones
    if not demand.service.availability.spare_zone:
        return needed
    return np.asarray(needed + np.ceil(needed / (zones - 1)))


def _least_loads(case: Case) -> dict[tuple[str, str], Floats]:
    least: dict[tuple[str, str], Floats] = {}
    for option in case.serving:
        name = (option.service, option.user_region)
        rates = np.array([rate.requests_per_s for rate in option.candidate.rates])
        least[name] = np.maximum(least.get(name, 0.0), LEAST_REPLICAS * rates)
    return least
