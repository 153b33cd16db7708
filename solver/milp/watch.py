"""Whoever follows a search is told of the best plan and the bound, and may end it."""

import math
from collections.abc import Callable
from dataclasses import dataclass


def _tell_nobody(_best_usd: float, _bound_usd: float) -> None:
    """Keep it."""


def _never() -> bool:
    return False


@dataclass(slots=True)
class Watch:
    """Calls `tell` with dollars of the best plan and of the bound, when they move.

    The best plan is infinity where there is none. `is_ended` says whether the search is to end with
    what it has.
    """

    tell: Callable[[float, float], None] = _tell_nobody
    is_ended: Callable[[], bool] = _never
    best_usd: float = math.inf
    bound_usd: float = 0.0

    def saw(self, *, best_usd: float = math.inf, bound_usd: float = 0.0) -> None:
        """Take in what a part of the search found."""
        best = min(self.best_usd, best_usd)
        bound = min(max(self.bound_usd, bound_usd), best)
        if (best, bound) != (self.best_usd, self.bound_usd):
            self.best_usd, self.bound_usd = best, bound
            self.tell(best, bound)
