"""No GPU is bought twice."""

import numpy as np

from broker.domain.offer import Offer
from solver.milp.rows import Entries, Rows, entries, grid, rows_of
from solver.milp.sets import Sets, Stock
from solver.milp.variables import Columns


def shared_stock(sets: Sets, columns: Columns) -> Rows:
    """Keep what is bought of the offers that draw on one stock, in any price kind, within it.

        Σ_{o drawing on n} G[o] · (on_demand_nodes + spot_nodes + active committed_nodes)[o,t]
            ≤ gpus[n]    ∀ n ∈ stocks, t ∈ periods

    GPUs on both sides. An offer whose stock is unknown draws on none.
    """
    periods = np.arange(len(sets.periods))
    parts: list[Entries] = []
    for number, stock in enumerate(sets.stocks):
        row = number * len(periods) + periods
        for place, machine in enumerate(sets.machines):
            gpus = float(machine.gpus)
            if _draws_on(stock, machine.on_demand):
                parts.append(entries(row, columns.on_demand_nodes.at(place, periods), gpus))
            if _draws_on(stock, machine.spot):
                parts.append(entries(row, columns.spot_nodes.at(place, periods), gpus))
        for place, one in enumerate(sets.committed):
            if _draws_on(stock, one.offer):
                active = np.flatnonzero(np.array(one.active, dtype=bool))
                nodes = columns.committed_nodes.at(np.full_like(active, place))
                gpus = float(sets.machines[one.machine].gpus)
                parts.append(entries(row[active], nodes, gpus))
    upper = np.repeat([float(stock.gpus) for stock in sets.stocks], len(periods))
    return rows_of("shared_stock", grid(len(sets.stocks), len(periods)), parts, upper=upper)


def _draws_on(stock: Stock, offer: Offer | None) -> bool:
    return offer is not None and offer.stock is not None and offer.stock[0] == stock.pool
