"""No more GPUs than the account may have."""

import numpy as np

from broker.domain.offer import Offer
from broker.domain.workload import Quota
from solver.milp.rows import Entries, Rows, entries, grid, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def quota(sets: Sets, columns: Columns) -> Rows:
    """Keep bought GPUs within each quota, at every time; owned nodes do not count.

        Σ_{o matching q} G[o] · (on_demand_nodes + spot_nodes + held committed_nodes)[o,t]
            ≤ gpus[q]    ∀ q ∈ quotas, t ∈ periods

    Nodes whose term or window begins or ends inside a slot are held in it. GPUs on both sides.
    """
    quotas = sets.case.workloads.quotas
    periods = np.arange(len(sets.periods))
    parts: list[Entries] = []
    for number, limit in enumerate(quotas):
        row = number * len(periods) + periods
        for place, machine in enumerate(sets.machines):
            gpus = float(machine.gpus)
            if machine.on_demand is not None and is_under(machine.on_demand, limit):
                parts.append(entries(row, columns.on_demand_nodes.at(place, periods), gpus))
            if machine.spot is not None and is_under(machine.spot, limit):
                parts.append(entries(row, columns.spot_nodes.at(place, periods), gpus))
        for place, one in enumerate(sets.committed):
            if is_under(one.offer, limit):
                held = periods[np.array(one.held, dtype=bool)]
                column = columns.committed_nodes.at(np.full_like(held, place))
                gpus = float(sets.machines[one.machine].gpus)
                parts.append(entries(number * len(periods) + held, column, gpus))
    limits = np.repeat([float(limit.gpus) for limit in quotas], len(periods))
    return rows_of("quota", grid(len(quotas), len(periods)), parts, upper=limits)


def is_under(offer: Offer, limit: Quota) -> bool:
    """Say whether a quota counts an offer: every field that it gives must match, in any case."""
    wanted = (
        (limit.provider, offer.provider),
        (limit.region, offer.place.region),
        (limit.gpu, offer.hardware.shape.gpu),
        (limit.price_kind, offer.price_kind),
    )
    return all(ask is None or ask.casefold() == have.casefold() for ask, have in wanted)
