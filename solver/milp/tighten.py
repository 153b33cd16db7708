"""The relaxed program with nodes rounded up where its plan holds parts of them, round by round."""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from solver.milp.alike_periods import CLUSTERS, MANY_PERIODS, clusters_of
from solver.milp.clusters import Clusters
from solver.milp.coarse import Coarse, as_it_is, coarse
from solver.milp.constraints.whole_nodes import whole_nodes
from solver.milp.fills import Fill, joined
from solver.milp.linear import DUAL_SIMPLEX, PRIMAL_SIMPLEX, LinearPlan
from solver.milp.program import Program
from solver.milp.rows import Rows
from solver.milp.separate import missed_fills
from solver.milp.variables import Ints

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
    program: Program,
    ends_at: float,
    clock: Monotonic = time.monotonic,
    clusters: Clusters | None = None,
) -> tuple[Fill, ...]:
    """Give the fills that bind once all that is missed was added, beside those of the program.

    Rounds end where they gain little, or the time is up. Where the periods are many, or `clusters`
    are given, those are added up (see `coarse`), and what gains least is not looked for.
    """
    if clusters is None and len(program.sets.periods) > MANY_PERIODS:
        clusters = clusters_of(program.sets, CLUSTERS)
    smaller = as_it_is(program) if clusters is None else coarse(program, clusters)
    rounds = _Rounds(program, smaller)
    rounds.tighten(ends_at, clock, by_run=False)
    if rounds.coarse.clusters is None:
        rounds.tighten(ends_at, clock, by_run=True)
    return rounds.binding()


class _Rounds:
    """A coarse relaxed program that grows by rows, and is solved again from where it was."""

    def __init__(self, program: Program, smaller: Coarse) -> None:
        self.program, self.coarse = program, smaller
        self.first_s = 0.0
        self.row_usd = np.zeros(0)
        self.added: list[tuple[tuple[Fill, ...], Rows, Ints]] = []
        self.begin_anew()

    def tighten(self, ends_at: float, clock: Monotonic, *, by_run: bool) -> None:
        """Add what is missed until that gains little; what a run's gangs miss only if asked for."""
        usd: list[float] = []
        for _ in range(_MOST_ROUNDS):
            solved = self._solved_in_time(ends_at, clock)
            if solved is None:
                return
            usd.append(solved.usd)
            values = self.coarse.spread(solved.values)
            missed = missed_fills(
                self.program, values, by_run=by_run, clusters=self.coarse.clusters
            )
            patience = _PATIENCE if self.coarse.clusters is None else 1
            least_usd = usd[-1] - _GAIN * abs(usd[-1])
            is_stuck = len(usd) > patience and usd[-1 - patience] > least_usd
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
        is_anew = not len(self.row_usd) and self.coarse.clusters is not None
        plan = self.linear.solve(limit_s, PRIMAL_SIMPLEX if is_anew else DUAL_SIMPLEX).plan
        if plan is not None:
            self.row_usd = plan.row_usd
        return plan

    def begin_anew(self) -> None:
        """Forget where the last solve ended: many new rows may lead it in circles."""
        self.linear = self.coarse.relaxed()
        for _, rows, _ in self.added:
            self.linear.add(rows)

    def add(self, fills: tuple[Fill, ...]) -> None:
        rows = whole_nodes(replace(self.program.sets, fills=fills), self.program.columns)
        added, row_of = self.coarse.added(rows)
        self.added.append((fills, added, row_of))
        self.linear.add(added)

    def binding(self) -> tuple[Fill, ...]:
        """Give the new fills with the periods in which they bind."""
        found: list[Fill] = []
        start = self.coarse.rows
        for fills, rows, row_of in self.added:
            own = self.row_usd[start : start + len(rows.keys)]
            start += len(rows.keys)
            if len(own) < len(rows.keys):
                break
            binds = (np.abs(own) > _BINDING)[row_of]
            at = 0
            for fill in fills:
                which = np.flatnonzero(binds[at : at + len(fill.periods)])
                at += len(fill.periods)
                if len(which):
                    found.append(replace(fill, periods=tuple(fill.periods[one] for one in which)))
        return joined(found)
