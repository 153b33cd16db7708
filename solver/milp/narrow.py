"""Smaller programs from a relaxed one: what looks good first, then all that can still be better."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from broker.domain.case import Case
from solver.milp.relax import Relaxed
from solver.milp.sets import Floats, Group, Sets
from solver.milp.start import NOWHERE, Start

_USED = 1e-6
_PROMISING_KINDS = 4
_PROMISING_OPTIONS = 3
_BESIDE_A_START = 1
_ROUNDING = 1e-6


def promising(sets: Sets, relaxed: Relaxed, start: Start = NOWHERE) -> Case:
    """Keep what the relaxed plan uses, and a few of the least penalty for each demand and run.

    What an earlier plan chose stays too; then fewer others need to be looked at.
    """
    is_known = start is not NOWHERE
    kinds = _best_of(
        [kind.demand for kind in sets.kinds],
        relaxed.kind_value,
        relaxed.kind_penalty_usd,
        most=_BESIDE_A_START if is_known else _PROMISING_KINDS,
    )
    options = _best_of(
        [option.run for option in sets.run_options],
        relaxed.option_value,
        relaxed.option_penalty_usd,
        most=_BESIDE_A_START if is_known else _PROMISING_OPTIONS,
    )
    kinds |= {group.kind for group in sets.groups if _name_of(group) in start.kinds}
    options |= {
        number
        for number, one in enumerate(sets.run_options)
        if (one.option.run, one.option.machine, one.option.candidate.id) in start.options
    }
    return _keep(sets, kinds.__contains__, options.__contains__)


def possible(sets: Sets, relaxed: Relaxed, known_usd: float) -> Case:
    """Drop what cannot be part of a plan cheaper than one that is known; exact."""
    most_usd = known_usd * (1 + _ROUNDING) - relaxed.bound_usd
    return _keep(
        sets,
        lambda kind: bool(relaxed.kind_penalty_usd[kind] <= most_usd),
        lambda option: bool(relaxed.option_penalty_usd[option] <= most_usd),
    )


def _name_of(group: Group) -> tuple[str, str, str, str]:
    one = group.option
    return (one.service, one.user_region, one.machine, one.candidate.id)


def _best_of(owners: list[int], value: Floats, penalty: Floats, *, most: int) -> set[int]:
    chosen = set(np.flatnonzero(value > _USED).tolist())
    count: dict[int, int] = {}
    for number in np.argsort(penalty, kind="stable").tolist():
        count[owners[number]] = count.get(owners[number], 0) + 1
        if count[owners[number]] <= most:
            chosen.add(number)
    return chosen


def _keep(
    sets: Sets, keeps_kind: Callable[[int], bool], keeps_option: Callable[[int], bool]
) -> Case:
    return replace(
        sets.case,
        serving=tuple(group.option for group in sets.groups if keeps_kind(group.kind)),
        training=tuple(
            option.option for number, option in enumerate(sets.run_options) if keeps_option(number)
        ),
    )
