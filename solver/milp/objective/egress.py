"""Bringing data to where the work is, and what was trained back."""

import numpy as np

from solver.milp.objective.terms import TermCost
from solver.milp.replica_data import brought_usd
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def egress(sets: Sets, columns: Columns) -> TermCost:
    """Charge the transfer of a run's data set and result, and of each replica's weights, once.

    Σ_a (egress_usd[a] + result_egress_usd[a]) · option_used[a] + Σ_g egress_usd[g] · peak[g]

    peak[g] are the most replicas that a group has at one time, each with its part of its node's
    copy of the weights: peak_replicas[g], or Σ_b size[c,b] · replicas[g,b] where one kind serves
    each demand. A run works where it began and services keep their groups, so nothing moves again.
    """
    runs = [one.option.egress_usd + one.option.result_egress_usd for one in sets.run_options]
    column = [columns.option_used.at(np.arange(len(runs)))]
    usd = [np.array([float(one) for one in runs], dtype=float)]
    for number in range(len(sets.groups)):
        brought = brought_usd(sets, number)
        if brought.any():
            column.append(columns.replicas.at(number, np.arange(len(brought))))
            usd.append(brought)
    if columns.peak_replicas.size:
        groups = [float(group.option.egress_usd) for group in sets.groups]
        column.append(columns.peak_replicas.at(np.arange(len(groups))))
        usd.append(np.array(groups))
    return TermCost("egress", np.concatenate(column), np.concatenate(usd))
