"""Savings plans cover nodes that are rented on demand, each once."""

from collections import defaultdict

import numpy as np

from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def savings_nodes(sets: Sets, columns: Columns) -> Rows:
    """Cover no more nodes of a machine than are rented on demand, by all savings plans together.

        Σ_{r ∈ plan_rates[m]} covered_nodes[r,t] ≤ on_demand_nodes[m,t]
        ∀ machines m with a plan's rate, t ∈ periods

    Nodes on both sides. A node may be covered for a part of its hour, as providers do.
    """
    rates: dict[int, list[int]] = defaultdict(list)
    for number, rate in enumerate(sets.plan_rates):
        rates[rate.machine].append(number)
    everywhere = np.arange(len(sets.periods))
    keys: list[Key] = []
    parts: list[Entries] = []
    for machine, own in sorted(rates.items()):
        row = everywhere + len(keys)
        parts.extend(entries(row, columns.covered_nodes.at(rate, everywhere), 1.0) for rate in own)
        parts.append(entries(row, columns.on_demand_nodes.at(machine, everywhere), -1.0))
        keys.extend((machine, int(period)) for period in everywhere)
    return rows_of("savings_nodes", keys, parts, upper=0.0)
