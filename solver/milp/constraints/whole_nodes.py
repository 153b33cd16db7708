"""A cut: replicas need whole nodes, whatever shares of their kinds are used."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from solver.milp.fills import Fill
from solver.milp.rounding import Rounding, rounding_of
from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import Floats, Sets
from solver.milp.variables import Columns, Ints


def whole_nodes(sets: Sets, columns: Columns) -> Rows:
    """Round what blocks of replicas fill up to whole nodes, in the periods where that was missed.

        Σ_{m ∈ f} φ_f(G[m] / G[f]) · (on_demand_nodes[m,t] + Σ_{p ∈ active[m,t]} committed_nodes[p])
            ≥ Σ_{c ∈ f} (⌈a_c⌉ − Σ_{b ∈ f[c]} φ_f(a_b)) · kind_used[c]
            + Σ_{c ∈ f} Σ_{b ∈ f[c]} φ_f(a_b) · Σ_{m ∈ f} replicas[c on m,b]
            + Σ_{a ∈ firm options[m]} gang_nodes_f[a,t] · gang_up[a,t] − free_f[t]
        ∀ f ∈ fills, t ∈ periods[f]

    a_b is what block b takes of nodes of G[f] GPUs, a_c what all of f[c] do, φ rounds (see
    `fills`). Blocks of several demands are rounded together, with 1 for kind_used. With
    W = owned_nodes[m,t], and d the most that the blocks may need, at most W:

        by all:    free = Σ_m φ(G[m] / G[f]) · W,      gang_nodes[a] = φ(G[m] / G[f]) · nodes[a]
        by kinds:  free = W · Σ_{c ∈ f} kind_used[c],  gang_nodes[a] = max(0, nodes[a] − W)
        by run j:  free = d,                           gang_nodes[a] = max(0, nodes[a] − W + d)

    The last two count one machine and the gangs of one run, of which one is up at a time: owned
    nodes serve no part of a kind, and half a gang of two nodes is none on one. On spot it is
    spot_nodes and spot options. Implied by firm_capacity and integrality; fills are found where a
    relaxed plan uses parts of nodes. Nodes of G[f] GPUs on both sides.
    """
    keys: list[Key] = []
    parts: list[Entries] = []
    lower: list[Floats] = []
    for number, fill in enumerate(sets.fills):
        rows = len(keys) + np.arange(len(fill.periods))
        keys.extend((number, period) for period in fill.periods)
        need = rounding_of(sets, fill)
        lower.append(need.nodes.constant)
        place = _Place(sets, columns, fill, rows)
        for machine, share in zip(fill.machines, need.nodes.nodes, strict=True):
            parts.extend(place.nodes(machine, share))
        parts.extend(place.gangs(need))
        parts.extend(place.needed(need))
    return rows_of("whole_nodes", keys, parts, lower=np.concatenate([np.zeros(0), *lower]))


@dataclass(frozen=True, slots=True)
class _Place:
    """The rows of one fill."""

    sets: Sets
    columns: Columns
    fill: Fill
    rows: Ints

    def nodes(self, machine: int, share: Floats) -> Iterator[Entries]:
        """Count the nodes that are bought of a machine, each for a share."""
        sets, columns, on_spot = self.sets, self.columns, self.fill.on_spot
        periods = np.array(self.fill.periods)
        block = columns.spot_nodes if on_spot else columns.on_demand_nodes
        yield entries(self.rows, block.at(machine, periods), share)
        for number, one in enumerate(sets.committed):
            if one.machine == machine and not on_spot:
                active = np.array(one.active, dtype=bool)[periods]
                bought = columns.committed_nodes.at(np.full(int(active.sum()), number))
                yield entries(self.rows[active], bought, share[active])

    def gangs(self, need: Rounding) -> Iterator[Entries]:
        """Count what gangs take of them."""
        periods = np.array(self.fill.periods)
        for number, taken in need.gangs.items():
            inside = np.isin(periods, self.sets.run_options[number].window) & (taken > 0)
            if inside.any():
                gangs = self.columns.gang_up.at(number, periods[inside])
                yield entries(self.rows[inside], gangs, -taken[inside])

    def needed(self, need: Rounding) -> Iterator[Entries]:
        """Count what the blocks need of them."""
        fill, columns, nodes = self.fill, self.columns, need.nodes
        for (kind, own), used, blocks in zip(fill.parts, nodes.used, nodes.blocks, strict=True):
            yield entries(self.rows, columns.kind_used.at(kind), -used)
            for number, group in enumerate(self.sets.groups):
                if (group.kind, group.on_spot) == (kind, fill.on_spot) and (
                    group.machine in fill.machines
                ):
                    replicas = columns.replicas.at(number, np.array(own))
                    yield entries(self.rows[None, :], replicas[:, None], -blocks)
