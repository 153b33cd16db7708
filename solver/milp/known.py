"""A plan that is known, as the values of a program that it solves."""

from dataclasses import dataclass

from solver.milp.program import Program
from solver.milp.sets import Floats
from solver.milp.solve import Solution


@dataclass(frozen=True, slots=True)
class Known:
    """A plan that is known: the program that it solves, its values and its cost.

    `others` are the values of other plans of that program.
    """

    program: Program
    solution: Solution
    others: tuple[Floats, ...] = ()

    @property
    def usd(self) -> float:
        """Give what it costs, in dollars."""
        return float(self.program.cost @ self.solution.values)


def better(known: Known | None, found: Known) -> Known:
    """Take the cheaper of two plans, of equals the new one."""
    return found if known is None or found.usd <= known.usd else known
