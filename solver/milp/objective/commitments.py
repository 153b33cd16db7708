"""Reserved and contracted nodes."""

import numpy as np

from solver.milp.objective.terms import TermCost
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def commitments(sets: Sets, columns: Columns) -> TermCost:
    """Charge committed nodes every hour of the term that lies in the horizon, used or not.

    Σ_{p no block} charged_h[p] · (usd_per_hour[p] + upfront_usd[p] / term_h[p])
                   · committed_nodes[p]

    Where a term ends inside a slot, that part of it counts, though no work is on the nodes then.
    """
    usd = {at: one.usd_per_node for at, one in enumerate(sets.committed) if one.block is None}
    column = columns.committed_nodes.at(np.array(list(usd), dtype=np.int64))
    return TermCost("commitments", column, np.array(list(usd.values()), dtype=float))
