"""A cut: a kind that is used fills whole nodes of its machine."""

import math

import numpy as np

from solver.milp.rows import Entries, Rows, entries, rows_of
from solver.milp.sets import Kind, Sets
from solver.milp.variables import Columns

_WORTH_A_ROW = 1.01
_PACKING_SLACK = 1e-9


def whole_nodes(sets: Sets, columns: Columns) -> Rows:
    """Have a used kind's firm replicas alone take whole nodes.

        on_demand_nodes[m,t] + owned_nodes[m,t] + Σ_{p ∈ active[m,t]} committed_nodes[p]
            ≥ ⌈gpus[c] · firm_alone[c,t] / G[m]⌉ · kind_used[c]    ∀ c ∈ kinds[m], t ∈ periods

    Only under `max_groups: 1`, where a used kind has its replicas in every period; only where the
    rounding is worth a row. Implied by firm_capacity and integrality: it keeps the relaxation from
    buying a part of a node. Nodes on both sides.
    """
    if not sets.has_one_kind:
        return rows_of("whole_nodes", [], [])
    gpus = {group.kind: group.gpus for group in sets.groups}
    keys: list[tuple[object, ...]] = []
    parts: list[Entries] = []
    lower: list[float] = []
    for number, kind in enumerate(sets.kinds):
        for period, nodes in _rounded(sets, kind, gpus[number]):
            row = len(keys)
            keys.append((number, period))
            lower.append(-float(sets.machines[kind.machine].owned[period]))
            parts.append(entries(row, columns.kind_used.at(number), -float(nodes)))
            parts.append(entries(row, columns.on_demand_nodes.at(kind.machine, period), 1.0))
            parts.extend(
                entries(row, columns.committed_nodes.at(at), 1.0)
                for at, one in enumerate(sets.committed)
                if one.machine == kind.machine and one.active[period]
            )
    return rows_of("whole_nodes", keys, parts, lower=np.array(lower))


def _rounded(sets: Sets, kind: Kind, gpus: int) -> list[tuple[int, int]]:
    """List the periods in which whole nodes are more than the replicas fill, and how many."""
    per_node = sets.machines[kind.machine].gpus
    found = []
    for period, replicas in enumerate(kind.firm_alone):
        filled = replicas * gpus / per_node
        nodes = math.ceil(filled - _PACKING_SLACK)
        if nodes > filled * _WORTH_A_ROW:
            found.append((period, nodes))
    return found
