"""What whole nodes cost by the duals of the fills that were rounded up."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from solver.milp.constraints.whole_nodes import rounding_of
from solver.milp.sets import Floats, Sets


@dataclass(frozen=True, slots=True)
class FillPrices:
    """Dollars for the use of a kind, and for its blocks on a machine, firm or on spot.

    They are beside the prices of GPUs, by kind, and by kind, machine and side.
    """

    kind_usd: Mapping[int, float] = field(default_factory=dict)
    block_usd: Mapping[tuple[int, bool], Mapping[int, Floats]] = field(default_factory=dict)


def fill_prices(sets: Sets, small: Sets, row_usd: Floats) -> FillPrices:
    """Read the duals of the rows of the fills of a small program, by positions in the whole one."""
    kind_at = {id(one): number for number, one in enumerate(sets.kinds)}
    machine_at = {machine.key: number for number, machine in enumerate(sets.machines)}
    kind_usd: dict[int, float] = {}
    block_usd: dict[tuple[int, bool], dict[int, Floats]] = {}
    start = 0
    for fill in small.fills:
        usd = row_usd[start : start + len(fill.periods)]
        start += len(fill.periods)
        if not usd.any():
            continue
        need = rounding_of(small, fill)
        machines = [machine_at[small.machines[one].key] for one in fill.machines]
        for (at, own), used, blocks in zip(fill.parts, need.used, need.blocks, strict=True):
            kind = kind_at[id(small.kinds[at])]
            kind_usd[kind] = kind_usd.get(kind, 0.0) + float(used @ usd)
            on_machine = block_usd.setdefault((kind, fill.on_spot), {})
            for machine in machines:
                every = on_machine.setdefault(machine, np.zeros(sets.kinds[kind].blocks))
                every[list(own)] += blocks @ usd
    return FillPrices(kind_usd, block_usd)


def node_usd(small: Sets, row_usd: Floats) -> dict[bool, Floats]:
    """Give what whole nodes cost by machine and period, firm and on spot (the key)."""
    usd = {side: np.zeros((len(small.machines), len(small.periods))) for side in (False, True)}
    start = 0
    for fill in small.fills:
        own = row_usd[start : start + len(fill.periods)]
        start += len(fill.periods)
        if own.any():
            need = rounding_of(small, fill)
            for machine, share in zip(fill.machines, need.nodes, strict=True):
                usd[fill.on_spot][machine, list(fill.periods)] += share * own
    return usd
