"""A known plan placed better, where the market is too large to prove it best."""

import math
import time
from dataclasses import replace
from functools import partial

import numpy as np

from solver.milp.beside import Beside
from solver.milp.first_plan import is_plan, searched_on
from solver.milp.hint import hint_from
from solver.milp.known import Known, better
from solver.milp.merged import merged
from solver.milp.program import Program, build_program, to_proto
from solver.milp.sets import Floats
from solver.milp.solve import Limits, Outcome, Solution, solve_model
from solver.milp.watch import Watch

_MOST_MERGED = 1_000_000
"""Of more coefficients than this HiGHS reads for minutes, in gigabytes, and finds little."""
_SAME = 1e-6
"""A hint that is worth another sum leaves out a part of the plan."""
_MERGE_SHARE = 0.5
"""So much of the time left plans are merged for at once, as others are found meanwhile."""
_SHORTEST_S = 1.0


def placed_better(known: Known, limits: Limits, watch: Watch) -> Known:
    """Search on; meanwhile, take of all plans that are known what is cheapest together."""
    program, plans = known.program, [*known.others, known.solution.values]
    ends_at = time.monotonic() + limits.time_limit_s

    def begun() -> Beside[Known | None]:
        left_s = (ends_at - time.monotonic()) * _MERGE_SHARE
        left = replace(limits, time_limit_s=max(left_s, _SHORTEST_S))
        return Beside(partial(_merged, known, (program, tuple(plans)), left, watch))

    def now() -> float:
        return math.inf if watch.is_ended() else time.monotonic()

    merging = begun()
    for other in searched_on(program, limits, now):
        plans.append(other)
        known = better(known, Known(program, Solution(Outcome.FEASIBLE, other, 0.0)))
        if merging.is_done:
            known = better(known, merging.result() or known)
            merging = begun()
        watch.saw(best_usd=known.usd)
    return better(known, merging.result() or known)


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
    hint = hint_from(known.program, known.solution.values, program)
    is_whole = abs(float(program.cost @ np.nan_to_num(hint)) - known.usd) <= _SAME * known.usd
    model = to_proto(program).SerializeToString()
    found = solve_model(model, limits, hint if is_whole else None, best_only)
    return Known(program, found) if is_plan(found) else None
