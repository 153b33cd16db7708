"""A plan that is known, as the values of a program that it solves."""

from dataclasses import dataclass

import numpy as np

from solver.milp.hint import hint_from
from solver.milp.program import Program
from solver.milp.sets import Floats
from solver.milp.solve import Solution

_SAME = 1e-6


@dataclass(frozen=True, slots=True)
class Known:
    """A plan that is known: the program that it solves, its values and its cost."""

    program: Program
    solution: Solution

    @property
    def usd(self) -> float:
        """Give what it costs, in dollars."""
        return float(self.program.cost @ self.solution.values)

    def hint(self, program: Program) -> Floats | None:
        """Give its values by the columns of another program, as `hint_from` does.

        None where they are worth another sum there: then a part of the plan is left out.
        """
        hint = hint_from(self.program, self.solution.values, program)
        usd = float(program.cost @ np.nan_to_num(hint))
        return hint if abs(usd - self.usd) <= _SAME * self.usd else None


def better(known: Known | None, found: Known) -> Known:
    """Take the cheaper of two plans, of equals the new one."""
    return found if known is None or found.usd <= known.usd else known
