"""A commitment that outlives the horizon pays for itself on services alone, node by node."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from solver.milp.rows import Entries, Rows, entries, rows_of
from solver.milp.sets import Floats, Level, Sets
from solver.milp.variables import Columns, Ints, replicas_at


def steady_level(sets: Sets, columns: Columns) -> Rows:
    """Commit beyond the horizon only to what services keep up for the break-even share of time.

        Σ_{p ∈ members[l]} committed_nodes[p] + Σ_{r ∈ plan_rates[l]} steady_nodes[r]
            + max_t owned_nodes[m,t] · level_used[l]
            ≤ Σ_{g ∈ firm groups[m]} gpus[g] · replicas[g, base period of (c, l)] / G[m]
            + 1 − u[m]/G[m]    ∀ l ∈ levels

    In its base period a kind has the largest fleet that it has, or exceeds, for the break-even
    share of the horizon. Where several kinds may serve a demand, kept_replicas[g,l] stands for
    its replicas. A node that services use in part is needed whole: hence 1 − u/G, where a replica
    takes u GPUs at least, 1 or the smallest slice. Owned nodes are used first. Services go on after
    the horizon, runs end: so a run never justifies a term beyond it, and well-used nodes do not pay
    for idle ones. Nodes on both sides.
    """
    parts: list[Entries] = []
    upper = np.zeros(len(sets.levels))
    bases = Bases(sets, columns)
    for row, level in enumerate(sets.levels):
        machine = sets.machines[level.machine]
        parts.extend(entries(row, column, 1.0) for column in outliving_nodes(columns, level))
        parts.extend(
            entries(row, column, -sets.groups[group].gpus / machine.gpus * up)
            for group, column, up in bases.of(row)
        )
        used = columns.level_used.at(np.array([row]))
        parts.append(entries(row, used, float(max(machine.owned))))
        upper[row] = 1 - sets.least_gpus(level.machine) / machine.gpus
    keys = [(number,) for number in range(len(sets.levels))]
    return rows_of("steady_level", keys, parts, upper=upper)


def outliving_nodes(columns: Columns, level: Level) -> tuple[Ints, Ints]:
    """List what a level is the sum of: committed nodes, and those of savings plans."""
    members = np.array(level.members, dtype=np.int64)
    rates = np.array(level.plan_rates, dtype=np.int64)
    return columns.committed_nodes.at(members), columns.steady_nodes.at(rates)


class Bases:
    """What groups have up in the base periods of levels."""

    def __init__(self, sets: Sets, columns: Columns) -> None:
        """Find the firm groups of each machine."""
        self._sets, self._columns = sets, columns
        self._groups: dict[int, list[int]] = defaultdict(list)
        self._base: dict[tuple[int, float], Ints] = {}
        for number, group in enumerate(sets.groups):
            if not group.on_spot:
                self._groups[group.machine].append(number)

    def of(self, number: int) -> Iterator[tuple[int, Ints, Floats]]:
        """Give of a level's base period: a firm group of the machine, its columns, replicas."""
        level = self._sets.levels[number]
        for group in self._groups[level.machine]:
            if self._sets.has_one_kind:
                base = self._base_of(self._sets.groups[group].kind, level.breakeven_utilization)
                _, column, up = replicas_at(self._sets, self._columns, group, base)
            else:
                column = self._columns.kept_replicas.at(group, np.array([number]))
                up = np.ones(1)
            yield group, column, up

    def _base_of(self, kind: int, share: float) -> Ints:
        if (kind, share) not in self._base:
            busy = self._sets.kinds[kind].busy_periods(self._sets.hours, share)
            self._base[kind, share] = busy[:1]
        return self._base[kind, share]
