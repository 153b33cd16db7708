"""Queueing at a percentile, in closed form: how full a replica gets, and how long a prompt waits.

Arrivals are taken as bursty by an index of dispersion I (variance over mean; Poisson is 1).
"""

import math
from statistics import NormalDist

_NORMAL = NormalDist()


def sequences_at(*, mean: float, share: float, dispersion: float) -> float:
    """Give the sequences in flight that `share` of the requests meet at most: N + z·√(I·N).

    A replica that takes requests in at once is an infinite-server queue: the number in flight is
    about normal, with variance I times its mean. At least 1: a request meets itself.
    """
    quantile = _NORMAL.inv_cdf(share)
    return max(1.0, mean + quantile * math.sqrt(dispersion * mean))


def residual_s(*, mean_s: float, squared_variation: float, dispersion: float) -> float:
    """Give the work that an arriving prompt finds per unit of load: S·(I + c²)/2 (Kingman).

    `mean_s` is the mean service time, `squared_variation` c² its squared coefficient of variation.
    For Poisson arrivals it is E[S²]/(2·E[S]), the mean residual life.
    """
    return mean_s * (dispersion + squared_variation) / 2


def wait_s(*, utilization: float, residual: float, share: float) -> float:
    """Give the wait that `share` of the prompts do not exceed, in seconds, before one server.

        P(W > t) = ρ·exp(−(1 − ρ)·t/R)   ⇒   W = R/(1 − ρ)·ln(ρ/(1 − share)), at least 0

    The exponential tail whose mean is the Pollaczek-Khinchine (Kingman) mean ρ·R/(1 − ρ).
    Infinite at ρ ≥ 1. First come, first served; ignores priorities and preemption.
    """
    if utilization >= 1:
        return math.inf
    if utilization <= 1 - share:
        return 0.0
    return residual / (1 - utilization) * math.log(utilization / (1 - share))
