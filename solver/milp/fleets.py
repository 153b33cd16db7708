"""The fleets of kinds of replica: what carries a demand's whole load alone, and what stays up."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from broker.domain.case import Case, ServingOption
from broker.domain.pool import Role
from solver.milp.demands import Demand, whole, with_spare_zone
from solver.milp.min_up import Ints, fewest_up, slots_up, steady_services
from solver.milp.sets import Configuration, Configurations

Fleet: TypeAlias = tuple[int, float, tuple[float, ...]]
"""A demand, and the GPUs and rates of a replica."""


def steady_fleets(case: Case, demands: Sequence[Demand]) -> Mapping[Fleet, Ints]:
    """Give what is up in each slot of each fleet of services with a least time up.

    Demands are by slot. All options count, whether or not there is room for them: so a case with
    fewer machines has the same fleets, and the same slots are alike.
    """
    steady = steady_services(case)
    found: dict[Fleet, Ints] = {}
    known: dict[tuple[bytes, int], Ints] = {}
    for (number, configuration), alike in alike_options(case, demands).items():
        demand = demands[number]
        slots = slots_up(demand.service, case.workloads.horizon)
        for rates in sorted({rates_of(one) for one in alike}):
            if demand.service.name not in steady or min(rates) <= 0:
                continue
            wanted = np.array(replicas_alone(demand, rates, configuration.gpus)[0])
            name = (wanted.tobytes(), slots)
            if name not in known:
                known[name] = fewest_up(wanted, slots)
            found[number, configuration.gpus, rates] = known[name]
    return found


def in_periods(
    fleets: Mapping[Fleet, Ints], firsts: Sequence[int]
) -> Mapping[Fleet, tuple[int, ...]]:
    """Give what is up of each fleet in the first slot of each period: as in all of its slots."""
    return {name: tuple(up[list(firsts)].tolist()) for name, up in fleets.items()}


def replicas_alone(
    demand: Demand, rates: Sequence[float], gpus: float
) -> tuple[tuple[int, ...], ...]:
    """Count, a period, the replicas for all that this kind can carry, firm ones, those that do."""
    per_rate = np.array([1 / rate if rate > 0 else 0.0 for rate in rates])
    needed = per_rate @ demand.load_requests_per_s
    firm_share = 1 - demand.service.spot.max_share
    floor, spares = demand.service.min_replicas, demand.spares(gpus)
    every = np.maximum(whole(needed) + spares, with_spare_zone(demand, whole(needed)))
    firm = whole(firm_share * needed) + spares
    alone = tuple(max(int(one), floor) for one in every)
    return alone, tuple(int(one) for one in firm), tuple(int(one) for one in whole(needed))


def alike_options(
    case: Case, demands: Sequence[Demand]
) -> dict[tuple[int, Configuration], list[ServingOption]]:
    """Gather the serving options of each demand by their configuration."""
    of = {
        (one.service.name, one.user_region, one.is_prompts): number
        for number, one in enumerate(demands)
    }
    configurations = Configurations()
    found: dict[tuple[int, int], tuple[Configuration, list[ServingOption]]] = {}
    for option in sorted(case.serving, key=_serving_order):
        own = configurations.of(option.candidate)
        number = of.get((option.service, option.user_region, own.role is Role.PREFILL))
        if number is not None:
            found.setdefault((number, id(own)), (own, []))[1].append(option)
    return {(number, own): alike for (number, _), (own, alike) in found.items()}


def rates_of(option: ServingOption) -> tuple[float, ...]:
    """Give the rates of an option by size class."""
    return tuple(rate.requests_per_s for rate in option.candidate.rates)


def _serving_order(option: ServingOption) -> tuple[str, str, str, str, bool]:
    names = (option.service, option.user_region, option.machine)
    return (*names, option.candidate.id, option.on_spot)
