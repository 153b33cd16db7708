"""A known plan placed better, where the market is too large to prove it best."""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from solver.milp.beside import Beside
from solver.milp.first_plan import is_plan, searched_on
from solver.milp.known import Known, better
from solver.milp.merged import merged
from solver.milp.program import Program, build_program, to_proto
from solver.milp.refined import refined
from solver.milp.sets import Floats
from solver.milp.solve import Limits, Outcome, Solution, solve_model
from solver.milp.watch import Watch

_MOST_MERGED = 1_000_000
"""Of more coefficients than this HiGHS reads for minutes, in gigabytes, and finds little."""
_FIRST_SHARE = 0.4
"""So much of the time the best plan alone is worked on, with both cores."""
_SHARE = 0.5
"""So much of the time left one plan is worked on at most, as others are found meanwhile."""
_SHORTEST_S = 1.0


def placed_better(known: Known, limits: Limits, watch: Watch) -> Known:
    """Refine it; then search on, and meanwhile refine what is found and merge all plans."""
    work = _Work(known, limits, watch)
    first = replace(limits, time_limit_s=limits.time_limit_s * _FIRST_SHARE)
    work.take(refined(known, known.program.sets, first, watch))
    watch.saw(best_usd=work.best.usd)
    job = Beside(work.next())
    left = replace(limits, time_limit_s=max(work.ends_at - time.monotonic(), _SHORTEST_S))
    for values in searched_on(known.program, left, work.now):
        work.add(values)
        if job.is_done:
            work.take(job.result())
            job = Beside(work.next())
        watch.saw(best_usd=work.best.usd)
    work.take(job.result())
    return work.best


class _Work:
    """The plans of a program that are known, and what is to be done with them next."""

    def __init__(self, known: Known, limits: Limits, watch: Watch) -> None:
        self.program, self.best = known.program, known
        self.limits, self.watch = limits, watch
        self.ends_at = time.monotonic() + limits.time_limit_s
        self.plans = [*known.others, known.solution.values]
        self.raw = list(known.others)
        self.is_merging = True

    def now(self) -> float:
        """Give the time, or that there is none left."""
        return math.inf if self.watch.is_ended() else time.monotonic()

    def add(self, values: Floats) -> None:
        """Take in a plan that was searched."""
        self.plans.append(values)
        self.raw.append(values)
        self.best = better(self.best, self._known(values))

    def take(self, found: Known | None) -> None:
        """Take in what a job has found."""
        if found is None or found.usd >= self.best.usd:
            return
        self.best = found
        values = found.hint(self.program)
        if values is not None:
            self.plans.append(np.nan_to_num(values))

    def next(self) -> Callable[[], Known | None]:
        """Refine the cheapest plan that is as it was found; every other time, merge all."""
        left_s = (self.ends_at - time.monotonic()) * _SHARE
        left = replace(self.limits, time_limit_s=max(left_s, _SHORTEST_S))
        self.is_merging = not (self.is_merging and self.raw)
        if self.is_merging:
            of = self.program, tuple(self.plans)
            return partial(_merged, self.best, of, left, self.watch)
        usd = [float(self.program.cost @ one) for one in self.raw]
        one = self._known(self.raw.pop(int(np.argmin(usd))))
        return partial(refined, one, self.program.sets, left, self.watch, workers=1)

    def _known(self, values: Floats) -> Known:
        return Known(self.program, Solution(Outcome.FEASIBLE, values, 0.0))


def _merged(
    known: Known, of: tuple[Program, tuple[Floats, ...]], limits: Limits, watch: Watch
) -> Known | None:
    """Let HiGHS choose among what some plans of a program use, beginning with the best one.

    None where that is too much to be read, or no plan was found.
    """
    program = build_program(merged(*of))
    if program.entries > _MOST_MERGED:
        return None
    best_only = Watch(lambda best_usd, _: watch.saw(best_usd=best_usd), watch.is_ended)
    model = to_proto(program).SerializeToString()
    found = solve_model(model, limits, known.hint(program), best_only)
    return Known(program, found) if is_plan(found) else None
