"""Rates over time: requests per second in steps of one length."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SHORT_STEP_S = 300.0
STEP_S = 900.0
LONG_STEP_S = 3600.0
_SHORT_LOG_S = 6 * 3600.0
_ENOUGH = 50
"""Requests in a step below which chance would make the peak: then the step is longer."""
_SLACK_S = 1.0
_SHORTEST_S = 60.0


@dataclass(frozen=True, slots=True)
class Rates:
    """The rate in each step, one after the other from `start_s` (seconds since 1970).

    `per_s` is NaN where nothing is known.
    """

    start_s: float
    step_s: float
    per_s: Floats

    @property
    def middles_s(self) -> Floats:
        """Give the middle of each step."""
        steps = np.arange(len(self.per_s), dtype=np.float64)
        return np.asarray(self.start_s + (steps + 0.5) * self.step_s)

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Tell of each step whether its rate is known."""
        return np.asarray(~np.isnan(self.per_s))


def rates_of(times_s: Floats) -> Rates:
    """Count requests in the steps that lie wholly inside the log; a short log is cut as it is.

    The times are in order.
    """
    first, last = float(times_s[0]), float(times_s[-1])
    length = max(last - first, _SHORTEST_S)
    step = _step(length, len(times_s))
    if length < _SHORT_LOG_S:
        count = max(1, int(length // step))
        start, step = first, length / count
    else:
        start = -(-first // step) * step
        count = int((last + _SLACK_S - start) // step)
    edges = start + step * np.arange(count + 1)
    edges[-1] += _SLACK_S if length < _SHORT_LOG_S else 0  # so that the last request counts
    found = np.diff(np.searchsorted(times_s, edges, side="left"))
    return Rates(start, step, np.asarray(found / step, dtype=np.float64))


def busiest_minute_per_s(times_s: Floats) -> float:
    """Give the highest rate in one minute of the clock."""
    minutes, counts = np.unique(times_s // 60, return_counts=True)
    return float(counts.max()) / 60 if len(minutes) else 0.0


def _step(length_s: float, count: int) -> float:
    """Choose the shortest step in which there are enough requests."""
    steps = (SHORT_STEP_S, STEP_S) if length_s < _SHORT_LOG_S else (STEP_S, LONG_STEP_S)
    return steps[0] if count / length_s * steps[0] >= _ENOUGH else steps[1]
