"""No GPU is bought twice."""

import numpy as np

from broker.domain.offer import Offer
from solver.milp.rows import Entries, Rows, entries, grid, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def shared_stock(sets: Sets, columns: Columns) -> Rows:
    """Keep what is bought of the offers that draw on one stock, in any price kind, within it.

        Σ_{o drawing on n} G[o] · (on_demand_nodes + spot_nodes + held committed_nodes)[o,t]
            ≤ gpus[n]    ∀ n ∈ stocks, t ∈ periods

    Nodes whose term or window begins or ends inside a slot are held in it. GPUs on both sides. An
    offer whose stock is unknown draws on none.
    """
    periods = np.arange(len(sets.periods))
    number_of: dict[str | None, int] = {
        stock.pool: number for number, stock in enumerate(sets.stocks)
    }
    parts: list[Entries] = []
    for place, machine in enumerate(sets.machines):
        for offer, nodes in (
            (machine.on_demand, columns.on_demand_nodes),
            (machine.spot, columns.spot_nodes),
        ):
            number = number_of.get(_pool(offer))
            if number is not None:
                row = number * len(periods) + periods
                parts.append(entries(row, nodes.at(place, periods), float(machine.gpus)))
    for place, one in enumerate(sets.committed):
        number = number_of.get(_pool(one.offer))
        if number is not None:
            held = np.flatnonzero(np.array(one.held, dtype=bool))
            nodes_of = columns.committed_nodes.at(np.full_like(held, place))
            gpus = float(sets.machines[one.machine].gpus)
            parts.append(entries(number * len(periods) + held, nodes_of, gpus))
    upper = np.repeat([float(stock.gpus) for stock in sets.stocks], len(periods))
    return rows_of("shared_stock", grid(len(sets.stocks), len(periods)), parts, upper=upper)


def _pool(offer: Offer | None) -> str | None:
    return offer.stock[0] if offer is not None and offer.stock is not None else None
