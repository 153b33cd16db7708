"""When a run works: the cheapest periods that finish it, in one piece or in several."""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from solver.milp.sets import Floats, Sets
from solver.milp.variables import Ints

_SLACK = 1e-9
_MOST_TRIES = 6


@dataclass(frozen=True, slots=True)
class RunWays:
    """The options of each run, and the periods in which one may work."""

    sets: Sets
    options: dict[int, list[int]]
    base_periods: dict[tuple[int, float], int] = field(default_factory=dict)

    def periods(self, option: int, usd: Floats) -> Iterator[Ints]:
        """Give good choices of periods at prices for each period of the window."""
        one = self.sets.run_options[option]
        window = np.array(one.window)
        pieces = self._needed(option, 1)
        if pieces > len(window):
            return
        sums = np.convolve(usd, np.ones(pieces), "valid")
        start = int(sums.argmin())
        yield window[start : start + pieces]
        if self.sets.runs[one.run].restartable:
            most = min(len(window), self.sets.most_slots(one.run))
            first = min(max(0, start - (most - pieces) // 2), len(window) - most)
            apart = self._in_pieces(option, usd[first : first + most])
            if apart is not None:
                yield window[first + apart]

    def _in_pieces(self, option: int, usd: Floats) -> Ints | None:
        count = self._needed(option, 1)
        order = np.argsort(usd, kind="stable")
        for _ in range(_MOST_TRIES):
            if count > len(usd):
                return None
            chosen = np.sort(order[:count])
            starts = 1 + int((np.diff(chosen) > 1).sum())
            needed = self._needed(option, starts)
            if needed <= count:
                return chosen
            count = needed
        return None

    def _needed(self, option: int, starts: int) -> int:
        """Count the slots that finish the work with so many starts."""
        one = self.sets.run_options[option]
        candidate = one.option.candidate
        slot_s = self.sets.periods[one.window[0]].slot_h * 3600
        work_s = self.sets.runs[one.run].tokens / candidate.tokens_per_s
        needed = (work_s + starts * candidate.startup_s) / slot_s
        return max(one.slots_needed, math.ceil(needed * (1 - _SLACK)))


def run_ways(sets: Sets) -> RunWays:
    """Read the ways to do the runs off the sets."""
    options: dict[int, list[int]] = defaultdict(list)
    for number, option in enumerate(sets.run_options):
        options[option.run].append(number)
    return RunWays(sets, dict(options))
