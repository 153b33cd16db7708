"""A known plan with another answer to one question: another kind for a demand, or place for a run.

With its answers given, a plan falls into parts (see `leaves`), and another answer changes a few of
them. So the relaxed costs of all plans that differ in one answer are soon known; HiGHS looks at the
cheapest of them first, and what is cheaper is gone on from.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from solver.milp.known import Known
from solver.milp.leaves import Leaf, Leaves
from solver.milp.parts import arrays_of
from solver.milp.questions import questions_of
from solver.milp.sets import Floats
from solver.milp.solve import Limits, Outcome, Solution
from solver.milp.watch import Watch

_PLACED_SHARE = 0.2
_NODES = 1000
_NODES_OF_OTHERS = 50
_AT_ONCE = 2
_BOUNDED_AT_ONCE = 20
_STEP_S = 30.0
_GAIN = 1e-4
_PATIENCE = 10
"""So many steps of a round that find nothing end it: what comes after costs still more at least."""
_Choice = tuple[int, ...]


def answered_better(known: Known, limits: Limits, watch: Watch, enough_usd: float = 0.0) -> Known:
    """Place a plan as well as its answers allow, and if that is soon done, change answers.

    It ends where of the plans with one other answer none that costs little at least is found to be
    cheaper, where one costs no more than enough, or the time is up.
    """
    return _Search(known, limits, watch, enough_usd).run()


class _Search:
    def __init__(self, known: Known, limits: Limits, watch: Watch, enough_usd: float) -> None:
        self.known, self.watch, self.enough_usd = known, watch, enough_usd
        self.seconds = limits.time_limit_s
        self.ends_at = time.monotonic() + limits.time_limit_s
        self.arrays = arrays_of(known.program)
        self.questions = questions_of(known.program)
        self.answers = np.concatenate([own for one in self.questions for own in one.answers])
        self.leaves = Leaves(self.arrays, self.answers, limits, watch)

    def run(self) -> Known:
        if self._left_s() <= 0:
            return self.known
        values = self.known.solution.values
        chosen = tuple(int(np.argmax(one.shares(values))) for one in self.questions)
        placed_by = time.monotonic() + self.seconds * _PLACED_SHARE
        leaf = Leaf(self._upper(chosen), (), _NODES, values)
        (found,) = self.leaves.searched(
            [leaf], self.known.usd, lambda: placed_by - time.monotonic()
        )
        self._take(found.values)
        self.watch.saw(best_usd=self.known.usd)
        is_placed = found.is_done or found.bound_usd >= self.known.usd * (1 - _GAIN)
        better: _Choice | None = chosen if is_placed else None
        while better is not None and self._left_s() > 0:
            better = self._round(better)
        return self.known

    def _round(self, chosen: _Choice) -> _Choice | None:
        """Look at all plans with one other answer; give the answers of the best, if any is."""
        others = list(self._changes(chosen))
        bounds = list(self._bounds([_with(chosen, *one) for one in others]))
        order = np.argsort(bounds, kind="stable")
        hopeful = [others[at] for at in order if bounds[at] < self.known.usd * (1 - _GAIN)]
        before, in_vain = chosen, 0
        for at in range(0, len(hopeful), _AT_ONCE):
            if self._left_s() <= 0 or in_vain >= _PATIENCE:
                break
            some = [_with(chosen, *one) for one in hopeful[at : at + _AT_ONCE]]
            was, chosen = chosen, self._step(some, chosen)
            in_vain = in_vain + 1 if chosen == was else 0
        return None if chosen == before else chosen

    def _bounds(self, every: Sequence[_Choice]) -> Iterator[float]:
        for at in range(0, len(every), _BOUNDED_AT_ONCE):
            some = [self._leaf(one) for one in every[at : at + _BOUNDED_AT_ONCE]]
            yield from self.leaves.bounded(some, self._left_s)

    def _step(self, some: Sequence[_Choice], chosen: _Choice) -> _Choice:
        """Search a few choices; give that of the best plan."""
        step_ends_at = time.monotonic() + min(_STEP_S, self._left_s())
        found = self.leaves.searched(
            [self._leaf(one) for one in some],
            self.known.usd * (1 - _GAIN),
            lambda: step_ends_at - time.monotonic(),
        )
        for one, result in zip(some, found, strict=True):
            if self._take(result.values):
                chosen = one
        self.watch.saw(best_usd=self.known.usd)
        return chosen

    def _take(self, values: Floats | None) -> bool:
        if values is None or float(self.known.program.cost @ values) >= self.known.usd:
            return False
        self.known = replace(self.known, solution=Solution(Outcome.FEASIBLE, values, 0.0))
        return True

    def _changes(self, chosen: _Choice) -> Iterator[tuple[int, int]]:
        for number, one in enumerate(self.questions):
            for answer in range(len(one.answers)):
                if answer != chosen[number]:
                    yield number, answer

    def _leaf(self, chosen: _Choice) -> Leaf:
        return Leaf(self._upper(chosen), (), _NODES_OF_OTHERS)

    def _upper(self, chosen: _Choice) -> Floats:
        upper = self.arrays.upper.copy()
        upper[self.answers] = 0.0
        for one, answer in zip(self.questions, chosen, strict=True):
            own = one.answers[answer]
            upper[own] = self.arrays.upper[own]
        return upper

    def _left_s(self) -> float:
        """Give the seconds that are left; none once a plan is good enough or the search ended."""
        if self.watch.is_ended() or self.known.usd <= self.enough_usd:
            return 0.0
        return self.ends_at - time.monotonic()


def _with(chosen: _Choice, number: int, answer: int) -> _Choice:
    return (*chosen[:number], answer, *chosen[number + 1 :])
