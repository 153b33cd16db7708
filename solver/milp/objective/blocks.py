"""Capacity blocks."""

import numpy as np

from solver.milp.objective.terms import TermCost
from solver.milp.sets import Sets
from solver.milp.variables import Columns


def blocks(sets: Sets, columns: Columns) -> TermCost:
    """Charge the nodes of a capacity block for its whole window, used or not, at once.

    Σ_{p a block} usd_per_hour[p] · length_h[p] · committed_nodes[p]

    Hours of the window that lie after the horizon are charged too: nothing is known of their use.
    """
    usd = {at: one.usd_per_node for at, one in enumerate(sets.committed) if one.block is not None}
    column = columns.committed_nodes.at(np.array(list(usd), dtype=np.int64))
    return TermCost("blocks", column, np.array(list(usd.values()), dtype=float))
