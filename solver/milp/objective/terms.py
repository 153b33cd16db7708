"""What a term of the objective is: dollars a column."""

from dataclasses import dataclass

from solver.milp.sets import Floats
from solver.milp.variables import Ints


@dataclass(frozen=True, slots=True)
class TermCost:
    """Columns of one term and the dollars that one unit of each costs over the horizon."""

    term: str
    column: Ints
    usd: Floats
