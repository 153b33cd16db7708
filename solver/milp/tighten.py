"""The relaxed program with nodes rounded up where its plan holds parts of them, round by round."""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from solver.milp.constraints.whole_nodes import whole_nodes
from solver.milp.fills import Fill, joined
from solver.milp.linear import LinearPlan, LinearProgram
from solver.milp.program import Program, to_proto
from solver.milp.rows import Rows
from solver.milp.separate import missed_fills

Monotonic = Callable[[], float]
_MOST_ROUNDS = 20
_PATIENCE = 4
_GAIN = 2e-4
_BINDING = 1e-9
_SHORTEST_S = 0.1
_SLOW = 3
_SLOWEST = 10
"""How many times as long as the first a solve may take: from where the last ended, and anew."""


def tighter_fills(
    program: Program, ends_at: float, clock: Monotonic = time.monotonic
) -> tuple[Fill, ...]:
    """Give the fills that bind once all that is missed was added, those of the program included.

    Rounds end where they gain little, or the time is up.
    """
    rounds = _Rounds(program)
    for by_run in (False, True):
        rounds.tighten(ends_at, clock, by_run=by_run)
    return rounds.binding()


class _Rounds:
    """A relaxed program that grows by rows, and is solved again from where it was."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.first_s = 0.0
        self.linear = LinearProgram(to_proto(program))
        self.added: list[Rows] = []
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

    def tighten(self, ends_at: float, clock: Monotonic, *, by_run: bool) -> None:
        """Add what is missed until that gains little; what a run's gangs miss only if asked for."""
        usd: list[float] = []
        for _ in range(_MOST_ROUNDS):
            solved = self._solved_in_time(ends_at, clock)
            if solved is None:
                return
            usd.append(solved.usd)
            missed = missed_fills(self.program, solved.values, by_run=by_run)
            least_usd = usd[-1] - _GAIN * abs(usd[-1])
            is_stuck = len(usd) > _PATIENCE and usd[-1 - _PATIENCE] > least_usd
            if not missed or is_stuck or clock() > ends_at:
                return
            self.add(missed)

    def _solved_in_time(self, ends_at: float, clock: Monotonic) -> LinearPlan | None:
        """Solve from where the last solve ended, or anew where that takes long."""
        began = clock()
        left_s = ends_at - began
        if not self.first_s:
            solved = self.solve(left_s)
            self.first_s = max(clock() - began, _SHORTEST_S)
            return solved
        solved = self.solve(min(left_s, _SLOW * self.first_s))
        if solved is None and clock() < ends_at:
            self.begin_anew()
            solved = self.solve(min(ends_at - clock(), _SLOWEST * self.first_s))
        return solved

    def solve(self, limit_s: float) -> LinearPlan | None:
        plan = self.linear.solve(limit_s).plan
        if plan is not None:
            self.row_usd = plan.row_usd
        return plan

    def begin_anew(self) -> None:
        """Forget where the last solve ended: many new rows may lead it in circles."""
        self.linear = LinearProgram(to_proto(self.program))
        for rows in self.added:
            self.linear.add(rows)

    def add(self, fills: tuple[Fill, ...]) -> None:
        rows = whole_nodes(replace(self.program.sets, fills=fills), self.program.columns)
        self.added.append(rows)
        self.linear.add(rows)
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
