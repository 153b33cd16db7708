"""What is asked of a program: where each run is done, and which one kind serves each demand."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from solver.milp.program import Program
from solver.milp.sets import Floats
from solver.milp.variables import Ints

_DECIDED = 1e-3


@dataclass(frozen=True, slots=True)
class Question:
    """The columns of each answer, of which a plan has exactly one; `is_run` of where a run is.

    An answer without columns is that none of the others is true.
    """

    answers: tuple[Ints, ...]
    is_run: bool

    def shares(self, values: Floats) -> Floats:
        """Give how much of each answer a relaxed plan has."""
        shares = np.array([values[one].sum() for one in self.answers])
        nothing = np.array([not len(one) for one in self.answers])
        return np.where(nothing, 1 - shares.sum(), shares)


Answers = tuple[frozenset[int], ...]
"""What is left of the answers, question by question."""


def questions_of(program: Program) -> tuple[Question, ...]:
    """List what is asked: first where each run is done, then which kind serves each demand."""
    sets, columns = program.sets, program.columns
    places: dict[int, dict[tuple[int, bool], list[int]]] = {}
    for number, option in enumerate(sets.run_options):
        place = (option.machine, option.option.candidate.on_spot)
        places.setdefault(option.run, {}).setdefault(place, []).append(number)
    kinds: dict[int, list[int]] = {}
    for number, kind in enumerate(sets.kinds):
        kinds.setdefault(kind.demand, []).append(number)
    runs = [
        Question(tuple(columns.option_used.at(np.array(own)) for own in at.values()), is_run=True)
        for _, at in sorted(places.items())
    ]
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


def split(left: Answers, questions: Sequence[Question], values: Floats) -> tuple[Answers, Answers]:
    """Split the question that a relaxed plan leaves most open, runs first: one answer, the others.

    Where it leaves none open, one that has other answers is split all the same.
    """
    best: tuple[bool, bool, float] | None = None
    at, most = 0, 0
    for number, (one, own) in enumerate(zip(questions, left, strict=True)):
        if len(own) > 1:
            shares = one.shares(values)
            answer = max(sorted(own), key=lambda key: shares[key])
            between = 1 - float(shares[answer])
            rank = (between > _DECIDED, one.is_run, between)
            if best is None or rank > best:
                best, at, most = rank, number, answer
    chosen = frozenset({most})
    return (
        (*left[:at], chosen, *left[at + 1 :]),
        (*left[:at], left[at] - chosen, *left[at + 1 :]),
    )
