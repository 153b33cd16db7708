"""The relaxed program with nodes rounded up where its plan holds parts of them, round by round."""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from solver.milp.constraints.whole_nodes import whole_nodes
from solver.milp.fills import Fill, joined
from solver.milp.linear import LinearPlan, LinearProgram
from solver.milp.program import Program, to_proto
from solver.milp.separate import missed_fills

Monotonic = Callable[[], float]
_MOST_ROUNDS = 20
_PATIENCE = 4
_GAIN = 2e-4
_BINDING = 1e-9
_SHORTEST_S = 0.1
_SLOWEST = 10


def tighter_fills(
    program: Program, ends_at: float, clock: Monotonic = time.monotonic
) -> tuple[Fill, ...]:
    """Give the fills that bind once all that is missed was added, those of the program included.

    Rounds end where they gain little, or the time is up.
    """
    rounds = _Rounds(program)
    usd: list[float] = []
    first_s = 0.0
    for _ in range(_MOST_ROUNDS):
        began = clock()
        left_s = ends_at - began
        solved = rounds.solve(min(left_s, _SLOWEST * first_s) if first_s else left_s)
        if solved is None:
            break
        first_s = first_s or max(clock() - began, _SHORTEST_S)
        usd.append(solved.usd)
        missed = missed_fills(program, solved.values)
        is_stuck = len(usd) > _PATIENCE and usd[-1] - usd[-1 - _PATIENCE] < _GAIN * abs(usd[-1])
        if not missed or is_stuck or clock() > ends_at:
            break
        rounds.add(missed)
    return rounds.binding()


class _Rounds:
    """A relaxed program that grows by rows, and is solved again from where it was."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.linear = LinearProgram(to_proto(program))
        self.fills: list[tuple[Fill, int]] = []
        self.row_usd = np.zeros(0)
        families = {rows.family: len(rows.keys) for rows in program.families}
        self.rows = sum(families.values())
        start = 0
        for family, count in families.items():
            if family == whole_nodes.__name__:
                break
            start += count
        for fill in program.sets.fills:
            self.fills.append((fill, start))
            start += len(fill.periods)

    def solve(self, limit_s: float) -> LinearPlan | None:
        plan = self.linear.solve(limit_s).plan
        if plan is not None:
            self.row_usd = plan.row_usd
        return plan

    def add(self, fills: tuple[Fill, ...]) -> None:
        self.linear.add(whole_nodes(replace(self.program.sets, fills=fills), self.program.columns))
        for fill in fills:
            self.fills.append((fill, self.rows))
            self.rows += len(fill.periods)

    def binding(self) -> tuple[Fill, ...]:
        """Give the fills with the periods in which they cost something."""
        found = []
        for fill, start in self.fills:
            own = self.row_usd[start : start + len(fill.periods)]
            which = np.flatnonzero(np.abs(own) > _BINDING)
            if len(which):
                found.append(replace(fill, periods=tuple(fill.periods[one] for one in which)))
        return joined(found)
