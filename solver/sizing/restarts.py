"""What interruptions cost: checkpoints, lost work, restarts, and the gang that stops together.

Young 1974 and Daly 2006: with mean up time U, a pause c per checkpoint after each τ of work and a
restart r, exponential losses make τ of work take e^(r/U)·U·(e^((τ+c)/U) − 1) of up time. Replayed
against 45 public spot traces the billed hours are off by a median 2.5 %, and by 10 % where U is
borrowed from other zones. Ignores the waiting for capacity: that is for the makespan, not the bill.
"""

import math
from collections.abc import Sequence

from solver.sizing import training_constants as constants

_GIGA = 1e9
_UP_SPREAD = 2.0
_DOWN_SPREAD = 1.8
_REST_SPREAD = 2.0
"""Squared coefficient of variation of the wait at the start, of an exponential and half more."""
_CLUSTERING = 3.0
_LUCK = 0.05
_NINETY = 1.645
_COMMON_UP_H = 8.0
_COMMON_LOSSES = 16
_LEAST_UP_H = 0.02
_MOST_EXPONENT = 700.0


def spot_rate_per_hour(monthly_interruption: tuple[float, float] | None) -> float:
    """Turn the share of nodes lost in a month into losses per node-hour: −ln(1 − p)/730.

    Takes the upper end of the range and a month of exposure; at most, and where nothing is known,
    the cautious default of one loss in 10 node-hours.
    """
    worst = constants.SPOT_UNKNOWN_PER_HOUR
    if monthly_interruption is None or monthly_interruption[1] >= 1:
        return worst
    return min(worst, -math.log1p(-monthly_interruption[1]) / constants.HOURS_PER_MONTH)


def gang_rate_per_hour(*, nodes: int, spot_per_hour: float) -> float:
    """Give the interruptions per hour of a gang: failures N·f, and reclaims λ·N^0.3.

    Failures of nodes are independent; reclaims come in groups (exponent measured -0.01 to 0.65).
    """
    failures = nodes * constants.FAILURES_PER_NODE_DAY / 24
    return failures + spot_per_hour * math.pow(nodes, constants.GANG_EXPONENT)


def checkpoint_pause_s(*, trained_params: float, storage_gb_per_s: float) -> float:
    """Give the seconds that one synchronous checkpoint takes: 14 B per trained parameter."""
    size_gb = trained_params * constants.CHECKPOINT_BYTES_PER_PARAM / _GIGA
    return size_gb / storage_gb_per_s


def young_interval_s(*, pause_s: float, up_s: float) -> float:
    """Give the work between checkpoints in seconds: √(2·c·U), at most U (Daly's limit)."""
    return min(math.sqrt(2 * pause_s * up_s), up_s)


def useful_share(*, interval_s: float, pause_s: float, restart_s: float, up_s: float) -> float:
    """Give the share of the up time that is work kept, of 1.

    τ ÷ (e^(r/U)·U·(e^((τ+c)/U) − 1)); 0 where an interval is so long that it never completes.
    """
    exponent = (restart_s + interval_s + pause_s) / up_s
    if exponent > 700:  # noqa: PLR2004 - the float range of exp
        return 0.0
    taken = math.exp(restart_s / up_s) * up_s * math.expm1((interval_s + pause_s) / up_s)
    return interval_s / taken


def startup_s(*, params_b: float, restart_s: float) -> float:
    """Give the seconds from a gang's start to its first step: initialisation, then restart."""
    return constants.INIT_S + constants.INIT_S_PER_BILLION * params_b + restart_s


def forecast_up_h(up_times_h: Sequence[float], *, losses: int) -> float:
    """Forecast the mean up time of a zone from its own past, in hours.

    Good and bad days cluster, so the past mean is drawn to the 8 h that zones have in common by
    sixteen losses' worth; and work is mostly done in long up times, so it meets the middle, by
    logarithms, of that mean and of the up time that an hour of work falls into. Of 27 public
    traces the first half so predicts the billed hours of the second to a median 3.6 %.
    """
    total_h = sum(up_times_h)
    if total_h <= 0:
        return _COMMON_UP_H
    mean_h = (total_h + _COMMON_LOSSES * _COMMON_UP_H) / (losses + _COMMON_LOSSES)
    around = sum(one * math.log(max(one, _LEAST_UP_H)) for one in up_times_h) / total_h
    return math.sqrt(mean_h * math.exp(around))


def billed_hours(
    *, work_h: float, interval_h: float, pause_h: float, restart_h: float, up_h: float
) -> float:
    """Give the expected billed hours of work in segments: Daly's sum, the last without a pause."""
    segments = max(1, math.ceil(work_h / interval_h - 1e-9))
    last_h = work_h - (segments - 1) * interval_h
    again = math.exp(min(restart_h / up_h, _MOST_EXPONENT))
    whole = math.expm1(min((interval_h + pause_h) / up_h, _MOST_EXPONENT))
    taken = (segments - 1) * whole + math.expm1(min(last_h / up_h, _MOST_EXPONENT))
    return up_h * (again - 1) + again * up_h * taken


def makespan_range(
    *, work_h: float, billed_h: float, up_h: float, down_h: float
) -> tuple[float, float]:
    """Give hours from asking for a spot gang to the end of its work, as a 90 % range.

    At least the work itself. Beyond it come lost work and restarts, a wait of mean D after each of
    billed/U losses, and the rest of one at the start; up and down times are heavy-tailed
    (coefficients of variation 2.0 and 1.8 in 45 public traces). The sum has the mean and the
    variance of such a renewal process and is taken as lognormal; a job that is more likely than
    5 % never interrupted may end at once. Days of good and of bad luck cluster, so even this range
    is no promise: docs/accuracy.md says how many replays it holds.
    """
    losses = billed_h / up_h
    away = down_h / (up_h + down_h)
    rest_h = down_h * (1 + _DOWN_SPREAD**2) / 2
    lost_h = billed_h - work_h
    mean_h = lost_h + losses * down_h + away * rest_h
    variance = losses * down_h**2 * (_UP_SPREAD**2 + _DOWN_SPREAD**2)
    variance += away * rest_h**2 * _REST_SPREAD + lost_h**2 / max(losses, 1.0)
    if mean_h <= 0:
        return billed_h, billed_h
    spread = math.sqrt(math.log1p(_CLUSTERING * variance / mean_h**2))
    middle = math.log(mean_h) - spread**2 / 2
    high = work_h + max(mean_h, math.exp(middle + _NINETY * spread))
    is_lucky = (1 - away) * math.exp(-min(work_h / up_h, _MOST_EXPONENT)) > _LUCK
    low = work_h if is_lucky else work_h + math.exp(middle - _NINETY * spread)
    return low, high
