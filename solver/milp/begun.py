"""The plan of before at the prices of now: its kinds on its machines, its run options, placed anew.

That is a small program, which is soon searched. What it costs is where the search over all that is
promising must be better, and on a large market, where that takes long, mostly where it goes on.
"""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from solver.milp.drafted import holds
from solver.milp.first_plan import first_plan, is_plan
from solver.milp.known import Known
from solver.milp.narrow import begun
from solver.milp.program import Program, build_program
from solver.milp.sets import has_hopeless_workload
from solver.milp.solve import Limits, Outcome, Solution
from solver.milp.start import NOWHERE

_SHARE = 0.3


def plan_begun(
    program: Program, limits: Limits, clock: Callable[[], float] = time.monotonic
) -> Known | None:
    """Place what `limits.start` chose; None where that is not enough, or breaks a rule by now."""
    if limits.start == NOWHERE:
        return None
    sets = begun(program.sets, limits.start)
    if has_hopeless_workload(sets):
        return None
    small = build_program(sets)
    part = replace(limits, time_limit_s=limits.time_limit_s * _SHARE)
    found = first_plan(small, part, 0.0, clock)
    if not is_plan(found):
        return None
    values = Known(small, found).hint(program)
    if values is None or np.isnan(values).any() or not holds(program, values):
        return None
    return Known(program, Solution(Outcome.FEASIBLE, values, 0.0))
