"""What it gains to split a question that need not be answered, as branching has found so far.

When a run begins matters where replicas or other runs are on the same nodes, and nowhere else:
there each half is as cheap as both, and has all other questions to be asked anew. So both halves
are looked at before a node is split, and where that is in vain, such nodes are looked at no more.
"""

from collections.abc import Sequence

from solver.milp.questions import Question
from solver.milp.sets import Floats

_TRIED = 2
_WORTH = 0.02
"""A question is split where that closes so much of the gap."""

Tried = tuple[int, int]
"""A question when a run begins, and the place where it mostly is."""


class Gains:
    """What it gains to split when a run begins, by where it is."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self._questions = questions
        self._parts: dict[Tried, list[float]] = {}

    def key(self, question: int, values: Floats) -> Tried:
        """Name a question when a run begins, with the place that a relaxed plan has most of it."""
        where = self._questions[question].when
        return question, -1 if where is None else int(
            self._questions[where].shares(values).argmax()
        )

    def is_worth(self, part: float) -> bool:
        """Say whether so much of the gap is worth a split."""
        return part >= _WORTH

    def learn(self, key: Tried, part: float) -> None:
        """Take in which part of the gap was closed in both halves."""
        self._parts.setdefault(key, []).append(part)

    def vain(self, values: Floats) -> frozenset[int]:
        """List the questions that it gained too little to split, where the runs are."""
        return frozenset(
            number
            for number, one in enumerate(self._questions)
            if one.when is not None and self._is_vain(self._parts.get(self.key(number, values), []))
        )

    def _is_vain(self, parts: Sequence[float]) -> bool:
        return len(parts) >= _TRIED and sum(parts) < _WORTH * len(parts)
