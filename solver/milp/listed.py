"""What the work of a team or workload takes at list prices, by replicas and gangs."""

from collections.abc import Iterator, Mapping

import numpy as np

from broker.domain.budget import Budget
from broker.domain.list_price import list_usd_per_hour
from solver.milp.sets import Floats, Sets
from solver.milp.variables import Columns, Ints, replicas_at

Spent = Iterator[tuple[Ints, Ints, Floats]]
"""Periods, columns, and the dollars that one unit of the column is in an hour of the period."""


def list_prices(sets: Sets) -> Mapping[tuple[str, bool], float]:
    """Give the list price of a GPU-hour by machine, and whether on spot."""
    gpus = {machine.key: machine.gpus for machine in sets.machines}
    return {
        (machine, on_spot): float(usd) / gpus[machine]
        for (machine, on_spot), usd in list_usd_per_hour(sets.case.offers).items()
        if machine in gpus
    }


def spent_by_work(sets: Sets, columns: Columns, budget: Budget) -> Spent:
    """Give what an hour of the replicas and gangs of a budget's work takes."""
    listed = list_prices(sets)
    everywhere = np.arange(len(sets.periods))
    for number, group in enumerate(sets.groups):
        service = sets.demands[group.demand].service
        if budget.covers(service.name, service.team):
            usd = listed.get((group.option.machine, group.on_spot), 0.0) * group.gpus
            position, column, up = replicas_at(sets, columns, number, everywhere)
            yield position, column, usd * up
    for number, option in enumerate(sets.run_options):
        run = sets.runs[option.run]
        if budget.covers(run.name, run.team):
            machine, on_spot = option.option.machine, option.option.candidate.on_spot
            gpus = option.nodes * sets.machines[option.machine].gpus
            window = np.array(option.window, dtype=np.int64)
            usd = listed.get((machine, on_spot), 0.0) * gpus
            yield window, columns.gang_up.at(number, window), np.full(len(window), usd)
