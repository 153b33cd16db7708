"""Rented nodes."""

import numpy as np

from solver.milp.objective.terms import TermCost
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def on_demand(sets: Sets, columns: Columns) -> TermCost:
    """Charge on-demand nodes by the hour.

    Σ_{m,t} on_demand_usd_per_hour[m] · hours[t] · on_demand_nodes[m,t]

    This price, and that of every other way to have nodes, is what is paid: the offer's times
    1 + Σ rate[n], over the policy's surcharges n on it; a plan shows what they add apart.
    """
    machines = [number for number, one in enumerate(sets.machines) if one.on_demand is not None]
    prices = np.array(
        [float(one.on_demand.usd_per_hour) for one in sets.machines if one.on_demand is not None]
    )
    places = np.array(machines, dtype=np.int64)[:, None]
    column = columns.on_demand_nodes.at(places, np.arange(len(sets.periods))[None, :])
    return TermCost("on_demand", column.ravel(), np.outer(prices, sets.hours).ravel())
