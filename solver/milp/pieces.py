"""Runs that go on in one piece: rows for branching, and the stretches in which they may begin.

A relaxed plan has such a run thinly in the quiet hours of its whole window, beside the replicas
that need its nodes at all others. Once it is known within some hours when it begins, it is up
in all hours in between: these nodes nobody else has.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from statistics import median_low

import numpy as np

from solver.milp.program import Program
from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.sets import RunOption, Sets
from solver.milp.variables import Ints

_MUCH = 0.2
_OF_A_RUN = 6
_MOST_STRETCHES = 16
"""A stretch is a sixteenth of the times to begin, or a sixth of the time that is mostly needed."""


def contested(program: Program, known_usd: float) -> frozenset[int]:
    """List the runs in one piece that owned nodes worth a fifth of a known plan may be kept for.

    As many nodes for as long would cost so much on demand. When other runs begin matters little.
    """
    columns, sets = program.columns, program.sets
    usd = columns.on_demand_nodes.of(program.cost)
    return frozenset(
        one.run
        for _, one in _in_one_piece(sets, None)
        for window in [list(one.window)]
        for owned in [min(one.nodes, max(sets.machines[one.machine].owned))]
        if owned * one.slots_needed * usd[one.machine, window].mean() >= _MUCH * known_usd
    )


def pieces(program: Program, runs: Collection[int] | None = None) -> tuple[Rows, Rows]:
    """Keep a gang up for as long as its run takes from when it begins, and let it begin in time.

        run_piece    gang_up[a,t] ≥ Σ_{τ ∈ (t − n_a, t]} gang_start[a,τ]    ∀ t ∈ window[a]
        run_once     Σ_{τ ∈ begins[a]} gang_start[a,τ] ≥ option_used[a]
        ∀ a ∈ options of some runs not restartable

    n_a are slots_needed[a], and begins[a] the slots after which as many are left of the window.
    Implied by run_contiguous, run_work and integrality.
    """
    sets, columns = program.sets, program.columns
    own = list(_in_one_piece(sets, runs))
    up_keys, up_parts = list[Key](), list[Entries]()
    once_parts = list[Entries]()
    for row, (number, option) in enumerate(own):
        window, begins = np.array(option.window), _begins(option)
        rows = len(up_keys) + np.arange(len(window))
        since = np.arange(len(window))[:, None] - np.arange(len(begins))
        up, begun = np.nonzero((since >= 0) & (since < option.slots_needed))
        up_keys.extend((number, period) for period in option.window)
        up_parts.append(entries(rows, columns.gang_up.at(number, window), 1.0))
        up_parts.append(entries(rows[up], columns.gang_start.at(number, begins[begun]), -1.0))
        once_parts.append(entries(row, columns.gang_start.at(number, begins), 1.0))
        once_parts.append(entries(row, columns.option_used.at(np.array([number])), -1.0))
    once_keys = [(number,) for number, _ in own]
    return (
        rows_of("run_piece", up_keys, up_parts, lower=0.0),
        rows_of("run_once", once_keys, once_parts, lower=0.0),
    )


def times_to_begin(sets: Sets, runs: Collection[int] | None = None) -> dict[int, list[Ints]]:
    """Cut the periods in which each run in one piece may begin into stretches, by run.

    All options of a run have one window: those that need less of it may begin later, too.
    """
    begins: dict[int, Ints] = {}
    for _, one in _in_one_piece(sets, runs):
        begins[one.run] = max(_begins(one), begins.get(one.run, _NONE), key=len)
    return {
        run: [own[at : at + length] for at in range(0, len(own), length)]
        for run, length in _lengths(sets, runs).items()
        for own in [begins[run]]
    }


def stretches(sets: Sets, runs: Collection[int] | None = None) -> Iterator[Ints]:
    """Cut the windows of these runs likewise."""
    windows = {one.run: np.array(one.window) for _, one in _in_one_piece(sets, runs)}
    for run, length in _lengths(sets, runs).items():
        window = windows[run]
        yield from (window[at : at + length] for at in range(0, len(window), length))


def _lengths(sets: Sets, runs: Collection[int] | None) -> dict[int, int]:
    """Give how long the stretches of each run in one piece are."""
    slots: dict[int, list[int]] = defaultdict(list)
    most: dict[int, int] = {}
    for _, one in _in_one_piece(sets, runs):
        slots[one.run].append(one.slots_needed)
        most[one.run] = max(len(_begins(one)), most.get(one.run, 0))
    return {
        run: min(-(-most[run] // _MOST_STRETCHES), max(median_low(own) // _OF_A_RUN, 1))
        for run, own in sorted(slots.items())
    }


def _in_one_piece(sets: Sets, runs: Collection[int] | None) -> Iterator[tuple[int, RunOption]]:
    """Give the options of runs that cannot be restarted, which have the time that they need.

    Of some runs, or of all where none are named.
    """
    for number, option in enumerate(sets.run_options):
        may_end = option.slots_needed <= len(option.window)
        is_asked = runs is None or option.run in runs
        if is_asked and may_end and not sets.runs[option.run].restartable:
            yield number, option


def _begins(option: RunOption) -> Ints:
    return np.array(option.window[: len(option.window) - option.slots_needed + 1], dtype=np.int64)


_NONE = np.zeros(0, dtype=np.int64)
