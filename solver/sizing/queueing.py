"""Queueing at a percentile, in closed form: how full a replica gets, and how long a prompt waits.

Arrivals are taken as bursty by an index of dispersion I (variance over mean; Poisson is 1).
"""

import math
from statistics import NormalDist

import numpy as np

from solver.sizing.serving_facts import Number

_NORMAL = NormalDist()
_LARGEST_LOAD = 1 - 1e-12


def sequences_at(*, mean: Number, share: float, dispersion: float) -> Number:
    """Give the sequences in flight that `share` of the requests meet at most: N + z·√(I·N).

    A replica that takes requests in at once is an infinite-server queue: the number in flight is
    about normal, with variance I times its mean. At least 1: a request meets itself.
    """
    quantile = _NORMAL.inv_cdf(share)
    return np.maximum(mean + quantile * np.sqrt(dispersion * mean), 1.0)


def residual_s(*, mean_s: Number, squared_variation: float, dispersion: float) -> Number:
    """Give the work that an arriving prompt finds per unit of load: S·(I + c²)/2 (Kingman).

    `mean_s` is the mean service time, `squared_variation` c² its squared coefficient of variation.
    For Poisson arrivals it is E[S²]/(2·E[S]), the mean residual life.
    """
    return mean_s * (dispersion + squared_variation) / 2


def wait_s(*, utilization: Number, residual: Number, share: float) -> Number:
    """Give the wait that `share` of the prompts do not exceed, in seconds, before one server.

        P(W > t) = ρ·exp(−(1 − ρ)·t/R)   ⇒   W = R/(1 − ρ)·ln(ρ/(1 − share)), at least 0

    The exponential tail whose mean is the Pollaczek-Khinchine (Kingman) mean ρ·R/(1 − ρ).
    Infinite at ρ ≥ 1. First come, first served; ignores priorities and preemption.
    """
    load = np.clip(utilization, 1 - share, _LARGEST_LOAD)
    wait = residual / (1 - load) * np.log(load / (1 - share))
    return np.where(np.asarray(utilization) >= 1, math.inf, wait)
