"""Nodes that may be taken back."""

import numpy as np

from solver.milp.objective.terms import TermCost
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def spot(sets: Sets, columns: Columns) -> TermCost:
    """Charge spot nodes by the hour; lost work is in the rate of what runs on them.

    Σ_{m,t} spot_usd_per_hour[m] · hours[t] · spot_nodes[m,t]
    """
    machines = [number for number, one in enumerate(sets.machines) if one.spot is not None]
    prices = np.array(
        [float(one.spot.usd_per_hour) for one in sets.machines if one.spot is not None]
    )
    places = np.array(machines, dtype=np.int64)[:, None]
    column = columns.spot_nodes.at(places, np.arange(len(sets.periods))[None, :])
    return TermCost("spot", column.ravel(), np.outer(prices, sets.hours).ravel())
