"""Bringing the data to where a run works."""

import numpy as np

from solver.milp.objective.terms import TermCost
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def egress(sets: Sets, columns: Columns) -> TermCost:
    """Charge the transfer of a run's data set to the place of its gang, once.

    Σ_a egress_usd[a] · option_used[a]
    """
    usd = np.array([float(one.option.egress_usd) for one in sets.run_options], dtype=float)
    return TermCost("egress", columns.option_used.at(np.arange(len(usd))), usd)
