"""A known plan placed better, where the market is too large to prove it best.

The search goes on with other seeds. On the other core HiGHS takes of all plans what is cheapest
together, and between that the market is priced on for a better bound.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from solver.milp.beside import Beside
from solver.milp.first_plan import is_plan, searched_on
from solver.milp.hint import hint_from
from solver.milp.known import Known
from solver.milp.merged import merged
from solver.milp.price_out import Pricing
from solver.milp.program import Program, build_program, to_proto
from solver.milp.sets import Floats
from solver.milp.solve import Limits, Outcome, Solution, solve_model
from solver.milp.watch import Watch

_MOST_MERGED = 1_000_000
"""Of more coefficients than this HiGHS reads for minutes, in gigabytes."""
_SAME = 1e-6
"""A hint that is worth another sum leaves out a part of the plan."""
_MERGED_UNTIL = 0.4, 0.95
_PRICED_UNTIL = 0.7, 1.0
"""Until such shares of the time plans are merged, and after that the market is priced, in turns."""
_SHORTEST_S = 1.0


def placed_better(
    known: Known, bound_usd: float, limits: Limits, *, watch: Watch, pricing: Pricing | None
) -> tuple[Known, float]:
    """Search on until the time is up; give the best plan, and what any costs at least by then."""
    program, plans = known.program, [*known.others, known.solution.values]
    began = time.monotonic()
    ends_at = began + limits.time_limit_s
    found, bounds = [known], [bound_usd]

    def beside() -> None:
        for merged_until, priced_until in zip(_MERGED_UNTIL, _PRICED_UNTIL, strict=True):
            left_s = began + merged_until * limits.time_limit_s - time.monotonic()
            left = replace(limits, time_limit_s=max(left_s, _SHORTEST_S))
            best = min(found, key=lambda one: one.usd)
            found.extend(_merged(best, (program, tuple(plans)), left, watch))
            if pricing is not None and not pricing.is_done:
                priced = pricing.run(began + priced_until * limits.time_limit_s)
                bounds.append(0.0 if priced is None else priced.bound_usd)
                watch.saw(bound_usd=bounds[-1])

    def now() -> float:
        return math.inf if watch.is_ended() else time.monotonic()

    other_core = Beside(beside)
    for values in searched_on(program, limits, now):
        plans.append(values)
        found.append(Known(program, Solution(Outcome.FEASIBLE, values, 0.0)))
        watch.saw(best_usd=found[-1].usd)
    left_s = 0.0 if watch.is_ended() else ends_at - time.monotonic()
    other_core.result(max(left_s, 0.0))
    best = min(found, key=lambda one: one.usd)
    return best, min(max(bounds), best.usd)


def _merged(
    known: Known, of: tuple[Program, Sequence[Floats]], limits: Limits, watch: Watch
) -> list[Known]:
    """Let HiGHS choose among what some plans of a program use, beginning with the best one.

    Nothing where that is too much to be read, or no plan was found.
    """
    program = build_program(merged(*of))
    if program.entries > _MOST_MERGED:
        return []
    best_only = Watch(lambda best_usd, _: watch.saw(best_usd=best_usd), watch.is_ended)
    hint = hint_from(known.program, known.solution.values, program)
    is_whole = abs(float(program.cost @ np.nan_to_num(hint)) - known.usd) <= _SAME * known.usd
    model = to_proto(program).SerializeToString()
    found = solve_model(model, limits, hint if is_whole else None, best_only)
    return [Known(program, found)] if is_plan(found) else []
