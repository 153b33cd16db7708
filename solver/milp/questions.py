"""What is asked of a program: where each run is done, and which one kind serves each demand."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from solver.milp.program import Program
from solver.milp.sets import Floats, Sets
from solver.milp.variables import Columns, Ints

_DECIDED = 1e-3


@dataclass(frozen=True, slots=True)
class Question:
    """The columns of each answer, of which a plan has exactly one; `is_run` of where a run is.

    An answer without columns is that none of the others is true. `when` is the question where the
    run is whose times to begin these are, in order: that one need not be answered.
    """

    answers: tuple[Ints, ...]
    is_run: bool
    when: int | None = None

    def shares(self, values: Floats) -> Floats:
        """Give how much of each answer a relaxed plan has."""
        shares = np.array([values[one].sum() for one in self.answers])
        nothing = np.array([not len(one) for one in self.answers])
        return np.where(nothing, 1 - shares.sum(), shares)


Answers = tuple[frozenset[int], ...]
"""What is left of the answers, question by question."""


def questions_of(
    program: Program, times: Mapping[int, Sequence[Ints]] = MappingProxyType({})
) -> tuple[Question, ...]:
    """List what is asked: where each run is done, and when, and then which kind serves each demand.

    `times` are the periods of each answer to when a run begins, by run.
    """
    sets, columns = program.sets, program.columns
    runs = _questions_of_runs(program, times)
    kinds: dict[int, list[int]] = {}
    for number, kind in enumerate(sets.kinds):
        kinds.setdefault(kind.demand, []).append(number)
    none_of_them = np.zeros(0, dtype=np.int64)
    demands = [
        Question(
            (
                *(columns.kind_used.at(np.array([one])) for one in own),
                *((none_of_them,) if sets.demands[demand].is_prompts else ()),
            ),
            is_run=False,
        )
        for demand, own in sorted(kinds.items())
    ]
    return (*runs, *demands)


def _questions_of_runs(
    program: Program, times: Mapping[int, Sequence[Ints]]
) -> tuple[Question, ...]:
    sets, columns = program.sets, program.columns
    places: dict[int, dict[tuple[int, bool], list[int]]] = {}
    for number, option in enumerate(sets.run_options):
        place = (option.machine, option.option.candidate.on_spot)
        places.setdefault(option.run, {}).setdefault(place, []).append(number)
    wheres = [
        Question(tuple(columns.option_used.at(np.array(own)) for own in at.values()), is_run=True)
        for _, at in sorted(places.items())
    ]
    whens = [
        Question(
            tuple(_begun(columns, sets, run, periods) for periods in times[run]),
            is_run=True,
            when=number,
        )
        for number, run in enumerate(sorted(places))
        if len(times.get(run, ())) > 1
    ]
    return (*wheres, *whens)


def _begun(columns: Columns, sets: Sets, run: int, periods: Ints) -> Ints:
    """Give the columns by which any option of a run begins in some periods."""
    own = np.array([at for at, one in enumerate(sets.run_options) if one.run == run])
    return columns.gang_start.at(own[:, None], periods).ravel()


@dataclass(frozen=True, slots=True)
class Split:
    """A question, and its answers in two."""

    question: int
    answers: tuple[Answers, Answers]


def split(
    left: Answers, questions: Sequence[Question], values: Floats, *, never: Collection[int] = ()
) -> Split | None:
    """Split the question that a relaxed plan leaves most open: one answer, the others.

    First where runs are, then when they begin, in halves, but `never` some of these. Where the plan
    leaves none open, one that has other answers and has to be answered is split all the same; None
    where there is none.
    """
    best: tuple[bool, int, float] | None = None
    at, chosen = 0, frozenset[int]()
    for number, (one, own) in enumerate(zip(questions, left, strict=True)):
        if len(own) == 1 or number in never:
            continue
        shares = one.shares(values)
        answer = max(sorted(own), key=lambda key: shares[key])
        between = 1 - float(shares[answer])
        if one.when is not None and between <= _DECIDED:
            continue
        rank = (between > _DECIDED, one.is_run + (one.is_run and one.when is None), between)
        if best is None or rank > best:
            best, at = rank, number
            chosen = frozenset({answer}) if one.when is None else _first_half(own, shares)
    if best is None:
        return None
    parts = (*left[:at], chosen, *left[at + 1 :]), (*left[:at], left[at] - chosen, *left[at + 1 :])
    return Split(at, parts)


def _first_half(own: frozenset[int], shares: Floats) -> frozenset[int]:
    """Give the first answers, which have about half of the shares; not all of them."""
    order = sorted(own)
    total = np.cumsum(shares[order])
    count = 1 + int(np.argmin(np.abs(total[:-1] - total[-1] / 2)))
    return frozenset(order[:count])
