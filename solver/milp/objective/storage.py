"""Keeping weights, data sets and checkpoints where they are worked with."""

import numpy as np

from solver.milp.objective.terms import TermCost
from solver.milp.replica_data import kept_usd
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def storage(sets: Sets, columns: Columns) -> TermCost:
    """Charge the volumes of replicas by the hour, and what a run keeps, once.

    Σ_{g,t} storage_usd_per_hour[g] · hours[t] · replicas[g,t] + Σ_a storage_usd[a] · option_used[a]

    A replica pays for its part of its node's copy of the weights, as long as it is up: a linear
    cost of the group, with neither a column nor a row of its own. A copy for each service and
    region, for the horizon, would be a fixed cost that joins machines: cents, at the price of
    binaries and of all exact pruning between regions. The parts of a node that is half empty are
    less than its copy; but the volume of a node costs several times what a copy for the whole
    region would in object storage.
    """
    column, usd = [], []
    for number in range(len(sets.groups)):
        kept = kept_usd(sets, number)
        if kept.any():
            column.append(columns.replicas.at(number, np.arange(len(kept))))
            usd.append(kept)
    runs = np.array([float(one.option.storage_usd) for one in sets.run_options], dtype=float)
    charged = np.flatnonzero(runs)
    column.append(columns.option_used.at(charged))
    usd.append(runs[charged])
    return TermCost("storage", np.concatenate(column), np.concatenate(usd))
