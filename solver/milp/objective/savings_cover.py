"""Rented nodes that savings plans pay for."""

import numpy as np

from solver.milp.objective.terms import TermCost
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def savings_cover(sets: Sets, columns: Columns) -> TermCost:
    """Take off the on-demand price of nodes that a savings plan covers; its promise pays for them.

    −Σ_{r,t} on_demand_usd_per_hour[m] · hours[t] · covered_nodes[r,t]    r on machine m
    """
    rented = [sets.machines[one.machine].on_demand for one in sets.plan_rates]
    prices = np.array([float(one.usd_per_hour) if one else 0.0 for one in rented], dtype=float)
    places = np.arange(len(prices))[:, None]
    column = columns.covered_nodes.at(places, np.arange(len(sets.periods))[None, :])
    return TermCost("savings_cover", column.ravel(), -np.outer(prices, sets.hours).ravel())
