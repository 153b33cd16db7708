"""No GPU is bought twice."""

import numpy as np

from solver.milp.rows import Entries, Rows, entries, grid, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def shared_stock(sets: Sets, columns: Columns) -> Rows:
    """Keep what is bought of machines that draw on one stock, in any price kind, within it.

        Σ_{m ∈ machines[n]} G[m] · (on_demand_nodes + spot_nodes + active committed_nodes)[m,t]
            ≤ gpus[n]    ∀ n ∈ stocks, t ∈ periods

    GPUs on both sides.
    """
    periods = np.arange(len(sets.periods))
    parts: list[Entries] = []
    for number, stock in enumerate(sets.stocks):
        row = number * len(periods) + periods
        for machine in stock.machines:
            gpus = float(sets.machines[machine].gpus)
            parts.append(entries(row, columns.on_demand_nodes.at(machine, periods), gpus))
            parts.append(entries(row, columns.spot_nodes.at(machine, periods), gpus))
        for place, one in enumerate(sets.committed):
            if one.machine in stock.machines:
                active = np.flatnonzero(np.array(one.active, dtype=bool))
                nodes = columns.committed_nodes.at(np.full_like(active, place))
                gpus = float(sets.machines[one.machine].gpus)
                parts.append(entries(row[active], nodes, gpus))
    upper = np.repeat([float(stock.gpus) for stock in sets.stocks], len(periods))
    return rows_of("shared_stock", grid(len(sets.stocks), len(periods)), parts, upper=upper)
