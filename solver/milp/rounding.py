"""The whole nodes that a fill needs in a program: what is owned of them, and what gangs take."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from solver.milp.fills import Fill, Floats, Owned, Rounded, rounded
from solver.milp.sets import Sets


@dataclass(frozen=True, slots=True)
class Rounding:
    """What a fill needs of the nodes that are bought, what is owned already counted.

    `gangs` are the nodes that a gang of each run option takes of those, by period of the fill.
    """

    nodes: Rounded
    gangs: Mapping[int, Floats]


def rounding_of(sets: Sets, fill: Fill) -> Rounding:
    """Give the bought nodes that a fill needs at least, by period; see `whole_nodes`."""
    need = _of_parts(sets, fill)
    periods = list(fill.periods)
    owned = [
        np.array(sets.machines[one].owned, dtype=float)[periods] * (not fill.on_spot)
        for one in fill.machines
    ]
    if fill.owned is Owned.BY_ALL:
        free = sum(
            (share * own for share, own in zip(need.nodes, owned, strict=True)),
            np.zeros(len(periods)),
        )
        share_of = dict(zip(fill.machines, need.nodes, strict=True))
        gangs = {
            number: option.nodes * share_of[option.machine]
            for number, option in enumerate(sets.run_options)
            if option.machine in share_of and option.option.candidate.on_spot is fill.on_spot
        }
        return Rounding(replace(need, constant=need.constant - free), gangs)
    if fill.owned is Owned.BY_KINDS:
        used = tuple(one - owned[0] for one in need.used)
        return Rounding(replace(need, used=used), _gangs(sets, fill, owned[0]))
    free = np.minimum(_most(need, is_together=fill.is_together), owned[0])
    bought = replace(need, constant=need.constant - free)
    return Rounding(bought, _gangs(sets, fill, owned[0] - free))


def _of_parts(sets: Sets, fill: Fill) -> Rounded:
    if not fill.parts:
        count = len(fill.periods)
        return Rounded(np.zeros(count), (), (), tuple(np.ones(count) for _ in fill.machines))
    return rounded(
        tuple(
            sets.kinds[kind].up()[np.ix_(own, fill.periods)] * sets.kinds[kind].gpus / fill.gpus
            for kind, own in fill.parts
        ),
        tuple(sets.machines[one].gpus / fill.gpus for one in fill.machines),
        is_together=fill.is_together,
    )


def _most(need: Rounded, *, is_together: bool) -> Floats:
    """Give the most nodes that the blocks may need."""
    by_kind = [
        used + blocks.sum(axis=0) for used, blocks in zip(need.used, need.blocks, strict=True)
    ]
    if not by_kind:
        return need.constant
    return np.asarray(
        need.constant + (np.sum(by_kind, axis=0) if is_together else np.max(by_kind, axis=0))
    )


def _gangs(sets: Sets, fill: Fill, idle: Floats) -> dict[int, Floats]:
    """Give what gangs of the fill's run take beside idle nodes."""
    return {
        number: np.maximum(option.nodes - idle, 0.0)
        for number, option in enumerate(sets.run_options)
        if option.run == fill.run
        and option.machine in fill.machines
        and option.option.candidate.on_spot is fill.on_spot
    }
