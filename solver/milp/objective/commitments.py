"""Reserved and contracted nodes."""

import numpy as np

from solver.milp.objective.terms import TermCost
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def commitments(sets: Sets, columns: Columns) -> TermCost:
    """Charge committed nodes every hour of the term that lies in the horizon, used or not.

    Σ_p (usd_per_hour[p] + upfront_usd[p] / term_h[p]) · active_h[p] · committed_nodes[p]
    """
    usd = np.array([one.usd_per_node for one in sets.committed], dtype=float)
    return TermCost("commitments", columns.committed_nodes.at(np.arange(len(usd))), usd)
