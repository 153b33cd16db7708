"""What weights cost by group and block: kept while replicas are up, brought once for each.

Both are dollars of one unit of replicas[g,b], the same in any plan: so kinds are priced with them
(price_out), searched with them (local_search), and a machine that is priced by its nodes alone is
not concerned.
"""

import numpy as np

from solver.milp.sets import Floats, Sets
from solver.milp.variables import Ints


def kept_usd(sets: Sets, group: int) -> Floats:
    """Give what keeping the weights costs for one of each block of a group."""
    one = sets.groups[group]
    rate = float(one.option.storage_usd_per_hour)
    kind = sets.kinds[one.kind]
    return np.asarray(rate * (kind.up() @ sets.hours)) if rate else np.zeros(kind.blocks)


def brought_usd(sets: Sets, group: int) -> Floats:
    """Give what bringing the weights costs for one of each block of a group.

    Where one kind serves a demand, all blocks are up at its peak, so that a block of so many
    replicas brings as many copies; else peak_replicas[g] are charged, and blocks are not.
    """
    one = sets.groups[group]
    sizes = np.array(sets.kinds[one.kind].block_sizes, dtype=float)
    if not len(sizes):
        return np.zeros(sets.kinds[one.kind].blocks)
    return float(one.option.egress_usd) * sizes


def replica_usd(sets: Sets, group: int) -> Floats:
    """Give what one of each block of a group costs beside its nodes."""
    return kept_usd(sets, group) + brought_usd(sets, group)


def members_usd(sets: Sets, groups: Ints) -> Floats:
    """Give the same of several groups of a kind, group by block."""
    return np.array([replica_usd(sets, one) for one in groups.tolist()])
