"""Smaller programs from a relaxed one: what looks good first, then all that can still be better."""

import math
from dataclasses import dataclass

import numpy as np

from solver.milp.cheapest import best_of, cheapest_groups
from solver.milp.relax import Relaxed
from solver.milp.restrict import restricted
from solver.milp.sets import Group, RunOption, Sets
from solver.milp.start import NOWHERE, Start
from solver.milp.tenants import sold_as

_PROMISING_KINDS = 6
_KINDS_OF_A_MODEL = 2
_KINDS_OF_MANY = 3
_PROMISING_GROUPS = 8
_MANY_GROUPS = 800
"""Of so many, all that was looked at is too much to search."""
_CHEAPEST_OF_A_SIZE = 2
_PROMISING_OPTIONS = 20
_SHARED_MACHINES = 6
_OPTIONS_OF_A_SHARED = 2
_MOST_SHARED_PERIODS = 20_000
"""Where so many periods of options would be on a few machines, too few of these can be freed."""
_BESIDE_A_START = 1
_ROUNDING = 1e-6
_MOST_COLUMNS = 120_000


@dataclass(frozen=True, slots=True)
class Rest:
    """The sets of what may still be better, and what a plan with anything else costs at least."""

    sets: Sets
    beyond_usd: float


def promising(sets: Sets, relaxed: Relaxed, start: Start = NOWHERE) -> Sets:
    """Keep what the relaxed plan uses, and a few of the least penalty for each demand and run.

    So it is for each pool. What an earlier plan chose stays too; then fewer others are looked at.
    """
    is_known = start != NOWHERE
    most_kinds = _PROMISING_KINDS if len(sets.groups) < _MANY_GROUPS else _KINDS_OF_MANY
    sides = [(kind.demand, kind.configuration.role) for kind in sets.kinds]
    models = [(*sides[at], kind.configuration.gpu) for at, kind in enumerate(sets.kinds)]
    of_model = best_of(models, None, relaxed.kind_penalty_usd, most=_KINDS_OF_A_MODEL)
    kinds = best_of(
        sides,
        relaxed.kind_value,
        np.where(_is_in(of_model, len(sets.kinds)), relaxed.kind_penalty_usd, np.inf),
        most=_BESIDE_A_START if is_known else most_kinds,
    )
    options = best_of(
        [option.run for option in sets.run_options],
        relaxed.option_value,
        relaxed.option_penalty_usd,
        most=_BESIDE_A_START if is_known else _PROMISING_OPTIONS,
    )
    if not is_known:
        options |= _on_shared(sets, relaxed)
    begun_groups, begun_options = _begun(sets, start)
    kinds |= {sets.groups[number].kind for number in begun_groups}
    near = begun_groups | _near(sets, relaxed, is_known=is_known)
    groups = {number for number in near if sets.groups[number].kind in kinds}
    return restricted(sets, groups, options | begun_options)


def begun(sets: Sets, start: Start) -> Sets:
    """Keep what an earlier plan chose alone."""
    return restricted(sets, *_begun(sets, start))


def _begun(sets: Sets, start: Start) -> tuple[set[int], set[int]]:
    """Find the groups and the run options that an earlier plan chose."""
    groups, options = sets.groups, sets.run_options
    return (
        {at for at, one in enumerate(groups) if _name_of(sets, one) in start.kinds},
        {at for at, one in enumerate(options) if _option_name(sets, one) in start.options},
    )


def _on_shared(sets: Sets, relaxed: Relaxed) -> set[int]:
    """Choose options of each run on the machines that the relaxed plan has most of all runs on.

    Nodes that one run leaves idle are cheap for the next, which prices of nodes do not show. None
    where that would be too much to free at once (see `freed`).
    """
    runs = np.array([one.run for one in sets.run_options], dtype=np.int64)
    machines = np.array([one.machine for one in sets.run_options], dtype=np.int64)
    worth = np.bincount(machines, relaxed.option_value, minlength=len(sets.machines))
    shared = np.argsort(-worth, kind="stable")[:_SHARED_MACHINES]
    is_there = np.isin(machines, shared) & (worth[machines] > _ROUNDING)
    chosen = best_of(
        list(zip(runs.tolist(), machines.tolist(), strict=True)),
        None,
        np.where(is_there, relaxed.option_penalty_usd, np.inf),
        most=_OPTIONS_OF_A_SHARED,
    )
    periods = sum(len(sets.run_options[one].window) for one in chosen)
    return chosen if periods <= _MOST_SHARED_PERIODS else set()


def _near(sets: Sets, relaxed: Relaxed, *, is_known: bool) -> set[int]:
    """Choose the groups of least penalty, and the cheapest by size and way to pay."""
    everything = set(range(len(sets.groups)))
    if relaxed.group_penalty_usd is None:
        return everything if relaxed.groups is None else set(relaxed.groups)
    owners = [group.kind for group in sets.groups]
    near = best_of(owners, None, relaxed.group_penalty_usd, most=_PROMISING_GROUPS)
    if not is_known:
        near |= cheapest_groups(sets, _CHEAPEST_OF_A_SIZE)
    inside = everything if relaxed.groups is None else set(relaxed.groups)
    return near if len(inside) > _MANY_GROUPS else near | inside


def possible(sets: Sets, relaxed: Relaxed, known_usd: float) -> Rest:
    """Drop what cannot be part of a plan cheaper than one that is known; exact.

    Where that leaves too much to solve, only the least penalties stay; what a plan with any of the
    others costs at least is said.
    """
    most_usd = known_usd + _ROUNDING * max(1.0, known_usd) - relaxed.bound_usd
    group_usd = relaxed.kind_penalty_usd[[group.kind for group in sets.groups]]
    if relaxed.group_penalty_usd is not None:
        group_usd = group_usd + relaxed.group_penalty_usd
    option_usd = relaxed.option_penalty_usd
    if relaxed.alone_penalty_usd is not None:
        served = {
            sets.groups[number].machine for number in np.flatnonzero(group_usd <= most_usd).tolist()
        }
        is_alone = np.array([one.machine not in served for one in sets.run_options], dtype=bool)
        option_usd = np.where(is_alone, relaxed.alone_penalty_usd, option_usd)
    penalties = np.concatenate([group_usd, option_usd])
    order = np.argsort(penalties, kind="stable")
    held = _held(sets, order, int((penalties <= most_usd).sum()))
    beyond = penalties[order[held]] if held < len(order) else math.inf
    kept = order[:held]
    is_group = kept < len(sets.groups)
    return Rest(
        restricted(sets, kept[is_group].tolist(), (kept[~is_group] - len(sets.groups)).tolist()),
        relaxed.bound_usd + float(beyond),
    )


def _held(sets: Sets, order: np.typing.NDArray[np.int64], most: int) -> int:
    """Count how many of the first can be solved together, by their columns."""
    periods, machines, columns = len(sets.periods), set[int](), 0
    for count, number in enumerate(order[:most].tolist()):
        if number < len(sets.groups):
            group = sets.groups[number]
            machine, own = group.machine, sets.kinds[group.kind].blocks
        else:
            option = sets.run_options[number - len(sets.groups)]
            machine, own = option.machine, 2 * len(option.window)
        columns += own + (0 if machine in machines else 2 * periods)
        machines.add(machine)
        if columns > _MOST_COLUMNS:
            return count
    return most


def _name_of(sets: Sets, group: Group) -> tuple[str, str, str, str]:
    one = group.option
    return (one.service, one.user_region, sold_as(sets.case, one.machine), one.candidate.id)


def _option_name(sets: Sets, option: RunOption) -> tuple[str, str, str]:
    one = option.option
    return (one.run, sold_as(sets.case, one.machine), one.candidate.id)


def _is_in(chosen: set[int], count: int) -> np.typing.NDArray[np.bool_]:
    is_in = np.zeros(count, dtype=bool)
    is_in[sorted(chosen)] = True
    return is_in
