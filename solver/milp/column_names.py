"""Names of columns that stay as they are while more of a market is taken into a program.

A column's number changes with every group and run option that comes in before it. Its name is made
of its block, of where its first set is in the whole market, and of where it is in its other sets.
"""

from collections.abc import Sequence

import numpy as np

from solver.milp.program import Program
from solver.milp.sets import Sets
from solver.milp.variables import Ints, watched_machines

_STEADY = frozenset({"over_usd", "run_begun"})
"""Blocks over sets that are the whole market's in every program."""
_OF_BLOCK = 52
_OF_FIRST = 24
NAMELESS = -1


def column_names(
    program: Program, columns: Ints, market: Sets, inside: tuple[Sequence[int], Sequence[int]]
) -> Ints:
    """Name some columns of a program over a part of a market; NAMELESS where no name would stay.

    `inside` are the groups and the run options that the part has, in order, by their positions.
    """
    first_of = _places(program.sets, market, inside)
    blocks = program.columns.blocks()
    block_of = np.searchsorted([one.start for one in blocks], columns, side="right") - 1
    names = np.full(len(columns), NAMELESS, dtype=np.int64)
    for number, block in enumerate(blocks):
        which = np.flatnonzero(block_of == number)
        places = first_of.get(block.name)
        if block.name in _STEADY:
            places = np.arange(len(block.upper))
        if len(which) and places is not None:
            first, rest = np.divmod(columns[which] - block.start, block.size // len(places))
            names[which] = (number << _OF_BLOCK) + (places[first] << _OF_FIRST) + rest
    return names


def _places(
    small: Sets, market: Sets, inside: tuple[Sequence[int], Sequence[int]]
) -> dict[str, Ints]:
    """Say where the members of each block's first set are in the whole market."""
    groups, options = (np.array(one, dtype=np.int64) for one in inside)
    kinds, machines = kinds_in(small, market), machines_in(small, market)
    every = (market.committed, market.levels, market.plan_rates)
    of_machine = ([item.machine for item in items] for items in every)
    committed, levels, rates = (np.flatnonzero(np.isin(one, machines)) for one in of_machine)
    plans = np.unique([market.plan_rates[rate].plan for rate in rates]).astype(np.int64)
    return {
        "replicas": groups,
        "kept_replicas": groups,
        "kind_used": kinds,
        "burst_used": kinds,
        "on_demand_nodes": machines,
        "spot_nodes": machines,
        "serving_nodes": machines,
        "run_nodes": machines,
        "idle_nodes": machines[list(watched_machines(small))],
        "committed_nodes": committed,
        "level_used": levels,
        "gang_up": options,
        "gang_start": options,
        "option_used": options,
        "plan_steps": plans,
        "covered_nodes": rates,
        "steady_nodes": rates,
    }


def kinds_in(small: Sets, market: Sets) -> Ints:
    """Give where the kinds of a part of a market are in all of it."""
    at = {id(one): number for number, one in enumerate(market.kinds)}
    return np.array([at[id(one)] for one in small.kinds], dtype=np.int64)


def machines_in(small: Sets, market: Sets) -> Ints:
    """Give where the machines of a part of a market are in all of it."""
    at = {one.key: number for number, one in enumerate(market.machines)}
    return np.array([at[one.key] for one in small.machines], dtype=np.int64)
