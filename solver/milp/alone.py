"""What an answer costs by itself: a cut for relaxed programs, which buy nodes in parts.

Take all other workloads out of a plan: what is left serves one demand with one kind, on the nodes
that it may be on. So those cost at least what the kind costs alone, whole nodes and all:

    Σ_{columns n of a's part} usd[n] · n ≥ Σ_{answers a} least_usd[a] · answer[a]

over answers of one question whose parts have columns in common. A row that other workloads may help
to keep, as one that asks for a share of use, is left out of the part on that side; so are cuts.
What an answer costs alone is found by HiGHS, once a relaxed program uses it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from solver.milp.beside import shared
from solver.milp.part_model import part_model
from solver.milp.parts import Arrays, Part, closed, labels
from solver.milp.questions import Question
from solver.milp.rows import Entries, Rows, entries, rows_of
from solver.milp.sets import Floats
from solver.milp.solve import Limits, Outcome, solve_model
from solver.milp.variables import Ints
from solver.milp.watch import Watch

_USED = 0.05
_NODES = 50
_GAP = 2e-3
_SHORTEST_S = 0.1
_MISSED = 1e-3
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Least:
    """The columns that a plan with an answer pays, and what they cost it at least."""

    columns: Ints
    usd: float


class Alone:
    """Finds what answers cost alone, and the cuts that a relaxed plan misses."""

    def __init__(
        self, arrays: Arrays, questions: Sequence[Question], limits: Limits, watch: Watch
    ) -> None:
        self._arrays, self._questions = arrays, questions
        self._limits, self._watch = limits, watch
        self._answers = np.concatenate([own for one in questions for own in one.answers])
        self._known: dict[tuple[int, int], Least] = {}

    def missed(self, values: Floats, left_s: Callable[[], float]) -> Rows | None:
        """Give the cuts that a relaxed plan breaks."""
        self._find(values, left_s)
        keys = list[tuple[int, int]]()
        parts = list[Entries]()
        paid = self._arrays.usd * values
        for number, question in enumerate(self._questions):
            if question.is_run:
                continue
            for at, answers in enumerate(self._together(number, values, left_s)):
                columns = np.unique(np.concatenate([one.columns for _, one in answers]))
                own = [(question.answers[answer], one.usd) for answer, one in answers]
                asked = sum(usd * float(values[which].sum()) for which, usd in own)
                if asked - float(paid[columns].sum()) <= _MISSED * asked:
                    continue
                row = len(keys)
                keys.append((number, at))
                parts.append(entries(row, columns, self._arrays.usd[columns]))
                parts.extend(entries(row, which, -usd) for which, usd in own)
        return rows_of("alone", keys, parts, lower=0.0) if keys else None

    def _find(self, values: Floats, left_s: Callable[[], float]) -> None:
        """Find what the answers that are used cost alone, with all threads where that is much."""
        asked = [
            (number, answer)
            for number, question in enumerate(self._questions)
            if not question.is_run
            for answer in self._used(number, values)
        ]
        new = [key for key in asked if key not in self._known]
        shared(new, lambda key: self.cost_of(*key, left_s))

    def _used(self, number: int, values: Floats) -> list[int]:
        question = self._questions[number]
        used = np.flatnonzero(question.shares(values) > _USED)
        return [answer for answer in used.tolist() if len(question.answers[answer])]

    def _together(
        self, number: int, values: Floats, left_s: Callable[[], float]
    ) -> list[list[tuple[int, Least]]]:
        """Group the answers that are used by what they have in common."""
        groups: list[list[tuple[int, Least]]] = []
        for answer in self._used(number, values):
            one = self.cost_of(number, answer, left_s)
            own = [
                group
                for group in groups
                if any(len(np.intersect1d(one.columns, other.columns)) for _, other in group)
            ]
            groups = [group for group in groups if group not in own]
            groups.append([*(of for group in own for of in group), (answer, one)])
        return groups

    def cost_of(self, number: int, answer: int, left_s: Callable[[], float]) -> Least:
        """Say what an answer of a question costs at least, and on which columns.

        Once the time is up, nothing is said of what is not known.
        """
        known = self._known.get((number, answer))
        if known is None and left_s() <= 0:
            return Least(_NONE, 0.0)
        if known is None:
            known = self._solved(number, answer, left_s)
            self._known[number, answer] = known
        return known

    def _solved(self, number: int, answer: int, left_s: Callable[[], float]) -> Least:
        arrays, part = self._part(number, answer)
        usd = arrays.usd[part.columns]
        paid = part.columns[usd != 0]
        if (usd < 0).any():
            return Least(paid, 0.0)
        limits = replace(
            self._limits,
            gap_fraction=_GAP,
            time_limit_s=max(left_s(), _SHORTEST_S),
            most_nodes=_NODES,
        )
        model = part_model(arrays, part).proto.SerializeToString()
        found = solve_model(model, limits, watch=Watch(is_ended=self._watch.is_ended))
        if found.outcome is Outcome.INFEASIBLE:
            return Least(paid, 0.0)
        return Least(paid, found.bound_usd * (1 - _ROUNDING))

    def _part(self, number: int, answer: int) -> tuple[Arrays, Part]:
        """Give the part of an answer alone, without what other workloads may help to keep."""
        arrays = self._arrays
        own = self._questions[number].answers
        others = np.concatenate([one for at, one in enumerate(own) if at != answer] or [_NONE])
        beside = arrays.upper.copy()
        beside[others] = 0.0
        beside = closed(arrays, beside)
        alone = beside.copy()
        alone[self._answers] = 0.0
        alone[own[answer]] = arrays.upper[own[answer]]
        alone = closed(arrays, alone)
        live = (alone[arrays.column] > 0) & ~arrays.is_cut[arrays.row]
        label = labels(arrays.row[live], arrays.column[live], len(arrays.least), len(alone))
        is_own = (label == label[own[answer][0]]) & (alone > 0)
        rows = np.unique(arrays.row[live & is_own[arrays.column]])
        helps = (alone[arrays.column] <= 0) & (beside[arrays.column] > 0)
        least, most = arrays.least.copy(), arrays.most.copy()
        least[arrays.row[helps & (arrays.value > 0)]] = -np.inf
        most[arrays.row[helps & (arrays.value < 0)]] = np.inf
        columns = np.flatnonzero(is_own)
        return replace(arrays, least=least, most=most), Part(columns, rows, alone[columns])


_NONE = np.zeros(0, dtype=np.int64)
