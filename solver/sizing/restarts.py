"""What interruptions cost: checkpoints, lost work, restarts, and the gang that stops together.

Young 1974 and Daly 2006: with mean up time U, a pause c per checkpoint after each τ of work and a
restart r, exponential losses make τ of work take e^(r/U)·U·(e^((τ+c)/U) − 1) of up time. Replayed
against 45 public spot traces the billed hours are off by a median 2.5 %, and by 10 % where U is
borrowed from other zones. Ignores the waiting for capacity: that is for the makespan, not the bill.
"""

import math

from solver.sizing import training_constants as constants

_GIGA = 1e9
_UP_SPREAD = 2.0
_DOWN_SPREAD = 1.8
_REST_SPREAD = 2.0
"""Squared coefficient of variation of the wait at the start, of an exponential and half more."""
_CLUSTERING = 1.5
_NINETY = 1.645


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


def makespan_range(
    *, billed_h: float, up_h: float, down_h: float, waits_first: bool = True
) -> tuple[float, float]:
    """Give hours from asking for a spot gang to the end of its work, as a 90 % range.

    Losses come billed/U times, with waits of mean D after each and a rest of one at the start; up
    and down times are heavy-tailed (coefficients of variation 2.0 and 1.8 in 45 public traces). The
    wait has the mean and the variance of such a renewal process and is taken as lognormal. Days of
    good and of bad luck cluster, so even this range is no promise: see docs/accuracy.md.
    """
    losses = billed_h / up_h
    away = down_h / (up_h + down_h)
    rest_h = down_h * (1 + _DOWN_SPREAD**2) / 2 if waits_first else 0.0
    mean_h = losses * down_h + away * rest_h
    variance = losses * down_h**2 * (_UP_SPREAD**2 + _DOWN_SPREAD**2)
    variance += away * rest_h**2 * _REST_SPREAD
    variance *= _CLUSTERING
    if mean_h <= 0:
        return billed_h, billed_h
    spread = math.sqrt(math.log1p(variance / mean_h**2))
    middle = math.log(mean_h) - spread**2 / 2
    low, high = (math.exp(middle + sign * _NINETY * spread) for sign in (-1, 1))
    return billed_h + low, billed_h + max(high, mean_h)
