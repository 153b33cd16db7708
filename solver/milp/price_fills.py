"""What whole nodes cost by the duals of the fills that were rounded up."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from solver.milp.fills import Owned
from solver.milp.rounding import rounding_of
from solver.milp.sets import Floats, Sets


@dataclass(frozen=True, slots=True)
class FillPrices:
    """Dollars for the use of a kind, for its blocks on a machine, firm or on spot, and for gangs.

    They are beside the prices of GPUs, by kind, by kind, machine and side, and by run option and
    period. The gangs' are those of fills in which gangs of one run alone are counted.
    """

    kind_usd: Mapping[int, float] = field(default_factory=dict)
    block_usd: Mapping[tuple[int, bool], Mapping[int, Floats]] = field(default_factory=dict)
    gang_usd: Mapping[int, Floats] = field(default_factory=dict)


def fill_prices(sets: Sets, small: Sets, row_usd: Floats) -> FillPrices:
    """Read the duals of the rows of the fills of a small program, by positions in the whole one."""
    kind_at = {id(one): number for number, one in enumerate(sets.kinds)}
    machine_at = {machine.key: number for number, machine in enumerate(sets.machines)}
    kind_usd: dict[int, float] = {}
    block_usd: dict[tuple[int, bool], dict[int, Floats]] = {}
    gang_usd: dict[int, Floats] = {}
    start = 0
    for fill in small.fills:
        usd = row_usd[start : start + len(fill.periods)]
        start += len(fill.periods)
        if not usd.any():
            continue
        machines = {one: machine_at[small.machines[one].key] for one in fill.machines}
        kinds = {at: kind_at[id(small.kinds[at])] for at, _ in fill.parts}
        need = rounding_of(sets, fill.moved(machines, kinds))
        if fill.owned is not Owned.BY_ALL:
            for number, taken in need.gangs.items():
                every_period = gang_usd.setdefault(number, np.zeros(len(sets.periods)))
                every_period[list(fill.periods)] += taken * usd
        nodes = need.nodes
        for (at, own), used, blocks in zip(fill.parts, nodes.used, nodes.blocks, strict=True):
            kind = kinds[at]
            kind_usd[kind] = kind_usd.get(kind, 0.0) + float(used @ usd)
            on_machine = block_usd.setdefault((kind, fill.on_spot), {})
            for machine in machines.values():
                every = on_machine.setdefault(machine, np.zeros(sets.kinds[kind].blocks))
                every[list(own)] += blocks @ usd
    return FillPrices(kind_usd, block_usd, gang_usd)


def node_usd(small: Sets, row_usd: Floats) -> dict[bool, Floats]:
    """Give what whole nodes cost all gangs by machine and period, firm and on spot (the key)."""
    usd = {side: np.zeros((len(small.machines), len(small.periods))) for side in (False, True)}
    start = 0
    for fill in small.fills:
        own = row_usd[start : start + len(fill.periods)]
        start += len(fill.periods)
        if own.any() and fill.owned is Owned.BY_ALL:
            need = rounding_of(small, fill).nodes
            for machine, share in zip(fill.machines, need.nodes, strict=True):
                usd[fill.on_spot][machine, list(fill.periods)] += share * own
    return usd
