"""A known plan's kinds and run options kept, all else chosen anew, part by part (see `leaves`).

A search places what it has chosen step by step; where that is fixed, HiGHS places it best in
seconds, as little hangs together.
"""

import time
from dataclasses import replace

import numpy as np

from solver.milp.known import Known
from solver.milp.leaves import Leaf, Leaves
from solver.milp.parts import arrays_of
from solver.milp.program import Program, build_program
from solver.milp.questions import questions_of
from solver.milp.restrict import restricted
from solver.milp.sets import Kind, Sets
from solver.milp.solve import Limits, Outcome, Solution
from solver.milp.watch import Watch

_NODES = 1000
"""So many nodes HiGHS looks at a part, if the limits name no other number."""
_USED = 0.5


def refined(known: Known, sets: Sets, limits: Limits, watch: Watch) -> Known:
    """Place a known plan of one kind a demand better on what `sets` have; give it where none is.

    It is done after the time limit at the latest.
    """
    ends_at = time.monotonic() + limits.time_limit_s
    program = build_program(_with_answers_of(known, sets))
    arrays = arrays_of(program)
    answers = np.concatenate([own for one in questions_of(program) for own in one.answers])
    search = Leaves(arrays, answers, limits, watch)
    hint = known.hint(program)
    values = None if hint is None else np.nan_to_num(hint)
    leaf = Leaf(arrays.upper, (), limits.most_nodes or _NODES, values)
    (found,) = search.searched([leaf], known.usd, lambda: ends_at - time.monotonic())
    if found.values is None or float(program.cost @ found.values) >= known.usd:
        return known
    return replace(known, program=program, solution=Solution(Outcome.FEASIBLE, found.values, 0.0))


def _with_answers_of(known: Known, sets: Sets) -> Sets:
    """Keep of some sets the kinds and the run options that a plan uses, on all machines."""
    kinds, options = _used(known.program, known)
    return restricted(
        sets,
        [at for at, one in enumerate(sets.groups) if _kind_name(sets.kinds[one.kind]) in kinds],
        [
            at
            for at, one in enumerate(sets.run_options)
            if (one.option.run, one.option.machine, one.option.candidate.id) in options
        ],
    )


def _used(program: Program, known: Known) -> tuple[set[object], set[object]]:
    sets, values = program.sets, known.solution.values
    is_used = program.columns.kind_used.of(values) > _USED
    is_done = program.columns.option_used.of(values) > _USED
    return (
        {_kind_name(sets.kinds[at]) for at in np.flatnonzero(is_used)},
        {
            (one.option.run, one.option.machine, one.option.candidate.id)
            for one, is_own in zip(sets.run_options, is_done, strict=True)
            if is_own
        },
    )


def _kind_name(kind: Kind) -> tuple[object, ...]:
    return (kind.demand, kind.configuration, kind.rates)
